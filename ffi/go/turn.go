package berth

// #include "berth.h"
import "C"

import (
	"math"
	"time"
	"unsafe"
)

// BindOutcome is what became of a binding.
type BindOutcome int32

const (
	// Bound: it is written.
	Bound BindOutcome = C.BERTH_BIND_BOUND
	// BindRejected: a rule refused it; the pod is tried again.
	BindRejected BindOutcome = C.BERTH_BIND_REJECTED
	// BindFailed: it failed; the pod is tried again.
	BindFailed BindOutcome = C.BERTH_BIND_FAILED
	// BindUnknown: nobody knows; the pod keeps its room until more is known.
	BindUnknown BindOutcome = C.BERTH_BIND_UNKNOWN
)

// VictimKind is how a victim goes.
type VictimKind int32

const (
	// Evict: the caller evicts it.
	Evict VictimKind = C.BERTH_VICTIM_EVICT
	// Terminating: it is being deleted already.
	Terminating VictimKind = C.BERTH_VICTIM_TERMINATING
	// InMemory: it was not bound yet, and is in the queue again.
	InMemory VictimKind = C.BERTH_VICTIM_IN_MEMORY
)

// Victim is a pod that goes for another one.
type Victim struct {
	Pod  PodID
	Kind VictimKind
}

// nanos is a time for C; one before 1970 is taken for 1970.
func nanos(now time.Time) C.uint64_t {
	return C.uint64_t(max(now.UnixNano(), 0))
}

// ScheduleOne makes one turn of the loop: timers that are due, then an attempt at the first pod of the
// queue; the outcome is OutcomeNone if no pod can be tried. A pod that is placed is assumed: bind it and
// say Bound. Time is what now says; a time before the last one is taken for the last.
//
// A plugin that failed is the error, with the outcome Failed.
func (s *Scheduler) ScheduleOne(now time.Time) (Decision, error) {
	var d C.berth_decision_t
	d.size = C.size_t(unsafe.Sizeof(d))
	if err := s.done("ScheduleOne", C.berth_schedule_one(s.handle, nanos(now), &d)); err != nil {
		return Decision{Pod: NoPod, Node: NoNode, NominatedNode: NoNode}, err
	}
	return decisionOf(&d), s.plugins.failure("ScheduleOne")
}

// batch is how many turns ScheduleAll makes in a call.
const batch = 256

// ScheduleAll makes turns until no pod can be tried, or pods are to be evicted: then the last decision
// has Victims, and it is called again once they are removed. Errors are those of ScheduleOne, with the
// decisions up to there.
func (s *Scheduler) ScheduleAll(now time.Time) ([]Decision, error) {
	var all []Decision
	made := make([]C.berth_decision_t, batch)
	for {
		var count C.size_t
		result := C.berth_schedule_all(s.handle, nanos(now), &made[0], batch,
			C.size_t(unsafe.Sizeof(made[0])), &count)
		if err := s.done("ScheduleAll", result); err != nil {
			return all, err
		}
		for i := range made[:count] {
			all = append(all, decisionOf(&made[i]))
		}
		if err := s.plugins.failure("ScheduleAll"); err != nil {
			return all, err
		}
		if count < batch || all[len(all)-1].Victims > 0 {
			return all, nil
		}
	}
}

// Bound says what became of the binding of a pod that the loop placed. It fails with ErrState if the pod
// is not being bound.
func (s *Scheduler) Bound(pod PodID, outcome BindOutcome, now time.Time) error {
	result := C.berth_bound(s.handle, C.uint32_t(pod), C.int32_t(outcome), nanos(now))
	return s.done("Bound", result)
}

// Advance lets time pass. The time is when the next timer is due if nothing else happens; it is zero if
// none is.
func (s *Scheduler) Advance(now time.Time) (time.Time, error) {
	var next C.uint64_t
	if err := s.done("Advance", C.berth_advance(s.handle, nanos(now), &next)); err != nil {
		return time.Time{}, err
	}
	if next > math.MaxInt64 {
		return time.Time{}, nil
	}
	return time.Unix(0, int64(next)), nil
}

// Victims are the pods that go for the one of the last turn, in the order in which they are to be
// evicted.
func (s *Scheduler) Victims() ([]Victim, error) {
	var count C.size_t
	if err := s.done("Victims", C.berth_victims(s.handle, nil, 0, &count)); err != nil || count == 0 {
		return nil, err
	}
	given := make([]C.berth_victim_t, count)
	if err := s.done("Victims", C.berth_victims(s.handle, &given[0], count, &count)); err != nil {
		return nil, err
	}
	victims := make([]Victim, count)
	for i, victim := range given {
		victims[i] = Victim{PodID(victim.pod), VictimKind(victim.kind)}
	}
	return victims, nil
}

// PreemptionFailed says that the evictions for a pod did not all succeed: it waits for them no more.
func (s *Scheduler) PreemptionFailed(pod PodID) error {
	return s.done("PreemptionFailed", C.berth_preemption_failed(s.handle, C.uint32_t(pod)))
}
