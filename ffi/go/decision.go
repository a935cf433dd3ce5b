package berth

// #include "berth.h"
import "C"

import (
	"encoding/json"
	"iter"
	"math/bits"
	"unsafe"
)

// Outcome is what became of an attempt or evaluation.
type Outcome int32

const (
	// OutcomeNone: no pod can be tried now.
	OutcomeNone Outcome = C.BERTH_OUTCOME_NONE
	// Scheduled: the pod was placed, or would be.
	Scheduled Outcome = C.BERTH_OUTCOME_SCHEDULED
	// Unschedulable: the pod fits nowhere now.
	Unschedulable Outcome = C.BERTH_OUTCOME_UNSCHEDULABLE
	// Gated: the pod has a scheduling gate.
	Gated Outcome = C.BERTH_OUTCOME_GATED
	// Unsupported: the pod uses a field that Berth does not implement yet.
	Unsupported Outcome = C.BERTH_OUTCOME_UNSUPPORTED
	// Failed: the attempt failed; Explain has the error.
	Failed Outcome = C.BERTH_OUTCOME_ERROR
)

// String is the outcome as records spell it.
func (o Outcome) String() string {
	names := []string{"none", "scheduled", "unschedulable", "gated", "unsupported", "error"}
	if o < 0 || int(o) >= len(names) {
		return "unknown"
	}
	return names[o]
}

// Bits is a set of nodes.
type Bits []uint64

// Has is whether a node is in the set.
func (b Bits) Has(node NodeID) bool {
	word := int(node / 64)
	return word < len(b) && b[word]>>(node%64)&1 == 1
}

// Remove takes a node out.
func (b Bits) Remove(node NodeID) {
	if word := int(node / 64); word < len(b) {
		b[word] &^= 1 << (node % 64)
	}
}

// Count is the number of nodes in the set.
func (b Bits) Count() int {
	count := 0
	for _, word := range b {
		count += bits.OnesCount64(word)
	}
	return count
}

// All are the nodes of the set, ascending.
func (b Bits) All() iter.Seq[NodeID] {
	return func(yield func(NodeID) bool) {
		for at, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(NodeID(at*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// Evaluation is a pod judged on every node.
type Evaluation struct {
	Outcome Outcome
	// Feasible are the nodes that fit.
	Feasible Bits
	// Scores are by node the sum of all plugins' normalised scores times weight, 0 for nodes that do not
	// fit, and for all where Scored is false: one node alone is not scored.
	Scores []int64
	Scored bool
	// Evaluated is how many nodes were looked at; those outside were ruled out by node affinity before.
	Evaluated int
}

// Evaluate judges a pod on every node in one call, with nothing changed; a pod that has a node is judged
// as if it had none. It uses the room that e has.
//
// A plugin that failed is the error, with the outcome Failed.
func (s *Scheduler) Evaluate(pod PodID, e *Evaluation) error {
	var counts C.berth_counts_t
	counts.size = C.size_t(unsafe.Sizeof(counts))
	room := e.Feasible[:cap(e.Feasible)]
	scores := e.Scores[:cap(e.Scores)]
	for {
		bitsStart, bitsLength := slice(room)
		scoresStart, scoresLength := slice(scores)
		result := C.berth_evaluate(s.handle, C.uint32_t(pod),
			(*C.uint64_t)(unsafe.Pointer(bitsStart)), bitsLength,
			(*C.int64_t)(unsafe.Pointer(scoresStart)), scoresLength, &counts)
		rows := int(counts.rows)
		words := (rows + 63) / 64
		if result == C.BERTH_RESULT_SMALL_BUFFER || result == C.BERTH_RESULT_OK && len(scores) < rows {
			// A quarter more, as nodes come.
			room = make(Bits, words+words/4+1)
			scores = make([]int64, rows+rows/4+1)
			continue
		}
		if err := s.done("Evaluate", result); err != nil {
			return err
		}
		*e = Evaluation{
			Outcome:   Outcome(counts.outcome),
			Feasible:  room[:words],
			Scores:    scores[:rows],
			Scored:    counts.scored == 1,
			Evaluated: int(counts.evaluated),
		}
		return s.plugins.failure("Evaluate")
	}
}

// Decision is what an attempt at a pod came to.
type Decision struct {
	Outcome Outcome
	// Pod is NoPod if no pod could be tried.
	Pod PodID
	// Node is where the pod was placed, else NoNode.
	Node NodeID
	// NominatedNode is where victims make room for the pod, else NoNode.
	NominatedNode NodeID
	// Victims is how many pods are to go for it: see Scheduler.Victims.
	Victims int
	// Attempt counts the attempts at the pod; 0 outside the queue.
	Attempt int
	// Feasible nodes, of those that were Evaluated.
	Feasible, Evaluated int
}

func decisionOf(d *C.berth_decision_t) Decision {
	return Decision{
		Outcome:       Outcome(d.outcome),
		Pod:           PodID(d.pod),
		Node:          NodeID(d.node),
		NominatedNode: NodeID(d.nominated_node),
		Victims:       int(d.victims),
		Attempt:       int(d.attempt),
		Feasible:      int(d.feasible),
		Evaluated:     int(d.evaluated),
	}
}

// SchedulePod makes one attempt at a pod that the caller picks. The loop over the queue is ScheduleOne.
//
// A plugin that failed is the error, with the outcome Failed.
func (s *Scheduler) SchedulePod(pod PodID) (Decision, error) {
	var d C.berth_decision_t
	d.size = C.size_t(unsafe.Sizeof(d))
	result := C.berth_schedule_pod(s.handle, C.uint32_t(pod), &d)
	if err := s.done("SchedulePod", result); err != nil {
		return Decision{Pod: NoPod, Node: NoNode, NominatedNode: NoNode}, err
	}
	return decisionOf(&d), s.plugins.failure("SchedulePod")
}

// Record is the whole record of a decision; README.md has its form.
type Record struct {
	Pod           string              `json:"pod"`
	UID           string              `json:"uid,omitempty"`
	Profile       string              `json:"profile"`
	Attempt       int                 `json:"attempt"`
	Result        string              `json:"result"`
	Node          string              `json:"node,omitempty"`
	Field         string              `json:"field,omitempty"`
	Error         string              `json:"error,omitempty"`
	Feasible      int                 `json:"feasible,omitempty"`
	Evaluated     int                 `json:"evaluated,omitempty"`
	Ties          []string            `json:"ties,omitempty"`
	Scores        []NodeScore         `json:"scores,omitempty"`
	Rejected      map[string][]string `json:"rejected,omitempty"`
	Message       string              `json:"message,omitempty"`
	NominatedNode string              `json:"nominatedNode,omitempty"`
	Victims       []string            `json:"victims,omitempty"`
	Volumes       []BoundClaim        `json:"volumes,omitempty"`
}

// NodeScore is a feasible node's scores: normalised times weight, by plugin.
type NodeScore struct {
	Node    string           `json:"node"`
	Total   int64            `json:"total"`
	Plugins map[string]int64 `json:"plugins"`
}

// ExplainJSON is the record of Evaluate as JSON: the node that would be chosen, every feasible node's
// scores, why each of the others is refused.
func (s *Scheduler) ExplainJSON(pod PodID) (string, error) {
	told, err := s.text("ExplainJSON", func(b *C.char, size C.size_t, length *C.size_t) C.berth_result_t {
		return C.berth_explain_json(s.handle, C.uint32_t(pod), b, size, length)
	})
	if err != nil {
		return "", err
	}
	return told, s.plugins.failure("ExplainJSON")
}

// Explain is the record of Evaluate.
func (s *Scheduler) Explain(pod PodID) (*Record, error) {
	text, err := s.ExplainJSON(pod)
	if err != nil {
		return nil, err
	}
	record := &Record{}
	return record, json.Unmarshal([]byte(text), record)
}
