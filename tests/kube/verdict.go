package main

import (
	"context"
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// verdict is all that the scheduler says of a pod.
type verdict struct {
	Pod          string              `json:"pod"`
	Chosen       string              `json:"chosen,omitempty"`
	Ties         []string            `json:"ties,omitempty"`
	Feasible     int                 `json:"feasible"`
	Scores       []nodeScore         `json:"scores,omitempty"`
	Rejected     map[string][]string `json:"rejected,omitempty"`
	Unresolvable []string            `json:"unresolvable,omitempty"`
	Message      string              `json:"message,omitempty"`
	Error        string              `json:"error,omitempty"`
	Volumes      []boundClaim        `json:"volumes,omitempty"`
	Gated        bool                `json:"gated,omitempty"`
}

type nodeScore struct {
	Node    string           `json:"node"`
	Total   int64            `json:"total"`
	Plugins map[string]int64 `json:"plugins"`
}

// decide places the scenario's pods one after another.
func decide(s *scenario) ([]*verdict, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := newCluster(ctx, s)
	if err != nil {
		return nil, err
	}
	defer c.Profiles.Close()
	verdicts := []*verdict{}
	for _, pod := range s.Input.PodsInOrder {
		told, err := c.decideOne(ctx, pod)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, told)
	}
	return verdicts, nil
}

// decideOne puts a pod through one cycle; on its node it stays, otherwise it is gone.
func (c *cluster) decideOne(ctx context.Context, pod *v1.Pod) (*verdict, error) {
	told := &verdict{Pod: pod.Namespace + "/" + pod.Name}
	profile := c.Profiles[pod.Spec.SchedulerName]
	if profile == nil {
		told.Error = fmt.Sprintf("profile not found for scheduler name %q", pod.Spec.SchedulerName)
		return told, nil
	}
	for _, plugin := range profile.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, pod); !status.IsSuccess() {
			told.Gated = true
			return told, nil
		}
	}
	if err := c.Cache.UpdateSnapshot(c.logger, c.snapshot); err != nil {
		return nil, err
	}
	// The cycle is given a pod of its own, as the bound pod comes from the API server anew: adding
	// up requests changes quantities that are kept as big decimals.
	if err := c.cycle(ctx, profile, pod.DeepCopy(), told); err != nil {
		told.Error = err.Error()
		return told, nil
	}
	if told.Chosen == "" {
		return told, nil
	}
	placed := pod.DeepCopy()
	placed.Spec.NodeName = told.Chosen
	return told, c.Cache.AddPod(c.logger, placed)
}

// cycle follows schedulePod of pkg/scheduler/schedule_one.go, without sampling, and with the first
// name among the nodes of the best total.
func (c *cluster) cycle(ctx context.Context, profile framework.Framework, pod *v1.Pod, told *verdict) error {
	nodes, err := c.snapshot.ListNodesInPlacement()
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return scheduler.ErrNoNodesAvailable
	}
	state := framework.NewCycleState()
	feasible, diagnosis, err := filter(ctx, profile, state, pod, nodes)
	if err != nil {
		return err
	}
	told.Feasible = len(feasible)
	told.refuse(nodes, feasible, diagnosis)
	switch len(feasible) {
	case 0:
		failed := framework.FitError{Pod: pod, NumAllNodes: len(nodes), Diagnosis: *diagnosis}
		told.Message = failed.Error()
		return nil
	case 1:
		told.Chosen = feasible[0].Node().Name
	default:
		if err := told.score(ctx, profile, state, pod, feasible); err != nil {
			return err
		}
	}
	if status := profile.RunReservePluginsReserve(ctx, state, pod, told.Chosen); !status.IsSuccess() {
		return fmt.Errorf("Reserve: %w", status.AsError())
	}
	told.Volumes, err = c.volumes.bind(ctx, profile, state, pod, told.Chosen)
	return err
}

// filter runs PreFilter, and Filter on every node that it leaves.
func filter(ctx context.Context, profile framework.Framework, state fwk.CycleState, pod *v1.Pod,
	nodes []fwk.NodeInfo) ([]fwk.NodeInfo, *framework.Diagnosis, error) {
	diagnosis := &framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	narrowed, status, by := profile.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return nil, nil, fmt.Errorf("PreFilter: %w", status.AsError())
		}
		diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		diagnosis.PreFilterMsg = status.Message()
		return nil, diagnosis, nil
	}
	if !narrowed.AllNodes() {
		text := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(by))
		diagnosis.NodeToStatus.SetAbsentNodesStatus(
			fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text))
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
			continue
		}
		status := profile.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		switch {
		case status.Code() == fwk.Error:
			return nil, nil, fmt.Errorf("Filter: %w", status.AsError())
		case status.IsSuccess():
			feasible = append(feasible, node)
		default:
			diagnosis.NodeToStatus.Set(name, status)
		}
	}
	return feasible, diagnosis, nil
}

// refuse tells why each other node is not feasible. Of a pod that PreFilter refused outright no
// node is told; the message says it all.
func (told *verdict) refuse(nodes, feasible []fwk.NodeInfo, diagnosis *framework.Diagnosis) {
	if diagnosis.PreFilterMsg != "" {
		return
	}
	fits := sets.New[string]()
	for _, node := range feasible {
		fits.Insert(node.Node().Name)
	}
	told.Rejected = map[string][]string{}
	for _, node := range nodes {
		name := node.Node().Name
		if fits.Has(name) {
			continue
		}
		status := diagnosis.NodeToStatus.Get(name)
		plugin := status.Plugin()
		if plugin == "" {
			plugin = "PreFilter"
		}
		told.Rejected[name] = append([]string{plugin}, sorted(plugin, status.Reasons())...)
		if status.Code() == fwk.UnschedulableAndUnresolvable {
			told.Unresolvable = append(told.Unresolvable, name)
		}
	}
	sort.Strings(told.Unresolvable)
}

// sorted brings NodeResourcesFit's reasons for resources without a fixed place, which it lists in
// the order of a Go map, into the order of their names.
func sorted(plugin string, reasons []string) []string {
	if plugin != "NodeResourcesFit" {
		return reasons
	}
	first := []string{
		"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage",
	}
	place := func(reason string) int {
		for at, own := range first {
			if reason == own {
				return at
			}
		}
		return len(first)
	}
	reasons = append([]string{}, reasons...)
	sort.Slice(reasons, func(i, j int) bool {
		if place(reasons[i]) != place(reasons[j]) {
			return place(reasons[i]) < place(reasons[j])
		}
		return reasons[i] < reasons[j]
	})
	return reasons
}

// score follows prioritizeNodes.
func (told *verdict) score(ctx context.Context, profile framework.Framework, state fwk.CycleState,
	pod *v1.Pod, nodes []fwk.NodeInfo) error {
	var scores []fwk.NodePluginScores
	if profile.HasScorePlugins() {
		if status := profile.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
			return fmt.Errorf("PreScore: %w", status.AsError())
		}
		var status *fwk.Status
		if scores, status = profile.RunScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
			return fmt.Errorf("Score: %w", status.AsError())
		}
	} else {
		for _, node := range nodes {
			scores = append(scores, fwk.NodePluginScores{Name: node.Node().Name, TotalScore: 1})
		}
	}
	sort.Slice(scores, func(i, j int) bool { return scores[i].Name < scores[j].Name })
	best := scores[0].TotalScore
	for _, score := range scores {
		best = max(best, score.TotalScore)
	}
	for _, score := range scores {
		plugins := map[string]int64{}
		for _, own := range score.Scores {
			plugins[own.Name] = own.Score
		}
		told.Scores = append(told.Scores, nodeScore{score.Name, score.TotalScore, plugins})
		if score.TotalScore == best {
			told.Ties = append(told.Ties, score.Name)
		}
	}
	told.Chosen = told.Ties[0]
	return nil
}
