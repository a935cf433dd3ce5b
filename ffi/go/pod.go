package berth

// #include "berth.h"
import "C"

import "unsafe"

// Operator is that of a requirement.
type Operator int32

const (
	// In: the label's value is among those that are listed.
	In Operator = C.BERTH_OPERATOR_IN
	// NotIn: the label is absent, or its value is not among those that are listed.
	NotIn Operator = C.BERTH_OPERATOR_NOT_IN
	// Exists: the label is there.
	Exists Operator = C.BERTH_OPERATOR_EXISTS
	// DoesNotExist: the label is absent.
	DoesNotExist Operator = C.BERTH_OPERATOR_DOES_NOT_EXIST
	// Gt: of node labels, the value is a greater number than the one that is listed.
	Gt Operator = C.BERTH_OPERATOR_GT
	// Lt: of node labels, the value is a smaller number than the one that is listed.
	Lt Operator = C.BERTH_OPERATOR_LT
)

// Protocol is that of a host port.
type Protocol int32

const (
	// TCP is the default.
	TCP Protocol = C.BERTH_PROTOCOL_TCP
	// UDP is UDP.
	UDP Protocol = C.BERTH_PROTOCOL_UDP
	// SCTP is SCTP.
	SCTP Protocol = C.BERTH_PROTOCOL_SCTP
)

// Requirement is an expression of a selector.
type Requirement struct {
	Key      string
	Operator Operator
	Values   []string
}

// Toleration is one of a pod.
type Toleration struct {
	// Key is the taint's; empty with Exists: every key.
	Key, Value string
	// Exists tolerates every value, and so has none.
	Exists bool
	Effect Effect
}

// NodeTerm is a term of node affinity: all its requirements must hold.
type NodeTerm struct {
	Requirements []Requirement
	// Weight 0: required, of which terms one must hold; 1 to 100: preferred.
	Weight int32
}

// PodTerm is a term of pod affinity or anti-affinity.
type PodTerm struct {
	// Labels and Requirements say which pods are meant; none: every pod.
	Labels       map[string]string
	Requirements []Requirement
	// Namespaces of these pods; none: the pod's own.
	Namespaces  []string
	TopologyKey string
	// Weight 0: required; 1 to 100: preferred.
	Weight int32
	// Anti: away from such pods.
	Anti bool
}

// Spread is a topology spread constraint.
type Spread struct {
	// Labels say which pods are counted.
	Labels      map[string]string
	TopologyKey string
	MaxSkew     int32
	// MinDomains 0: as many as there are.
	MinDomains int32
	// Soft: a node that would break it scores lower instead of being refused.
	Soft bool
}

// Port is a port of the host that a pod takes.
type Port struct {
	Port     int32
	Protocol Protocol
	HostIP   string
}

// Class is what decides the placement of pods, as far as it can be said without JSON. Its pods have one
// container.
type Class struct {
	// Namespace of the pods; empty: default.
	Namespace string
	// SchedulerName is the profile's; empty: default-scheduler.
	SchedulerName string
	Requests      Resources
	Labels        map[string]string
	NodeSelector  map[string]string
	NodeTerms     []NodeTerm
	Tolerations   []Toleration
	PodTerms      []PodTerm
	Spread        []Spread
	Ports         []Port
	Image         string
}

// Pod is a pod of a class.
type Pod struct {
	// Class is one of CreateClass.
	Class ClassID
	// Name is in the namespace of the class.
	Name     string
	UID      string
	Priority int32
	// NodeName is that of the node that it is on; empty: it waits for one, or keeps the one that it is
	// assumed on.
	NodeName string
	// NeverPreempts: nobody is evicted for it.
	NeverPreempts bool
}

func (l *lender) requirements(list []Requirement) (*C.berth_requirement_t, C.size_t) {
	given := make([]C.berth_requirement_t, 0, len(list))
	for _, own := range list {
		requirement := C.berth_requirement_t{key: l.string(own.Key), op: C.int32_t(own.Operator)}
		requirement.values, requirement.values_length = l.strings(own.Values)
		given = append(given, requirement)
	}
	return lend(l, given)
}

func (l *lender) class(class *Class) *C.berth_class_t {
	given := new(C.berth_class_t)
	given.size = C.size_t(unsafe.Sizeof(*given))
	given.namespace_name = l.string(class.Namespace)
	given.scheduler_name = l.string(class.SchedulerName)
	given.image = l.string(class.Image)
	given.requests, given.requests_length = l.amounts(class.Requests)
	given.labels, given.labels_length = l.labels(class.Labels)
	given.node_selector, given.node_selector_length = l.labels(class.NodeSelector)
	nodeTerms := make([]C.berth_node_term_t, 0, len(class.NodeTerms))
	for _, own := range class.NodeTerms {
		term := C.berth_node_term_t{weight: C.int32_t(own.Weight)}
		term.requirements, term.requirements_length = l.requirements(own.Requirements)
		nodeTerms = append(nodeTerms, term)
	}
	given.node_terms, given.node_terms_length = lend(l, nodeTerms)
	tolerations := make([]C.berth_toleration_t, 0, len(class.Tolerations))
	for _, own := range class.Tolerations {
		op := C.int32_t(C.BERTH_TOLERATION_EQUAL)
		if own.Exists {
			op = C.BERTH_TOLERATION_EXISTS
		}
		tolerations = append(tolerations, C.berth_toleration_t{
			key: l.string(own.Key), value: l.string(own.Value), op: op, effect: C.int32_t(own.Effect),
		})
	}
	given.tolerations, given.tolerations_length = lend(l, tolerations)
	podTerms := make([]C.berth_pod_term_t, 0, len(class.PodTerms))
	for _, own := range class.PodTerms {
		term := C.berth_pod_term_t{
			topology_key: l.string(own.TopologyKey), weight: C.int32_t(own.Weight), is_anti: flag(own.Anti),
		}
		term.labels, term.labels_length = l.labels(own.Labels)
		term.requirements, term.requirements_length = l.requirements(own.Requirements)
		term.namespaces, term.namespaces_length = l.strings(own.Namespaces)
		podTerms = append(podTerms, term)
	}
	given.pod_terms, given.pod_terms_length = lend(l, podTerms)
	spread := make([]C.berth_spread_t, 0, len(class.Spread))
	for _, own := range class.Spread {
		when := C.int32_t(C.BERTH_SPREAD_DO_NOT_SCHEDULE)
		if own.Soft {
			when = C.BERTH_SPREAD_SCHEDULE_ANYWAY
		}
		constraint := C.berth_spread_t{
			topology_key: l.string(own.TopologyKey), max_skew: C.int32_t(own.MaxSkew),
			min_domains: C.int32_t(own.MinDomains), when_unsatisfiable: when,
		}
		constraint.labels, constraint.labels_length = l.labels(own.Labels)
		spread = append(spread, constraint)
	}
	given.spread, given.spread_length = lend(l, spread)
	ports := make([]C.berth_port_t, 0, len(class.Ports))
	for _, own := range class.Ports {
		ports = append(ports, C.berth_port_t{
			port: C.int32_t(own.Port), protocol: C.int32_t(own.Protocol), host_ip: l.string(own.HostIP),
		})
	}
	given.ports, given.ports_length = lend(l, ports)
	return given
}

// CreateClass compiles a spec for UpsertPod. Equal specs have one id, also those of pods that came as
// JSON. It is held until ReleaseClass was called as often.
func (s *Scheduler) CreateClass(class *Class) (ClassID, error) {
	var l lender
	defer l.Unpin()
	id := C.uint32_t(C.BERTH_ID_NONE)
	err := s.done("CreateClass", C.berth_class_create(s.handle, l.class(class), &id))
	return ClassID(id), err
}

// ReleaseClass gives back a class of CreateClass; pods of it stay.
func (s *Scheduler) ReleaseClass(class ClassID) error {
	return s.done("ReleaseClass", C.berth_class_release(s.handle, C.uint32_t(class)))
}

// UpsertPod takes in a pod, or its change if a pod of its name is there.
func (s *Scheduler) UpsertPod(pod *Pod) (PodID, error) {
	var l lender
	defer l.Unpin()
	var given C.berth_pod_t
	given.size = C.size_t(unsafe.Sizeof(given))
	given.class_id = C.uint32_t(pod.Class)
	given.priority = C.int32_t(pod.Priority)
	given.name = l.string(pod.Name)
	given.uid = l.string(pod.UID)
	given.node_name = l.string(pod.NodeName)
	given.never_preempts = flag(pod.NeverPreempts)
	id := C.uint32_t(C.BERTH_ID_NONE)
	err := s.done("UpsertPod", C.berth_pod_upsert(s.handle, &given, &id))
	return PodID(id), err
}

// RemovePod takes a pod out, and frees its room.
func (s *Scheduler) RemovePod(pod PodID) error {
	return s.done("RemovePod", C.berth_pod_remove(s.handle, C.uint32_t(pod)))
}

// ForgetPod takes back a pod's place: it waits again.
func (s *Scheduler) ForgetPod(pod PodID) error {
	return s.done("ForgetPod", C.berth_pod_forget(s.handle, C.uint32_t(pod)))
}

// PodNode is the node that a pod is on or assumed on, or NoNode.
func (s *Scheduler) PodNode(pod PodID) (NodeID, error) {
	node := C.uint32_t(C.BERTH_ID_NONE)
	err := s.done("PodNode", C.berth_pod_node(s.handle, C.uint32_t(pod), &node))
	return NodeID(node), err
}

// PodClass is the class of a pod.
func (s *Scheduler) PodClass(pod PodID) (ClassID, error) {
	class := C.uint32_t(C.BERTH_ID_NONE)
	err := s.done("PodClass", C.berth_pod_class(s.handle, C.uint32_t(pod), &class))
	return ClassID(class), err
}
