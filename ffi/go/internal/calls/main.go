// Command calls measures calls from Go, for the benchmark that runs it:
//
//	calls LIST.json PODS < COMMANDS
//
// LIST.json is a cluster whose pods p0, p1 .. wait, PODS of them. Each line of the input is answered by
// one with nanoseconds, and what was found:
//
//	no-op COUNT        calls that do nothing
//	node-of-pod COUNT  the smallest question
//	evaluate COUNT     evaluations of the pods in turn: nodes that fit, and the sum of their scores
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"berth"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: calls LIST.json PODS < COMMANDS")
	}
	count, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if err := run(os.Args[1], count); err != nil {
		log.Fatal(err)
	}
}

func run(list string, count int) error {
	objects, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	s, err := berth.New(berth.Options{Fidelity: berth.FidelityBest})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.LoadJSON(objects); err != nil {
		return err
	}
	pods := make([]berth.PodID, count)
	for i := range pods {
		if pods[i], err = s.FindPod(fmt.Sprint("p", i)); err != nil {
			return err
		}
	}
	var evaluation berth.Evaluation
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var command string
		var count int
		if _, err := fmt.Sscan(lines.Text(), &command, &count); err != nil {
			return err
		}
		var fits int
		var sum int64
		began := time.Now()
		switch command {
		case "no-op":
			for range count {
				sum += int64(berth.ABIVersion())
			}
		case "node-of-pod":
			for range count {
				node, err := s.PodNode(pods[0])
				if err != nil {
					return err
				}
				sum += int64(node)
			}
		case "evaluate":
			for i := range count {
				if err := s.Evaluate(pods[i%len(pods)], &evaluation); err != nil {
					return err
				}
			}
		default:
			return fmt.Errorf("there is no command %q", command)
		}
		took := time.Since(began)
		if command == "evaluate" {
			fits = evaluation.Feasible.Count()
			for _, score := range evaluation.Scores {
				sum += score
			}
		}
		fmt.Println(took.Nanoseconds(), fits, sum)
	}
	return nil
}
