package berth_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"berth"
)

var start = time.Unix(1_000, 0)

// must is for calls that do not fail.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func node(name string) *berth.Node {
	return &berth.Node{
		Name:        name,
		Allocatable: berth.Resources{"cpu": 4000, "memory": 8 << 30, "pods": 10},
		Labels:      map[string]string{"kubernetes.io/hostname": name, "zone": "z-" + name},
	}
}

// cluster has the nodes a and b, and the pod p of a class that asks for one cpu.
func cluster(t *testing.T) (*berth.Scheduler, berth.PodID, berth.ClassID) {
	t.Helper()
	s := must(berth.New(berth.Options{Ties: berth.TiesFirstName}))
	t.Cleanup(func() { _ = s.Close() })
	must(s.UpsertNode(node("a")))
	must(s.UpsertNode(node("b")))
	class := must(s.CreateClass(&berth.Class{Requests: berth.Resources{"cpu": 1000}}))
	return s, must(s.UpsertPod(&berth.Pod{Class: class, Name: "p"})), class
}

func TestEvaluateJudgesAllNodesAndKeepsItsRoom(t *testing.T) {
	s, pod, _ := cluster(t)
	var e berth.Evaluation
	check(t, s.Evaluate(pod, &e))
	if e.Outcome != berth.Scheduled || !e.Scored || e.Feasible.Count() != 2 || len(e.Scores) != 2 {
		t.Fatalf("%+v", e)
	}
	room := &e.Scores[0]
	check(t, s.Evaluate(pod, &e))
	if room != &e.Scores[0] {
		t.Error("the room was not used again")
	}
	for node := range e.Feasible.All() {
		if e.Scores[node] <= 0 || !e.Feasible.Has(node) {
			t.Errorf("node %d: %d", node, e.Scores[node])
		}
	}
	if e.Feasible.Has(2) || e.Feasible.Has(berth.NoNode) {
		t.Error("a node that is not there is feasible")
	}
	for i := range 200 {
		must(s.UpsertNode(node(fmt.Sprint("more-", i))))
	}
	check(t, s.Evaluate(pod, &e))
	if e.Feasible.Count() != 202 || len(e.Scores) != 202 {
		t.Fatalf("%d nodes, %d scores", e.Feasible.Count(), len(e.Scores))
	}
}

func TestTheLoopPlacesBindsAndEvicts(t *testing.T) {
	s, pod, class := cluster(t)
	decisions := must(s.ScheduleAll(start))
	if len(decisions) != 1 || decisions[0].Pod != pod || decisions[0].Outcome != berth.Scheduled {
		t.Fatalf("%+v", decisions)
	}
	check(t, s.Bound(pod, berth.Bound, start))
	if err := s.Bound(pod, berth.Bound, start); !errors.Is(err, berth.ErrState) {
		t.Errorf("bound twice: %v", err)
	}
	if on := must(s.PodNode(pod)); must(s.NodeName(on)) != "a" || must(s.PodClass(pod)) != class {
		t.Errorf("it is on %d", on)
	}
	// One that fits beside nobody evicts the pod of lower priority.
	large := must(s.CreateClass(&berth.Class{Requests: berth.Resources{"cpu": 4000}}))
	must(s.UpsertPod(&berth.Pod{Class: large, Name: "other", NodeName: "b", Priority: 20}))
	must(s.UpsertPod(&berth.Pod{Class: large, Name: "urgent", Priority: 10}))
	decisions = must(s.ScheduleAll(start))
	last := decisions[len(decisions)-1]
	if last.Outcome != berth.Unschedulable || last.Victims != 1 || last.NominatedNode != 0 {
		t.Fatalf("%+v", last)
	}
	victims := must(s.Victims())
	if len(victims) != 1 || victims[0] != (berth.Victim{Pod: pod, Kind: berth.Evict}) {
		t.Fatalf("%+v", victims)
	}
	check(t, s.RemovePod(pod))
	decisions = must(s.ScheduleAll(start.Add(time.Minute)))
	if len(decisions) != 1 || decisions[0].Node != 0 || decisions[0].Attempt != 2 {
		t.Fatalf("%+v", decisions)
	}
	if none := must(s.ScheduleOne(start)); none.Outcome != berth.OutcomeNone || none.Pod != berth.NoPod {
		t.Errorf("%+v", none)
	}
	if next := must(s.Advance(start)); !next.IsZero() {
		t.Errorf("a timer at %v", next)
	}
}

func TestAForkLeavesNoTrace(t *testing.T) {
	s, pod, _ := cluster(t)
	before := must(s.StateHash())
	check(t, s.WhatIf(func() error {
		check(t, s.RemoveNode(0))
		if d := must(s.SchedulePod(pod)); must(s.NodeName(d.Node)) != "b" {
			t.Errorf("%+v", d)
		}
		return s.ForgetPod(pod)
	}))
	if after := must(s.StateHash()); after != before {
		t.Error("the state is another")
	}
	if err := s.Rollback(); !errors.Is(err, berth.ErrState) {
		t.Errorf("no fork: %v", err)
	}
	check(t, s.Fork())
	check(t, s.RemovePod(pod))
	check(t, s.Commit())
	if pods := must(s.Pods()); len(pods) != 0 || len(must(s.Nodes())) != 2 {
		t.Errorf("%v", pods)
	}
}

func TestASavedStateIsTheStateAgain(t *testing.T) {
	s, pod, _ := cluster(t)
	must(s.ScheduleAll(start))
	bytes := must(s.SaveState())
	other := must(berth.New(berth.Options{Ties: berth.TiesFirstName}))
	defer other.Close()
	check(t, other.LoadState(bytes))
	if must(other.StateHash()) != must(s.StateHash()) || must(other.PodNode(pod)) != 0 {
		t.Error("the state is another")
	}
	bytes[len(bytes)/2] ^= 1
	for _, wrong := range [][]byte{nil, bytes[:7], bytes} {
		if err := other.LoadState(wrong); !errors.Is(err, berth.ErrFile) {
			t.Errorf("%d bytes: %v", len(wrong), err)
		}
	}
}

func TestExplainSaysWhy(t *testing.T) {
	s, _, _ := cluster(t)
	class := must(s.CreateClass(&berth.Class{
		Namespace:    "web",
		Labels:       map[string]string{"app": "web"},
		Requests:     berth.Resources{"cpu": 100, "example.com/device": 1},
		NodeSelector: map[string]string{"zone": "z-a"},
		NodeTerms: []berth.NodeTerm{{Requirements: []berth.Requirement{
			{Key: "zone", Operator: berth.In, Values: []string{"z-a", "z-b"}},
		}}},
		Tolerations: []berth.Toleration{{Exists: true}},
		PodTerms: []berth.PodTerm{{
			Labels: map[string]string{"app": "web"}, TopologyKey: "kubernetes.io/hostname", Anti: true,
		}},
		Spread: []berth.Spread{{
			Labels: map[string]string{"app": "web"}, TopologyKey: "zone", MaxSkew: 1, Soft: true,
		}},
		Ports: []berth.Port{{Port: 80}},
		Image: "example.com/web:1",
	}))
	pod := must(s.UpsertPod(&berth.Pod{Class: class, Name: "x", UID: "u", NeverPreempts: true}))
	record := must(s.Explain(pod))
	if record.Pod != "web/x" || record.UID != "u" || record.Result != "unschedulable" ||
		record.Rejected["b"][0] != "NodeAffinity" || record.Rejected["a"][0] != "NodeResourcesFit" {
		t.Errorf("%+v", record)
	}
	more := node("a")
	more.Allocatable["example.com/device"] = 1
	must(s.UpsertNode(more))
	if record = must(s.Explain(pod)); record.Node != "a" {
		t.Errorf("%+v", record)
	}
}

func TestErrorsWrapWhatTheyAre(t *testing.T) {
	s, pod, _ := cluster(t)
	small := must(berth.New(berth.Options{Nodes: 1, Pods: 1}))
	defer small.Close()
	must(small.UpsertNode(node("a")))
	_, full := small.UpsertNode(node("b"))
	_, config := berth.New(berth.Options{Config: "kind: Nothing"})
	_, number := berth.New(berth.Options{Ties: 9})
	_, object := s.LoadJSON([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"-"}}`))
	_, exists := s.ApplyJSON(berth.Added, []byte(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}`))
	_, missing := s.FindPod("nobody")
	_, id := s.PodName(77)
	_, text := s.FindNode("\xff")
	_, value := s.UpsertNode(&berth.Node{Name: "c", Taints: []berth.Taint{{Key: "k", Effect: 9}}})
	closed := must(berth.New(berth.Options{}))
	check(t, closed.Close())
	for _, c := range []struct {
		err, kind error
		text      string
	}{
		{full, berth.ErrCapacity, "nodes"},
		{config, berth.ErrConfig, "kind"},
		{number, berth.ErrArgument, "ties"},
		{object, berth.ErrObject, "metadata.name"},
		{exists, berth.ErrExists, "Node a"},
		{missing, berth.ErrNotFound, "nobody"},
		{id, berth.ErrArgument, "77"},
		{text, berth.ErrArgument, "name"},
		{value, berth.ErrArgument, "effect"},
		{closed.Fork(), berth.ErrClosed, "closed"},
		{closed.Close(), berth.ErrClosed, "Close"},
		{new(berth.Scheduler).Fork(), berth.ErrClosed, "New"},
	} {
		if !errors.Is(c.err, c.kind) || !strings.Contains(c.err.Error(), c.text) {
			t.Errorf("%v is no %v that says %q", c.err, c.kind, c.text)
		}
	}
	notes := must(s.ApplyJSON(berth.Deleted, []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}`)))
	if berth.PodID(notes) == pod || len(must(s.Notes())) != 0 {
		t.Error("a deleted pod has an id")
	}
}

func TestPluginsAnswerAndTheirMistakesAreErrors(t *testing.T) {
	s, pod, class := cluster(t)
	var refuse berth.NodeID = berth.NoNode
	var fail error
	var panics bool
	var reserved []berth.PodID
	check(t, s.RegisterFilter("Licence", "node(s) had no licence",
		func(of berth.ClassID, feasible, kept berth.Bits) error {
			if of != class || feasible.Count() != kept.Count() {
				t.Errorf("asked about class %d", of)
			}
			if panics {
				panic("on purpose")
			}
			kept.Remove(refuse)
			return fail
		}))
	check(t, s.RegisterScore("Near", 5, func(_ berth.ClassID, feasible berth.Bits, scores []int64) error {
		scores[1] = 100
		return s.Fork()
	}))
	check(t, s.RegisterReserve(func(pod berth.PodID, _ berth.NodeID) error {
		reserved = append(reserved, pod)
		return berth.ErrRejected
	}, func(pod berth.PodID, _ berth.NodeID) { reserved = reserved[:0] }))

	// A call from within is refused, which this plugin passes on.
	var e berth.Evaluation
	if err := s.Evaluate(pod, &e); !errors.Is(err, berth.ErrBusy) || e.Outcome != berth.Failed {
		t.Errorf("%v: %v", err, e.Outcome)
	}
	refuse = 0
	check(t, s.Evaluate(pod, &e))
	if e.Feasible.Count() != 1 || must(s.Explain(pod)).Rejected["a"][0] != "Licence" {
		t.Errorf("%+v", e)
	}
	if d := must(s.ScheduleOne(start)); d.Outcome != berth.Unschedulable || len(reserved) != 0 {
		t.Errorf("%+v", d)
	}
	own := errors.New("our own")
	fail = own
	if d, err := s.SchedulePod(pod); !errors.Is(err, own) || d.Outcome != berth.Failed {
		t.Errorf("%v: %+v", err, d)
	}
	fail, panics = nil, true
	if _, err := s.SchedulePod(pod); err == nil || !strings.Contains(err.Error(), "on purpose") {
		t.Error(err)
	}
	if err := s.RegisterFilter("Licence", "", func(berth.ClassID, berth.Bits, berth.Bits) error { return nil }); !errors.Is(err, berth.ErrExists) {
		t.Error(err)
	}
	if err := s.RegisterScore("None", 1, nil); !errors.Is(err, berth.ErrArgument) {
		t.Error(err)
	}
}

func TestManyGoroutinesGetAnswersOrBusy(t *testing.T) {
	s, pod, _ := cluster(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var e berth.Evaluation
			for range 200 {
				err := s.Evaluate(pod, &e)
				if err == nil && e.Feasible.Count() != 2 || err != nil && !errors.Is(err, berth.ErrBusy) {
					t.Errorf("%v: %+v", err, e)
				}
			}
		}()
	}
	wait.Wait()
}

// A scheduler that nobody closes is given back all the same: a thousand of them fit into memory.
func TestACleanupClosesWhatIsForgotten(t *testing.T) {
	for i := range 1000 {
		s := must(berth.New(berth.Options{Nodes: 64, Pods: 64}))
		must(s.UpsertNode(node("a")))
		if i%10 == 0 {
			runtime.GC()
		}
	}
}
