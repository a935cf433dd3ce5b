// Command replay places pods one by one and prints the record of each, as a golden test compares it:
//
//	replay LIST.json CONFIG.json < PODS
//
// PODS has a NAMESPACE/NAME a line. Every node is looked at, and the first name wins a tie. Bits and
// scores of each evaluation must be those of the record, and a question must not change the state. After
// each record comes a line with the claims that are bound for the pod.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"berth"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: replay LIST.json CONFIG.json < PODS")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(list, config string) error {
	objects, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	s, err := berth.New(berth.Options{
		Config: string(text), Ties: berth.TiesFirstName, NodeSearch: berth.NodeSearchAll,
	})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.LoadJSON(objects); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	var evaluation berth.Evaluation
	for pods := bufio.NewScanner(os.Stdin); pods.Scan(); {
		if err := one(s, pods.Text(), &evaluation, out); err != nil {
			return fmt.Errorf("%s: %w", pods.Text(), err)
		}
	}
	return out.Flush()
}

func one(s *berth.Scheduler, name string, e *berth.Evaluation, out *bufio.Writer) error {
	pod, err := s.FindPod(name)
	if err != nil {
		return err
	}
	before, err := s.StateHash()
	if err != nil {
		return err
	}
	text, err := s.ExplainJSON(pod)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, text)
	var record berth.Record
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return err
	}
	if err := s.Evaluate(pod, e); err != nil {
		return err
	}
	if err := compare(s, &record, e); err != nil {
		return err
	}
	if after, err := s.StateHash(); err != nil || after != before {
		return fmt.Errorf("a question changed the state: %v", err)
	}
	decision, err := s.SchedulePod(pod)
	if err != nil {
		return err
	}
	placed := ""
	if decision.Node != berth.NoNode {
		if placed, err = s.NodeName(decision.Node); err != nil {
			return err
		}
	}
	if placed != record.Node {
		return fmt.Errorf("placed on %q, explained on %q", placed, record.Node)
	}
	bound, err := s.BindVolumes(pod)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(bound)
}

// compare holds bits and scores against the record.
func compare(s *berth.Scheduler, record *berth.Record, e *berth.Evaluation) error {
	scores := map[string]int64{}
	for _, score := range record.Scores {
		scores[score.Node] = score.Total
	}
	for node := range e.Feasible.All() {
		name, err := s.NodeName(node)
		if err != nil {
			return err
		}
		total, known := scores[name]
		if e.Scored != known || e.Scores[node] != total {
			return fmt.Errorf("node %s scores %d, in the record %d", name, e.Scores[node], total)
		}
		if _, refused := record.Rejected[name]; refused {
			return fmt.Errorf("node %s is feasible and refused", name)
		}
	}
	if count := e.Feasible.Count(); count != record.Feasible {
		return fmt.Errorf("%d nodes are feasible, in the record %d", count, record.Feasible)
	}
	return nil
}
