package berth

// #include "berth.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"sync"
	"unsafe"
)

// FilterFunc takes the nodes that it refuses out of kept, which begins as feasible. It is asked once an
// attempt about all nodes that other filters keep, and about a nominated node or a candidate of
// preemption alone. The sets are lent for the call.
type FilterFunc func(class ClassID, feasible, kept Bits) error

// ScoreFunc sets the scores, 0 to 100, of the feasible nodes; they are 0 at first. It is asked once an
// attempt, if more than one node is feasible. Set and scores are lent for the call.
type ScoreFunc func(class ClassID, feasible Bits, scores []int64) error

// ReserveFunc hears that a pod is assumed on a node; ErrRejected refuses it until something changes, any
// other error fails the attempt.
type ReserveFunc func(pod PodID, node NodeID) error

// UnreserveFunc hears that a pod is assumed no more and was not bound.
type UnreserveFunc func(pod PodID, node NodeID)

// plugins are the functions that C calls back, each by a number that stands for it.
type plugins struct {
	handles []cgo.Handle

	mutex sync.Mutex
	// What a plugin failed with in the present call.
	failed error
}

// plugin is what such a number stands for.
type plugin struct {
	name      string
	owner     *plugins
	filter    FilterFunc
	score     ScoreFunc
	reserve   ReserveFunc
	unreserve UnreserveFunc
}

func (p *plugins) add(own *plugin) C.uintptr_t {
	own.owner = p
	handle := cgo.NewHandle(own)
	p.handles = append(p.handles, handle)
	return C.uintptr_t(handle)
}

// forget takes the last one back, which C did not take.
func (p *plugins) forget() {
	last := len(p.handles) - 1
	p.handles[last].Delete()
	p.handles = p.handles[:last]
}

func (p *plugins) release() {
	for _, handle := range p.handles {
		handle.Delete()
	}
	p.handles = nil
}

func (p *plugins) fail(err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.failed = err
}

// failure is what a plugin failed with in the call that ends.
func (p *plugins) failure(call string) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	failed := p.failed
	p.failed = nil
	if failed == nil {
		return nil
	}
	return fmt.Errorf("berth: %s: %w", call, failed)
}

// run calls a plugin's function; a panic in it must not reach C.
func (p *plugin) run(function func() error) (answer C.int32_t) {
	defer func() {
		if told := recover(); told != nil {
			p.owner.fail(fmt.Errorf("plugin %s: panic: %v", p.name, told))
			answer = C.BERTH_PLUGIN_FAILED
		}
	}()
	err := function()
	switch {
	case err == nil:
		return C.BERTH_PLUGIN_OK
	case p.reserve != nil && errors.Is(err, ErrRejected):
		return C.BERTH_PLUGIN_REJECTED
	}
	p.owner.fail(fmt.Errorf("plugin %s: %w", p.name, err))
	return C.BERTH_PLUGIN_FAILED
}

func pluginOf(context C.uintptr_t) *plugin {
	return cgo.Handle(context).Value().(*plugin)
}

//export berthGoFilter
func berthGoFilter(context C.uintptr_t, class C.uint32_t, feasible, kept *C.uint64_t, words C.size_t) C.int32_t {
	own := pluginOf(context)
	return own.run(func() error {
		return own.filter(ClassID(class), lentBits(feasible, words), lentBits(kept, words))
	})
}

//export berthGoScore
func berthGoScore(context C.uintptr_t, class C.uint32_t, feasible *C.uint64_t, words C.size_t,
	scores *C.int64_t, length C.size_t) C.int32_t {
	own := pluginOf(context)
	return own.run(func() error {
		lent := unsafe.Slice((*int64)(unsafe.Pointer(scores)), length)
		return own.score(ClassID(class), lentBits(feasible, words), lent)
	})
}

//export berthGoReserve
func berthGoReserve(context C.uintptr_t, pod, node C.uint32_t) C.int32_t {
	own := pluginOf(context)
	if own.reserve == nil {
		return C.BERTH_PLUGIN_OK
	}
	return own.run(func() error { return own.reserve(PodID(pod), NodeID(node)) })
}

//export berthGoUnreserve
func berthGoUnreserve(context C.uintptr_t, pod, node C.uint32_t) {
	own := pluginOf(context)
	if own.unreserve == nil {
		return
	}
	own.run(func() error {
		own.unreserve(PodID(pod), NodeID(node))
		return nil
	})
}

func lentBits(start *C.uint64_t, words C.size_t) Bits {
	return unsafe.Slice((*uint64)(unsafe.Pointer(start)), words)
}
