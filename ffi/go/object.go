package berth

// #include "berth.h"
import "C"

import (
	"strings"
	"unsafe"
)

// NodeID is a node, until it is removed; its place in bits and scores.
type NodeID uint32

// PodID is a pod, until it is removed.
type PodID uint32

// ClassID is that of pods that are equal in everything that decides their placement.
type ClassID uint32

const (
	// NoNode is the id of no node.
	NoNode NodeID = C.BERTH_ID_NONE
	// NoPod is the id of no pod.
	NoPod PodID = C.BERTH_ID_NONE
)

// Change is what happened to an object.
type Change int32

const (
	// Added: the object is new.
	Added Change = C.BERTH_CHANGE_ADDED
	// Modified: the object that is there has changed to this.
	Modified Change = C.BERTH_CHANGE_MODIFIED
	// Deleted: the object is gone.
	Deleted Change = C.BERTH_CHANGE_DELETED
)

// Loaded is what a load came to.
type Loaded struct {
	// Pending pods, those made of workloads included.
	Pending uint32
	// Skipped are pending pods that were left out: another scheduler's, or being deleted.
	Skipped uint32
}

// LoadJSON takes in a whole List, a list of one kind or a single object, as kubectl get -o json writes
// them. All goes in, or nothing; see berth_load_json.
func (s *Scheduler) LoadJSON(json []byte) (Loaded, error) {
	var loaded C.berth_loaded_t
	loaded.size = C.size_t(unsafe.Sizeof(loaded))
	start, length := slice(json)
	result := C.berth_load_json(s.handle, (*C.char)(unsafe.Pointer(start)), length, &loaded)
	if err := s.done("LoadJSON", result); err != nil {
		return Loaded{}, err
	}
	return Loaded{uint32(loaded.pending), uint32(loaded.skipped)}, nil
}

// ApplyJSON takes in what happened to one object, as a watch tells of it. The id is that of a node or
// pod that is there now, else NoNode.
func (s *Scheduler) ApplyJSON(change Change, json []byte) (uint32, error) {
	var id C.uint32_t
	start, length := slice(json)
	text := (*C.char)(unsafe.Pointer(start))
	result := C.berth_apply_json(s.handle, C.int32_t(change), text, length, &id)
	return uint32(id), s.done("ApplyJSON", result)
}

// Notes is what the last load or change had to say beside its result.
func (s *Scheduler) Notes() ([]string, error) {
	text, err := s.text("Notes", func(b *C.char, size C.size_t, length *C.size_t) C.berth_result_t {
		return C.berth_notes(s.handle, b, size, length)
	})
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), nil
}

// FindPod is the pod NAMESPACE/NAME, or NAME in the namespace default; else it fails with ErrNotFound.
func (s *Scheduler) FindPod(name string) (PodID, error) {
	id := C.uint32_t(C.BERTH_ID_NONE)
	start, length := bytesOf(name)
	err := s.done("FindPod", C.berth_find_pod(s.handle, start, length, &id))
	return PodID(id), err
}

// FindNode is the node of this name; else it fails with ErrNotFound.
func (s *Scheduler) FindNode(name string) (NodeID, error) {
	id := C.uint32_t(C.BERTH_ID_NONE)
	start, length := bytesOf(name)
	err := s.done("FindNode", C.berth_find_node(s.handle, start, length, &id))
	return NodeID(id), err
}

// NodeName is the name of a node.
func (s *Scheduler) NodeName(node NodeID) (string, error) {
	return s.text("NodeName", func(b *C.char, size C.size_t, length *C.size_t) C.berth_result_t {
		return C.berth_node_name(s.handle, C.uint32_t(node), b, size, length)
	})
}

// PodName is NAMESPACE/NAME of a pod.
func (s *Scheduler) PodName(pod PodID) (string, error) {
	return s.text("PodName", func(b *C.char, size C.size_t, length *C.size_t) C.berth_result_t {
		return C.berth_pod_name(s.handle, C.uint32_t(pod), b, size, length)
	})
}

// Nodes are the nodes there are, ascending.
func (s *Scheduler) Nodes() ([]NodeID, error) {
	return list[NodeID](s, "Nodes", func(ids *C.uint32_t, size C.size_t, count *C.size_t) C.berth_result_t {
		return C.berth_node_list(s.handle, ids, size, count)
	})
}

// Pods are the pods there are, ascending: bound, assumed, waiting.
func (s *Scheduler) Pods() ([]PodID, error) {
	return list[PodID](s, "Pods", func(ids *C.uint32_t, size C.size_t, count *C.size_t) C.berth_result_t {
		return C.berth_pod_list(s.handle, ids, size, count)
	})
}

func list[ID ~uint32](s *Scheduler, call string,
	ask func(*C.uint32_t, C.size_t, *C.size_t) C.berth_result_t) ([]ID, error) {
	var count C.size_t
	if err := s.done(call, ask(nil, 0, &count)); err != nil {
		return nil, err
	}
	ids := make([]ID, count)
	start, length := slice(ids)
	err := s.done(call, ask((*C.uint32_t)(unsafe.Pointer(start)), length, &count))
	return ids, err
}

func (s *Scheduler) text(call string,
	ask func(*C.char, C.size_t, *C.size_t) C.berth_result_t) (string, error) {
	told, result := text(ask)
	return told, s.done(call, result)
}

// slice lends a slice to C for the length of a call; an empty one is NULL.
func slice[T any](values []T) (*T, C.size_t) {
	if len(values) == 0 {
		return nil, 0
	}
	return &values[0], C.size_t(len(values))
}
