package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
)

// course is upstream's scheduler on its way through a script.
type course struct {
	*cluster
	confirm bool
	// Waiting pods hear of nothing.
	deaf bool
	// Pods that are there, with their nodes.
	pods map[string]*v1.Pod
	// Pods in the active queue, of those that no event brought back.
	ready      int
	preemption *defaultpreemption.DefaultPreemption
	// Victims that the scheduler has deleted since they were last looked at.
	mu      sync.Mutex
	victims []string
}

func newCourse(ctx context.Context, cfg *config.KubeSchedulerConfiguration, head *scriptHead,
	options ...scheduler.Option) (*course, error) {
	cluster, err := newScheduler(ctx, cfg, options...)
	if err != nil {
		return nil, err
	}
	c := &course{cluster: cluster, confirm: head.Confirm, pods: map[string]*v1.Pod{}}
	for _, plugin := range c.Profiles[v1.DefaultSchedulerName].PreEnqueuePlugins() {
		if own, is := plugin.(*defaultpreemption.DefaultPreemption); is {
			c.preemption = own
		}
	}
	// An API server that agrees with everything.
	c.client.PrependReactor("*", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if gone, is := action.(clienttesting.DeleteAction); is {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.victims = append(c.victims, gone.GetNamespace()+"/"+gone.GetName())
		}
		return true, &v1.Pod{}, nil
	})
	if c.APIDispatcher != nil {
		c.APIDispatcher.Run(c.logger)
	}
	return c, nil
}

// follow runs the script, and stops early when enough attempts counted.
func (c *course) follow(ctx context.Context, lines []scriptLine, limit int, long time.Duration) (*figures, error) {
	m := &meter{}
	for _, line := range lines {
		switch {
		case line.Measure:
			m.begin()
		case line.Turns > 0:
			m.enter(attempting)
			for range line.Turns {
				if len(m.times) >= limit || m.stages[attempting].wall > long {
					return m.end(), nil
				}
				if err := c.timedTurn(ctx, m); err != nil {
					return nil, err
				}
			}
		default:
			at := changing
			if c.queues(&line) {
				at = queueing
			}
			m.enter(at)
			took, err := c.apply(ctx, &line)
			if err != nil {
				return nil, err
			}
			m.took(at, 1, took)
		}
	}
	return m.end(), nil
}

func (c *course) timedTurn(ctx context.Context, m *meter) error {
	if c.ready <= 0 && len(c.SchedulingQueue.PodsInActiveQ())+len(c.SchedulingQueue.PodsInBackoffQ()) == 0 {
		return nil
	}
	c.ready--
	begin := time.Now()
	told, err := c.turn(ctx)
	took := time.Since(begin)
	if err != nil {
		return err
	}
	m.took(attempting, 1, took)
	if m.counts {
		m.times = append(m.times, took)
		if told.node != "" {
			m.placed++
		}
	}
	if told.nominated != "" {
		took, err := c.evict(ctx, told.pod, told.nominated)
		if err != nil {
			return err
		}
		m.took(changing, 0, took)
	}
	if told.node != "" {
		key := told.pod.Namespace + "/" + told.pod.Name
		c.pods[key] = told.pod
	}
	return nil
}

// attempt is what one came to.
type attempt struct {
	// The pod, with its node if it got one.
	pod             *v1.Pod
	node, nominated string
	message         string
}

// turn is one attempt: pop, snapshot, the cycle, and assume; or the search for victims, the message, and
// back to the queue. It follows scheduleOnePod up to the calls of the API.
func (c *course) turn(ctx context.Context) (*attempt, error) {
	entity, err := c.NextEntity(c.logger)
	if err != nil {
		return nil, err
	}
	info, is := entity.(*framework.QueuedPodInfo)
	if !is {
		return nil, fmt.Errorf("the queue brings a %T", entity)
	}
	profile := c.Profiles[info.Pod.Spec.SchedulerName]
	state := framework.NewCycleState()
	// As often as upstream does.
	state.SetRecordPluginMetrics(rand.Intn(100) < 10)
	if err := c.Cache.UpdateSnapshot(c.logger, c.snapshot); err != nil {
		return nil, err
	}
	result, err := c.SchedulePod(ctx, profile, state, info)
	if err != nil {
		return c.fail(ctx, profile, state, info, err)
	}
	assumed := info.DeepCopy().Pod
	assumed.Spec.NodeName = result.SuggestedHost
	if err := c.Cache.AssumePod(c.logger, assumed); err != nil {
		return nil, err
	}
	c.SchedulingQueue.DeleteNominatedPodIfExists(assumed)
	c.SchedulingQueue.Done(assumed.UID)
	if c.confirm {
		if err := c.Cache.AddPod(c.logger, assumed); err != nil {
			return nil, err
		}
		c.tell(framework.EventAssignedPodAdd, nil, assumed)
	}
	return &attempt{pod: assumed, node: result.SuggestedHost}, nil
}

// fail follows schedulingAlgorithm and handleSchedulingFailure.
func (c *course) fail(ctx context.Context, profile framework.Framework, state fwk.CycleState,
	info *framework.QueuedPodInfo, err error) (*attempt, error) {
	var fit *framework.FitError
	if !errors.As(err, &fit) {
		return nil, err
	}
	told := &attempt{pod: info.Pod}
	result, status := profile.RunPostFilterPlugins(ctx, state, info.Pod, fit.Diagnosis.NodeToStatus)
	if status.Code() == fwk.Error {
		return nil, status.AsError()
	}
	fit.Diagnosis.PostFilterMsg = status.Message()
	told.message = fit.Error()
	info.ClearRejectorPlugins()
	info.UnschedulablePlugins = fit.Diagnosis.UnschedulablePlugins
	info.PendingPlugins = fit.Diagnosis.PendingPlugins
	err = c.SchedulingQueue.AddUnschedulablePodIfNotPresent(c.logger, info, c.SchedulingQueue.SchedulingCycle())
	if result != nil {
		told.nominated = result.NominatedNodeName
		c.SchedulingQueue.AddNominatedPod(c.logger, info.PodInfo, result.NominatingInfo)
	}
	return told, err
}

// evict waits until the scheduler has deleted its victims, which it does in the background, and puts the
// pod in their place, as its next attempt would: the first attempts are what counts, and a backoff by the
// clock lies between. Returns how long that took without the wait.
func (c *course) evict(ctx context.Context, preemptor *v1.Pod, node string) (time.Duration, error) {
	for c.preemption != nil && !c.preemption.PreEnqueue(ctx, preemptor).IsSuccess() {
		time.Sleep(10 * time.Microsecond)
	}
	c.mu.Lock()
	victims := c.victims
	c.victims = nil
	c.mu.Unlock()
	c.deaf = true
	defer func() { c.deaf = false }()
	begin := time.Now()
	if err := c.replace(victims, preemptor, node); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}

// replace takes pods out and binds another one that waits.
func (c *course) replace(victims []string, pod *v1.Pod, node string) error {
	for _, victim := range victims {
		if err := c.remove(victim); err != nil {
			return err
		}
	}
	c.SchedulingQueue.Delete(c.logger, pod)
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	c.pods[pod.Namespace+"/"+pod.Name] = bound
	return c.Cache.AddPod(c.logger, bound)
}

// remove takes a pod out, on a node or not.
func (c *course) remove(key string) error {
	pod, there := c.pods[key]
	if !there {
		return fmt.Errorf("pod %s is not there", key)
	}
	delete(c.pods, key)
	if err := c.indexer("Pod").Delete(pod); err != nil {
		return err
	}
	if pod.Spec.NodeName == "" {
		c.SchedulingQueue.Delete(c.logger, pod)
		return nil
	}
	err := c.Cache.RemovePod(c.logger, pod)
	c.tell(framework.EventAssignedPodDelete, pod, nil)
	return err
}

// tell lets the waiting pods hear of an event.
func (c *course) tell(event fwk.ClusterEvent, old, new any) {
	if !c.deaf {
		c.SchedulingQueue.MoveAllToActiveOrBackoffQueue(c.logger, event, old, new, nil)
	}
}
