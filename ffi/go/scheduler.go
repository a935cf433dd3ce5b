package berth

// #include "berth.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Fidelity says how faithful to kube-scheduler the search is.
type Fidelity int32

// Ties says which of equally good nodes is taken.
type Ties int32

// NodeSearch says how many nodes are looked at.
type NodeSearch int32

// Preemption says whether pods of higher priority may evict others.
type Preemption int32

const (
	// FidelityExact samples, rotates and breaks ties as kube-scheduler with parallelism 1.
	FidelityExact Fidelity = C.BERTH_FIDELITY_EXACT
	// FidelityBest looks at every node.
	FidelityBest Fidelity = C.BERTH_FIDELITY_BEST

	// TiesDefault is as the fidelity has it.
	TiesDefault Ties = C.BERTH_TIES_DEFAULT
	// TiesHeap takes the root of upstream's heap.
	TiesHeap Ties = C.BERTH_TIES_HEAP
	// TiesFirstName takes the first by name.
	TiesFirstName Ties = C.BERTH_TIES_FIRST_NAME
	// TiesFirst takes the first one met by the search.
	TiesFirst Ties = C.BERTH_TIES_FIRST
	// TiesRandom draws one by a seeded generator.
	TiesRandom Ties = C.BERTH_TIES_RANDOM

	// NodeSearchDefault is as the fidelity has it.
	NodeSearchDefault NodeSearch = C.BERTH_NODE_SEARCH_DEFAULT
	// NodeSearchAll looks at all nodes.
	NodeSearchAll NodeSearch = C.BERTH_NODE_SEARCH_ALL
	// NodeSearchSampled looks at as many as percentageOfNodesToScore says.
	NodeSearchSampled NodeSearch = C.BERTH_NODE_SEARCH_SAMPLED

	// PreemptionDefault is PreemptionOn.
	PreemptionDefault Preemption = C.BERTH_PREEMPTION_DEFAULT
	// PreemptionOn lets pods of higher priority evict others.
	PreemptionOn Preemption = C.BERTH_PREEMPTION_ON
	// PreemptionOff evicts nobody.
	PreemptionOff Preemption = C.BERTH_PREEMPTION_OFF
)

// Options are the choices of New. The zero value is the default.
type Options struct {
	// Config is a KubeSchedulerConfiguration v1 as JSON or YAML; empty: the default.
	Config     string
	Fidelity   Fidelity
	Ties       Ties
	NodeSearch NodeSearch
	Preemption Preemption
	// Seed is that of TiesRandom.
	Seed uint64
	// Nodes and Pods are the most that there can be at a time. 0 for both: what the first LoadJSON
	// holds, a quarter more, and some (512 nodes and 16,384 pods without a load); what is full becomes
	// twice as large.
	Nodes, Pods uint32
}

// Scheduler is a cluster with its scheduler. Make it by New.
type Scheduler struct {
	handle  *C.berth_scheduler_t
	cleanup runtime.Cleanup
	plugins *plugins
}

// New makes a scheduler of an empty cluster. It takes its memory at once, and gives it back by Close.
//
// It fails with ErrConfig, ErrCapacity, ErrArgument or ErrVersion.
func New(options Options) (*Scheduler, error) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	var given C.berth_options_t
	given.size = C.size_t(unsafe.Sizeof(given))
	given.abi_version = C.BERTH_ABI_VERSION
	given.fidelity = C.int32_t(options.Fidelity)
	given.ties = C.int32_t(options.Ties)
	given.node_search = C.int32_t(options.NodeSearch)
	given.preemption = C.int32_t(options.Preemption)
	given.seed = C.uint64_t(options.Seed)
	if options.Nodes != 0 || options.Pods != 0 {
		capacities := new(C.berth_capacities_t)
		capacities.size = C.size_t(unsafe.Sizeof(*capacities))
		capacities.nodes = C.uint32_t(options.Nodes)
		capacities.pods = C.uint32_t(options.Pods)
		pinner.Pin(capacities)
		given.capacities = capacities
	}
	// The thread's last error is asked for after the call.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var handle *C.berth_scheduler_t
	config, length := bytesOf(options.Config)
	result := C.berth_scheduler_create(&given, config, length, &handle)
	if result != C.BERTH_RESULT_OK {
		return nil, failure(nil, "New", result)
	}
	s := &Scheduler{handle: handle, plugins: &plugins{}}
	s.cleanup = runtime.AddCleanup(s, destroy, owned{handle, s.plugins})
	return s, nil
}

// ABIVersion is the number of the library's binary interface. New refuses a library whose number is not
// that of the header which the package was compiled with.
func ABIVersion() uint32 { return uint32(C.berth_abi_version()) }

type owned struct {
	handle  *C.berth_scheduler_t
	plugins *plugins
}

func destroy(o owned) {
	C.berth_scheduler_destroy(o.handle)
	o.plugins.release()
}

// Close gives the scheduler's memory back. Every later call, Close included, fails with ErrClosed. It
// fails with ErrBusy while another goroutine uses the scheduler.
func (s *Scheduler) Close() error {
	if err := s.done("Close", C.berth_scheduler_destroy(s.handle)); err != nil {
		return err
	}
	s.cleanup.Stop()
	s.plugins.release()
	return nil
}

// done turns a result into an error, and keeps the scheduler alive until the call has come back.
func (s *Scheduler) done(call string, result C.berth_result_t) error {
	defer runtime.KeepAlive(s)
	if result == C.BERTH_RESULT_OK {
		return nil
	}
	if s.handle == nil {
		return &Error{Call: call, Text: "the scheduler was not made by New", kind: ErrClosed}
	}
	return failure(s.handle, call, result)
}

func failure(handle *C.berth_scheduler_t, call string, result C.berth_result_t) error {
	failed := &Error{Call: call, kind: kindOf(result)}
	if result == C.BERTH_RESULT_BUSY || result == C.BERTH_RESULT_BAD_HANDLE {
		return failed
	}
	text, told := text(func(buffer *C.char, size C.size_t, length *C.size_t) C.berth_result_t {
		return C.berth_last_error(handle, buffer, size, length)
	})
	if told == C.BERTH_RESULT_OK {
		failed.Text = text
	}
	return failed
}

// bytesOf lends a string to C for the length of a call.
func bytesOf(text string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text))
}

// text asks for a text with a small buffer first.
func text(ask func(*C.char, C.size_t, *C.size_t) C.berth_result_t) (string, C.berth_result_t) {
	buffer := make([]byte, 256)
	for {
		var length C.size_t
		start := (*C.char)(unsafe.Pointer(&buffer[0]))
		result := ask(start, C.size_t(len(buffer)), &length)
		if result == C.BERTH_RESULT_SMALL_BUFFER {
			buffer = make([]byte, length)
			continue
		}
		if result != C.BERTH_RESULT_OK {
			return "", result
		}
		return string(buffer[:length]), result
	}
}

// StateHash is a hash of all objects and placements, the same for the same content on every machine.
func (s *Scheduler) StateHash() (uint64, error) {
	var hash C.uint64_t
	err := s.done("StateHash", C.berth_state_hash(s.handle, &hash))
	return uint64(hash), err
}

// Fork remembers the present state, to which Rollback returns. Forks nest, 64 deep; each takes as much
// memory as the scheduler until it ends.
func (s *Scheduler) Fork() error {
	return s.done("Fork", C.berth_fork(s.handle))
}

// Rollback takes back everything since the last Fork, and ends it. It fails with ErrState without one.
func (s *Scheduler) Rollback() error {
	return s.done("Rollback", C.berth_rollback(s.handle))
}

// Commit keeps everything since the last Fork, and ends it. It fails with ErrState without one.
func (s *Scheduler) Commit() error {
	return s.done("Commit", C.berth_commit(s.handle))
}

// WhatIf runs try in a fork, and takes back what it did.
func (s *Scheduler) WhatIf(try func() error) (err error) {
	if err := s.Fork(); err != nil {
		return err
	}
	defer func() {
		if undone := s.Rollback(); err == nil {
			err = undone
		}
	}()
	return try()
}

// SaveState writes down objects, placements, queue, time and the next random number, for LoadState on any
// machine. Options, plugins and forks are not part of it.
func (s *Scheduler) SaveState() ([]byte, error) {
	var size C.size_t
	if err := s.done("SaveState", C.berth_state_size(s.handle, &size)); err != nil {
		return nil, err
	}
	bytes := make([]byte, size)
	start, length := slice(bytes)
	result := C.berth_state_save(s.handle, (*C.uint8_t)(unsafe.Pointer(start)), length, &size)
	return bytes, s.done("SaveState", result)
}

// LoadState takes a saved state in the place of everything that is there; ids are the same. Classes of
// CreateClass have to be created anew. It fails with ErrFile, ErrCapacity, or ErrState in a fork.
func (s *Scheduler) LoadState(bytes []byte) error {
	start, length := slice(bytes)
	if start == nil {
		return &Error{Call: "LoadState", Text: "there are no bytes", kind: ErrFile}
	}
	result := C.berth_state_load(s.handle, (*C.uint8_t)(unsafe.Pointer(start)), length)
	return s.done("LoadState", result)
}
