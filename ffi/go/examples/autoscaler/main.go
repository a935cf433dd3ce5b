// Command autoscaler says how many nodes a cluster needs more, so that its pending pods fit:
//
//	autoscaler -cpu 8 -memory 32 -label topology.kubernetes.io/zone=a DUMP.json...
//
// The dumps are kubectl get nodes,pods -A -o json. The new nodes are all of one shape; each number of
// them is tried out in a fork of the cluster, with the pods placed as kube-scheduler would place them.
package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"berth"
)

// nodesMax is where it gives up: then more nodes of the shape do not help.
const nodesMax = 1 << 12

func main() {
	log.SetFlags(0)
	cpu := flag.Int64("cpu", 8, "cpus of a new node")
	memory := flag.Int64("memory", 32, "GiB of a new node")
	pods := flag.Int64("pods", 110, "pods that a new node takes")
	labels := map[string]string{}
	flag.Func("label", "a `KEY=VALUE` of the new nodes; repeatable", func(text string) error {
		key, value, _ := strings.Cut(text, "=")
		labels[key] = value
		return nil
	})
	resources := berth.Resources{}
	flag.Func("resource", "an extended resource `NAME=AMOUNT` of the new nodes; repeatable", func(text string) error {
		name, amount, _ := strings.Cut(text, "=")
		var err error
		resources[name], err = strconv.ParseInt(amount, 10, 64)
		return err
	})
	flag.Parse()
	resources["cpu"], resources["memory"], resources["pods"] = *cpu*1000, *memory<<30, *pods
	shape := berth.Node{Allocatable: resources, Labels: labels}
	if err := run(&shape, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(shape *berth.Node, dumps []string) error {
	// Room for the new nodes and all pods; nobody is evicted for a question.
	s, err := berth.New(berth.Options{
		Nodes: 2 * nodesMax, Pods: 1 << 17, Preemption: berth.PreemptionOff, NodeSearch: berth.NodeSearchAll,
	})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, dump := range dumps {
		text, err := os.ReadFile(dump)
		if err != nil {
			return err
		}
		if _, err := s.LoadJSON(text); err != nil {
			return fmt.Errorf("%s: %w", dump, err)
		}
	}
	without, err := left(s, shape, 0)
	if err != nil {
		return err
	}
	fmt.Printf("without a new node %d pods wait\n", len(without))
	if len(without) == 0 {
		return nil
	}
	// Double until it is enough or nothing helps any more, then halve the range.
	enough, rest := 1, []string(nil)
	for ; ; enough *= 2 {
		if rest, err = left(s, shape, enough); err != nil {
			return err
		}
		if len(rest) == 0 || enough >= nodesMax {
			break
		}
		if more, err := left(s, shape, nodesMax); err != nil {
			return err
		} else if len(more) == len(rest) {
			break
		}
	}
	low := enough / 2
	for low+1 < enough {
		middle := (low + enough) / 2
		waiting, err := left(s, shape, middle)
		if err != nil {
			return err
		}
		if len(waiting) <= len(rest) {
			enough, rest = middle, waiting
		} else {
			low = middle
		}
	}
	// Some want nodes of another shape, or none can help them.
	if len(rest) >= len(without) {
		enough, rest = 0, without
	}
	fmt.Printf("with %d more %d wait\n", enough, len(rest))
	for _, pod := range rest {
		fmt.Println("  ", pod)
	}
	return nil
}

// left are the pods that find no place when there are so many nodes more.
func left(s *berth.Scheduler, shape *berth.Node, count int) ([]string, error) {
	var waiting []string
	err := s.WhatIf(func() error {
		for i := range count {
			node := *shape
			node.Name = fmt.Sprintf("new-%04d", i)
			node.Labels = maps.Clone(shape.Labels)
			node.Labels["kubernetes.io/hostname"] = node.Name
			if _, err := s.UpsertNode(&node); err != nil {
				return err
			}
		}
		decisions, err := s.ScheduleAll(time.Unix(1, 0))
		if err != nil {
			return err
		}
		// The last word on each pod counts.
		last := map[berth.PodID]berth.Outcome{}
		for _, decision := range decisions {
			last[decision.Pod] = decision.Outcome
		}
		for pod, outcome := range last {
			if outcome == berth.Scheduled {
				continue
			}
			name, err := s.PodName(pod)
			if err != nil {
				return err
			}
			waiting = append(waiting, name+": "+outcome.String())
		}
		return nil
	})
	slices.Sort(waiting)
	return waiting, err
}
