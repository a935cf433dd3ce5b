package berth

// #include "berth.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Effect is a taint's.
type Effect int32

const (
	// EffectAny is that of tolerations of every effect.
	EffectAny Effect = C.BERTH_EFFECT_ANY
	// NoSchedule refuses pods that do not tolerate the taint.
	NoSchedule Effect = C.BERTH_EFFECT_NO_SCHEDULE
	// PreferNoSchedule costs the node score.
	PreferNoSchedule Effect = C.BERTH_EFFECT_PREFER_NO_SCHEDULE
	// NoExecute refuses pods and evicts them.
	NoExecute Effect = C.BERTH_EFFECT_NO_EXECUTE
)

// Resources are amounts by name: thousandths of a cpu, all else in whole units.
type Resources map[string]int64

// Taint is one of a node.
type Taint struct {
	Key, Value string
	Effect     Effect
}

// Image is one that a node holds.
type Image struct {
	Name  string
	Bytes int64
}

// Node is a node as far as scheduling reads it.
type Node struct {
	Name string
	// Allocatable is what it has for pods; without "pods" it takes none.
	Allocatable Resources
	// Labels are as they are written: kubernetes.io/hostname is not added.
	Labels           map[string]string
	Taints           []Taint
	Images           []Image
	DeclaredFeatures []string
	// Unschedulable is whether it is cordoned.
	Unschedulable bool
}

// lender lends Go's memory to C for the length of a call.
type lender struct{ runtime.Pinner }

func (l *lender) string(text string) C.berth_string_t {
	if text == "" {
		return C.berth_string_t{}
	}
	start := unsafe.StringData(text)
	l.Pin(start)
	return C.berth_string_t{text: (*C.char)(unsafe.Pointer(start)), length: C.size_t(len(text))}
}

func lend[T any](l *lender, values []T) (*T, C.size_t) {
	start, length := slice(values)
	if start != nil {
		l.Pin(start)
	}
	return start, length
}

func (l *lender) labels(pairs map[string]string) (*C.berth_label_t, C.size_t) {
	labels := make([]C.berth_label_t, 0, len(pairs))
	for key, value := range pairs {
		labels = append(labels, C.berth_label_t{key: l.string(key), value: l.string(value)})
	}
	return lend(l, labels)
}

func (l *lender) amounts(resources Resources) (*C.berth_amount_t, C.size_t) {
	amounts := make([]C.berth_amount_t, 0, len(resources))
	for name, amount := range resources {
		given := C.berth_amount_t{resource: l.string(name), amount: C.int64_t(amount)}
		amounts = append(amounts, given)
	}
	return lend(l, amounts)
}

func (l *lender) strings(texts []string) (*C.berth_string_t, C.size_t) {
	given := make([]C.berth_string_t, 0, len(texts))
	for _, text := range texts {
		given = append(given, l.string(text))
	}
	return lend(l, given)
}

// UpsertNode takes in a node, or its change if a node of its name is there: then nothing of that one
// stays that the node does not say.
func (s *Scheduler) UpsertNode(node *Node) (NodeID, error) {
	var l lender
	defer l.Unpin()
	var given C.berth_node_t
	given.size = C.size_t(unsafe.Sizeof(given))
	given.name = l.string(node.Name)
	given.allocatable, given.allocatable_length = l.amounts(node.Allocatable)
	given.labels, given.labels_length = l.labels(node.Labels)
	taints := make([]C.berth_taint_t, 0, len(node.Taints))
	for _, taint := range node.Taints {
		taints = append(taints, C.berth_taint_t{
			key: l.string(taint.Key), value: l.string(taint.Value), effect: C.int32_t(taint.Effect),
		})
	}
	given.taints, given.taints_length = lend(&l, taints)
	images := make([]C.berth_image_t, 0, len(node.Images))
	for _, image := range node.Images {
		images = append(images, C.berth_image_t{name: l.string(image.Name), bytes: C.int64_t(image.Bytes)})
	}
	given.images, given.images_length = lend(&l, images)
	given.declared_features, given.declared_features_length = l.strings(node.DeclaredFeatures)
	given.unschedulable = flag(node.Unschedulable)
	id := C.uint32_t(C.BERTH_ID_NONE)
	err := s.done("UpsertNode", C.berth_node_upsert(s.handle, &given, &id))
	return NodeID(id), err
}

func flag(is bool) C.uint32_t {
	if is {
		return 1
	}
	return 0
}

// RemoveNode takes a node out; its pods stay, without a node.
func (s *Scheduler) RemoveNode(node NodeID) error {
	return s.done("RemoveNode", C.berth_node_remove(s.handle, C.uint32_t(node)))
}
