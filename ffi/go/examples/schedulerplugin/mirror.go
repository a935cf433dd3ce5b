package main

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"

	"berth"
)

// mirror brings Berth's cluster to what a snapshot and the informers have, change by change.
type mirror struct {
	scheduler *berth.Scheduler
	informers informers.SharedInformerFactory
	nodes     map[string]*mirrored
	pods      map[types.UID]placed
	// ids of nodes; of the last snapshot.
	ids map[string]berth.NodeID
	// Other objects, by kind and name; an informer never changes an object that it handed out.
	objects map[string]metav1.Object
}

// mirrored is a node as it was last seen.
type mirrored struct {
	generation int64
	node       *v1.Node
	pods       map[types.UID]*v1.Pod
}

// placed is a pod on a node.
type placed struct {
	pod  *v1.Pod
	node string
}

func newMirror(scheduler *berth.Scheduler, informers informers.SharedInformerFactory) mirror {
	return mirror{
		scheduler: scheduler,
		informers: informers,
		nodes:     map[string]*mirrored{},
		pods:      map[types.UID]placed{},
		ids:       map[string]berth.NodeID{},
		objects:   map[string]metav1.Object{},
	}
}

// follow takes in what has changed since the last snapshot.
func (m *mirror) follow(nodes []fwk.NodeInfo) error {
	if err := m.followObjects(); err != nil {
		return err
	}
	for _, info := range nodes {
		if err := m.followNode(info); err != nil {
			return err
		}
	}
	if len(m.nodes) == len(nodes) {
		return nil
	}
	there := make(map[string]bool, len(nodes))
	for _, info := range nodes {
		there[info.Node().Name] = true
	}
	for name, seen := range m.nodes {
		if there[name] {
			continue
		}
		if err := m.removePods(name, seen.pods, nil); err != nil {
			return err
		}
		if err := m.scheduler.RemoveNode(m.ids[name]); err != nil {
			return err
		}
		delete(m.nodes, name)
		delete(m.ids, name)
	}
	return nil
}

func (m *mirror) followNode(info fwk.NodeInfo) error {
	node := info.Node()
	seen := m.nodes[node.Name]
	if seen != nil && seen.generation == info.GetGeneration() {
		return nil
	}
	if seen == nil {
		seen = &mirrored{pods: map[types.UID]*v1.Pod{}}
	}
	if seen.node != node {
		id, err := m.apply(seen.node == nil, asCached(info), "v1", "Node")
		if err != nil {
			return err
		}
		m.ids[node.Name] = berth.NodeID(id)
	}
	pods := map[types.UID]*v1.Pod{}
	for _, info := range info.GetPods() {
		pod := info.GetPod()
		pods[pod.UID] = pod
	}
	// Their room is free before others take it.
	if err := m.removePods(node.Name, seen.pods, pods); err != nil {
		return err
	}
	for uid, pod := range pods {
		before, known := m.pods[uid]
		if known && before.pod == pod && before.node == node.Name {
			continue
		}
		if _, err := m.apply(!known, pod, "v1", "Pod"); err != nil {
			return err
		}
		m.pods[uid] = placed{pod, node.Name}
	}
	m.nodes[node.Name] = &mirrored{info.GetGeneration(), node, pods}
	return nil
}

// asCached is a node whose images have the sizes that the framework's cache knows: of nodes that differ
// on an image's size, the first that had it counts.
func asCached(info fwk.NodeInfo) *v1.Node {
	node := *info.Node()
	node.Status.Images = nil
	for _, image := range info.Node().Status.Images {
		for _, name := range image.Names {
			size := image.SizeBytes
			if state := info.GetImageStates()[name]; state != nil {
				size = state.Size
			}
			one := v1.ContainerImage{Names: []string{name}, SizeBytes: size}
			node.Status.Images = append(node.Status.Images, one)
		}
	}
	return &node
}

// removePods takes those pods out that were on a node and are not among those that stay, unless they
// have been seen on another one since.
func (m *mirror) removePods(node string, pods, stay map[types.UID]*v1.Pod) error {
	for uid, pod := range pods {
		if stay[uid] != nil || m.pods[uid].node != node {
			continue
		}
		id, err := m.scheduler.FindPod(pod.Namespace + "/" + pod.Name)
		if err != nil {
			return err
		}
		if err := m.scheduler.RemovePod(id); err != nil {
			return err
		}
		delete(m.pods, uid)
	}
	return nil
}

// followObjects takes in what spreading, affinity and volumes read beside nodes and pods.
func (m *mirror) followObjects() error {
	core, apps := m.informers.Core().V1(), m.informers.Apps().V1()
	storage := m.informers.Storage().V1()
	there := map[string]bool{}
	err := errors.Join(
		followKind(m, there, core.Namespaces().Lister().List, "v1", "Namespace"),
		followKind(m, there, core.Services().Lister().List, "v1", "Service"),
		followKind(m, there, core.ReplicationControllers().Lister().List, "v1", "ReplicationController"),
		followKind(m, there, apps.ReplicaSets().Lister().List, "apps/v1", "ReplicaSet"),
		followKind(m, there, apps.StatefulSets().Lister().List, "apps/v1", "StatefulSet"),
		followKind(m, there, core.PersistentVolumes().Lister().List, "v1", "PersistentVolume"),
		followKind(m, there, core.PersistentVolumeClaims().Lister().List, "v1", "PersistentVolumeClaim"),
		followKind(m, there, storage.StorageClasses().Lister().List, "storage.k8s.io/v1", "StorageClass"),
		followKind(m, there, storage.CSINodes().Lister().List, "storage.k8s.io/v1", "CSINode"),
		followKind(m, there, storage.CSIDrivers().Lister().List, "storage.k8s.io/v1", "CSIDriver"),
		followKind(m, there, storage.CSIStorageCapacities().Lister().List, "storage.k8s.io/v1",
			"CSIStorageCapacity"),
		followKind(m, there, storage.VolumeAttachments().Lister().List, "storage.k8s.io/v1",
			"VolumeAttachment"),
	)
	if err != nil {
		return err
	}
	for key, object := range m.objects {
		if there[key] {
			continue
		}
		var kind, version string
		if _, err := fmt.Sscan(key, &kind, &version); err != nil {
			return err
		}
		text, err := encode(object, version, kind)
		if err != nil {
			return err
		}
		if _, err := m.scheduler.ApplyJSON(berth.Deleted, text); err != nil {
			return err
		}
		delete(m.objects, key)
	}
	return nil
}

func followKind[T metav1.Object](m *mirror, there map[string]bool,
	list func(labels.Selector) ([]T, error), version, kind string) error {
	objects, err := list(labels.Everything())
	if err != nil {
		return err
	}
	for _, object := range objects {
		key := fmt.Sprintln(kind, version, object.GetNamespace(), object.GetName())
		there[key] = true
		before, known := m.objects[key]
		if known && before == metav1.Object(object) {
			continue
		}
		if _, err := m.apply(!known, object, version, kind); err != nil {
			return err
		}
		m.objects[key] = object
	}
	return nil
}

func (m *mirror) apply(isNew bool, object metav1.Object, version, kind string) (uint32, error) {
	change := berth.Modified
	if isNew {
		change = berth.Added
	}
	text, err := encode(object, version, kind)
	if err != nil {
		return 0, err
	}
	return m.scheduler.ApplyJSON(change, text)
}

// encode is an object as an API server writes it; clients leave out version and kind.
func encode(object metav1.Object, version, kind string) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q`, version, kind)
	if len(text) > 2 {
		head = append(head, ',')
	}
	return append(head, text[1:]...), nil
}
