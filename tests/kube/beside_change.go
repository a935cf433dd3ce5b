package main

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// apply does what upstream's event handlers do (eventhandlers.go), and says how long that took without
// the informer's own work.
func (c *course) apply(ctx context.Context, line *scriptLine) (time.Duration, error) {
	indexer := c.indexer(line.Kind)
	var err error
	var act func()
	switch object := line.object.(type) {
	case *v1.Pod:
		key := object.Namespace + "/" + object.Name
		if line.Apply == "Deleted" {
			begin := time.Now()
			err := c.remove(key)
			return time.Since(begin), err
		}
		c.pods[key] = object
		if c.queues(line) && len(object.Spec.SchedulingGates) == 0 {
			c.ready++
		}
		act = func() { err = c.addPod(ctx, object) }
	case *v1.Node:
		old, _, _ := indexer.GetByKey(object.Name)
		act = func() { err = c.changeNode(line.Apply, old, object) }
	default:
		act = func() {}
	}
	var stored error
	switch line.Apply {
	case "Added":
		stored = indexer.Add(line.object)
	case "Modified":
		stored = indexer.Update(line.object)
	default:
		stored = indexer.Delete(line.object)
	}
	if stored != nil {
		return 0, stored
	}
	begin := time.Now()
	act()
	return time.Since(begin), err
}

// queues: the line brings a pod to the queue.
func (c *course) queues(line *scriptLine) bool {
	pod, is := line.object.(*v1.Pod)
	return is && line.Apply == "Added" && pod.Spec.NodeName == ""
}

func (c *course) addPod(ctx context.Context, pod *v1.Pod) error {
	if pod.Spec.NodeName == "" {
		c.SchedulingQueue.Add(ctx, pod)
		return nil
	}
	if err := c.Cache.AddPod(c.logger, pod); err != nil {
		return err
	}
	c.tell(framework.EventAssignedPodAdd, nil, pod)
	return nil
}

func (c *course) changeNode(change string, old any, node *v1.Node) error {
	event := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	switch change {
	case "Added":
		c.Cache.AddNode(c.logger, node)
		c.tell(event, nil, node)
	case "Modified":
		before := old.(*v1.Node)
		c.Cache.UpdateNode(c.logger, before, node)
		for _, event := range framework.NodeSchedulingPropertiesChange(node, before) {
			c.tell(event, before, node)
		}
	default:
		event.ActionType = fwk.Delete
		c.tell(event, node, nil)
		return c.Cache.RemoveNode(c.logger, node)
	}
	return nil
}
