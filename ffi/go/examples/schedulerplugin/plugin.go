// Command schedulerplugin is kube-scheduler 1.37.2 with one plugin more: Berth judges a pod on the whole
// cluster once, in PreFilter, and Filter and Score of all nodes are answered from the arrays.
//
// A profile runs it in the place of the plugins whose rules it has:
//
//	profiles:
//	- schedulerName: default-scheduler
//	  plugins:
//	    multiPoint:
//	      enabled: [{name: Berth}]
//	      disabled: [{name: "*"}]
//	    queueSort: {enabled: [{name: PrioritySort}]}
//	    preEnqueue: {enabled: [{name: SchedulingGates}]}
//	    bind: {enabled: [{name: DefaultBinder}]}
//
// Its args may have a KubeSchedulerConfiguration for Berth's own plugins, under config.
//
// Berth judges volumes too, and writes nothing. Where pods have claims that are bound when they are placed,
// VolumeBinding is to be enabled after Berth at preFilter and filter, and at reserve and preBind.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"berth"
)

// Name of the plugin in configurations.
const Name = "Berth"

// Args of the plugin.
type Args struct {
	Config json.RawMessage `json:"config,omitempty"`
}

// Plugin keeps a Berth scheduler in step with the snapshots that it is given.
type Plugin struct {
	scheduler *berth.Scheduler
	mirror    mirror
}

var (
	_ fwk.PreFilterPlugin = &Plugin{}
	_ fwk.FilterPlugin    = &Plugin{}
	_ fwk.ScorePlugin     = &Plugin{}
)

// New makes the plugin, for app.WithPlugin or a framework's registry.
func New(_ context.Context, object runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	var args Args
	if err := frameworkruntime.DecodeInto(object, &args); err != nil {
		return nil, err
	}
	config := string(args.Config)
	if config == "null" {
		config = ""
	}
	scheduler, err := berth.New(berth.Options{
		Config: config, Nodes: 1 << 13, Pods: 1 << 18, NodeSearch: berth.NodeSearchAll,
	})
	if err != nil {
		return nil, err
	}
	return &Plugin{scheduler, newMirror(scheduler, handle.SharedInformerFactory())}, nil
}

// Name is the plugin's.
func (p *Plugin) Name() string { return Name }

// Close is called by the framework when it ends.
func (p *Plugin) Close() error { return p.scheduler.Close() }

const stateKey fwk.StateKey = Name

// cycle is what PreFilter found: it is read by Filter and Score of all nodes at a time.
type cycle struct {
	evaluation berth.Evaluation
	// Of pods that fit nowhere, or could not be judged; else nobody reads its reasons.
	record *berth.Record
	ids    map[string]berth.NodeID
}

// Clone is the same: nothing in it changes any more.
func (c *cycle) Clone() fwk.StateData { return c }

// PreFilter evaluates the cluster.
func (p *Plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod,
	nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if err := p.mirror.follow(nodes); err != nil {
		return nil, fwk.AsStatus(err)
	}
	found, err := p.evaluate(pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	switch found.evaluation.Outcome {
	case berth.Scheduled, berth.Unschedulable:
	case berth.Unsupported:
		text := fmt.Sprintf("%s is not supported by %s", found.record.Field, Name)
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text)
	default:
		return nil, fwk.AsStatus(fmt.Errorf("%s: %s", found.evaluation.Outcome, found.record.Error))
	}
	if record := found.record; record != nil && record.Message != "" && len(record.Rejected) == 0 {
		// The pod's own terms leave no node: no node was asked.
		_, reason, _ := strings.Cut(record.Message, ": ")
		reason = strings.TrimSuffix(reason, ".")
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
	}
	state.Write(stateKey, found)
	return nil, nil
}

// evaluate asks about a pod that is in Berth's cluster only for so long.
func (p *Plugin) evaluate(pod *v1.Pod) (*cycle, error) {
	pending := pod.DeepCopy()
	pending.Spec.NodeName = ""
	text, err := encode(pending, "v1", "Pod")
	if err != nil {
		return nil, err
	}
	id, err := p.scheduler.ApplyJSON(berth.Added, text)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.scheduler.RemovePod(berth.PodID(id)) }()
	found := &cycle{ids: p.mirror.ids}
	if err := p.scheduler.Evaluate(berth.PodID(id), &found.evaluation); err != nil {
		return nil, err
	}
	if found.evaluation.Outcome != berth.Scheduled {
		found.record, err = p.scheduler.Explain(berth.PodID(id))
	}
	return found, err
}

// PreFilterExtensions are none: the evaluation is of the cluster as it is.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func read(state fwk.CycleState) (*cycle, error) {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil, err
	}
	return data.(*cycle), nil
}

// Filter answers from the bits, with the reasons of the record where no node fits.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	found, err := read(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	name := node.Node().Name
	id, known := found.ids[name]
	switch {
	case !known:
		return fwk.AsStatus(fmt.Errorf("node %s is not in the snapshot", name))
	case found.evaluation.Feasible.Has(id):
		return nil
	}
	if found.record != nil {
		// The first is the plugin of Berth that refused it.
		if refusal := found.record.Rejected[name]; len(refusal) > 1 {
			return fwk.NewStatus(fwk.Unschedulable, refusal[1:]...)
		}
	}
	return fwk.NewStatus(fwk.Unschedulable, "node(s) were refused by "+Name)
}

// Score answers from the array: the sum over Berth's plugins.
func (p *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod,
	node fwk.NodeInfo) (int64, *fwk.Status) {
	found, err := read(state)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	return found.evaluation.Scores[found.ids[node.Node().Name]], nil
}

// ScoreExtensions bring the sums into the framework's range.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return ranks{} }

type ranks struct{}

// NormalizeScore gives the best sum 100, the next one 99 and so on: which nodes tie for the best does
// not change, as it could if sums were scaled.
func (ranks) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod,
	scores fwk.NodeScoreList) *fwk.Status {
	sums := make([]int64, len(scores))
	for i, score := range scores {
		sums[i] = score.Score
	}
	slices.Sort(sums)
	sums = slices.Compact(sums)
	for i, score := range scores {
		place, _ := slices.BinarySearch(sums, score.Score)
		scores[i].Score = max(fwk.MaxNodeScore-int64(len(sums)-1-place), 0)
	}
	return nil
}
