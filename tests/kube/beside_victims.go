package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// preempted wants upstream's victims on the node, and a node that is not worse than the best of as many
// candidates as upstream looks at. It begins at a random one; here at the first, where Berth begins.
func (j *judge) preempted(ctx context.Context, state fwk.CycleState, fit *framework.FitError,
	answer *scriptAnswer) (string, error) {
	nodes, err := j.snapshot.ListNodesInPlacement()
	if err != nil {
		return "", err
	}
	var potential, chosen []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		if fit.Diagnosis.NodeToStatus.Get(name).Code() == fwk.Unschedulable {
			potential = append(potential, node)
			if name == answer.Nominated {
				chosen = append(chosen, node)
			}
		}
	}
	own, err := j.candidate(ctx, state, fit.Pod, chosen)
	if err != nil || own == nil {
		return fmt.Sprintf("nominated to %s, which is no candidate", answer.Nominated), err
	}
	victims := []string{}
	for _, victim := range own.Pods {
		victims = append(victims, victim.Namespace+"/"+victim.Name)
	}
	if !slices.Equal(victims, answer.Victims) {
		return fmt.Sprintf("victims %v; they are %v", answer.Victims, victims), nil
	}
	best, err := j.candidate(ctx, state, fit.Pod, potential)
	if err != nil {
		return "", err
	}
	order := slices.Compare(cost(own), cost(best))
	if order > 0 || (order < 0 && j.exact) {
		return fmt.Sprintf("nominated to %s at %v; the best costs %v", answer.Nominated, cost(own), cost(best)), nil
	}
	return "", nil
}

// candidate is the best one of as many as upstream looks at, from the first one on.
func (j *judge) candidate(ctx context.Context, state fwk.CycleState, pod *v1.Pod,
	nodes []fwk.NodeInfo) (*extenderv1.Victims, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	_, wanted := j.preemption.GetOffsetAndNumCandidates(int32(len(nodes)))
	evaluator := j.preemption.Evaluator
	candidates, _, err := evaluator.DryRunPreemption(ctx, state, pod, nodes, nil, 0, wanted)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	best := slices.MinFunc(candidates, func(a, b preemption.Candidate) int {
		return slices.Compare(cost(a.Victims()), cost(b.Victims()))
	})
	return best.Victims(), nil
}

// cost is what upstream compares of a candidate (pickOneNodeForPreemption), the most important first.
func cost(victims *extenderv1.Victims) []int64 {
	var sum int64
	for _, pod := range victims.Pods {
		sum += int64(corev1helpers.PodPriority(pod)) + int64(math.MaxInt32+1)
	}
	start := int64(-math.MaxInt64)
	if earliest := util.GetEarliestPodStartTime(victims); earliest != nil {
		start = earliest.UnixNano()
	}
	return []int64{
		victims.NumPDBViolations, int64(corev1helpers.PodPriority(victims.Pods[0])), sum,
		int64(len(victims.Pods)), -start,
	}
}
