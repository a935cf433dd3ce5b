package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// scriptAnswer is what another scheduler says of an attempt.
type scriptAnswer struct {
	Pod       string   `json:"pod"`
	Node      string   `json:"node"`
	Evaluated int      `json:"evaluated"`
	Message   string   `json:"message"`
	Nominated string   `json:"nominated"`
	Victims   []string `json:"victims"`
}

// judgement is what upstream says of the answers.
type judgement struct {
	Attempts int `json:"attempts"`
	Judged   int `json:"judged"`
	// Every so many attempts one was judged.
	Every       int      `json:"every"`
	Differ      int      `json:"differ"`
	Differences []string `json:"differences"`
}

// Differences that are told; the others are counted.
const differencesShown = 5

// Attempts that are judged one after the other to see how long that takes.
const judgedFirst = 20

// Attempts that are judged where scores are used for further pods: all, as each rests on the last one,
// and only as many as upstream decides before it forgets them by the clock.
const judgedBatched = 1000

// judge follows a script with another scheduler's placements.
type judge struct {
	*course
	exact, batched bool
	// Where upstream's next search begins.
	start int
	judgement
}

// check replays the answers and judges as many as the time allows.
func check(ctx context.Context, cfg *config.KubeSchedulerConfiguration, head *scriptHead, lines []scriptLine,
	own *besideFlags) error {
	answers, total, err := readAnswers(own.answers)
	if err != nil {
		return err
	}
	c, err := newCourse(ctx, cfg, head, scheduler.WithParallelism(1))
	if err != nil {
		return err
	}
	c.deaf = true
	j := &judge{course: c, exact: own.exact, judgement: judgement{Attempts: total, Every: 1, Differences: []string{}}}
	j.batched = own.exact && head.Config["profiles"] != nil
	var spent time.Duration
	at := 0
	for _, line := range lines {
		if line.Measure {
			continue
		}
		if line.Turns == 0 {
			if err := j.change(ctx, &line); err != nil {
				return err
			}
			continue
		}
		// The other scheduler may have stopped before the script's end.
		if len(answers) == 0 {
			break
		}
		for _, answer := range answers[0] {
			if j.batched && at >= judgedBatched {
				return json.NewEncoder(os.Stdout).Encode(j.judgement)
			}
			if at < judgedFirst || at%j.Every == 0 {
				begin := time.Now()
				if err := j.judge(ctx, &answer); err != nil {
					return fmt.Errorf("%s: %w", answer.Pod, err)
				}
				spent += time.Since(begin)
			}
			at++
			if at == judgedFirst && !j.batched {
				each := spent.Seconds() / judgedFirst
				j.Every = max(1, int(each*float64(total)/own.seconds)+1)
			}
			if err := j.accept(&answer); err != nil {
				return err
			}
		}
		answers = answers[1:]
	}
	return json.NewEncoder(os.Stdout).Encode(j.judgement)
}

func readAnswers(path string) ([][]scriptAnswer, int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	texts := bufio.NewScanner(file)
	texts.Buffer(nil, 1<<30)
	var answers [][]scriptAnswer
	total := 0
	for texts.Scan() {
		var line []scriptAnswer
		if err := json.Unmarshal(texts.Bytes(), &line); err != nil {
			return nil, 0, err
		}
		answers = append(answers, line)
		total += len(line)
	}
	return answers, total, texts.Err()
}

// change applies a line; a pending pod comes to the queue only when it is judged.
func (j *judge) change(ctx context.Context, line *scriptLine) error {
	if !j.queues(line) {
		_, err := j.apply(ctx, line)
		return err
	}
	pod := line.object.(*v1.Pod)
	j.pods[pod.Namespace+"/"+pod.Name] = pod
	return j.indexer("Pod").Add(pod)
}

// accept lets the pod be where the answer says.
func (j *judge) accept(answer *scriptAnswer) error {
	pod := j.pods[answer.Pod]
	if pod == nil {
		return fmt.Errorf("pod %s is not there", answer.Pod)
	}
	if nodes := j.Cache.NodeCount(); nodes > 0 {
		j.start = (j.start + answer.Evaluated) % nodes
	}
	switch {
	case answer.Node != "":
		return j.replace(nil, pod, answer.Node)
	case answer.Nominated != "":
		return j.replace(answer.Victims, pod, answer.Nominated)
	}
	return nil
}

// judge asks upstream about an answer, on the cluster as it is before.
func (j *judge) judge(ctx context.Context, answer *scriptAnswer) error {
	pod := j.pods[answer.Pod]
	if pod == nil {
		return fmt.Errorf("pod is not there")
	}
	if err := j.Cache.UpdateSnapshot(j.logger, j.snapshot); err != nil {
		return err
	}
	ask := j.best
	if j.exact {
		ask = j.own
	}
	difference, err := ask(ctx, pod.DeepCopy(), answer)
	if err != nil {
		return err
	}
	j.Judged++
	if difference != "" {
		j.Differ++
		if len(j.Differences) < differencesShown {
			j.Differences = append(j.Differences, answer.Pod+": "+difference)
		}
	}
	return nil
}

// best wants a feasible node of the best total.
func (j *judge) best(ctx context.Context, pod *v1.Pod, answer *scriptAnswer) (string, error) {
	profile := j.Profiles[pod.Spec.SchedulerName]
	nodes, err := j.snapshot.ListNodesInPlacement()
	if err != nil {
		return "", err
	}
	state := framework.NewCycleState()
	feasible, diagnosis, err := filter(ctx, profile, state, pod, nodes)
	if err != nil {
		return "", err
	}
	if len(feasible) == 0 {
		fit := &framework.FitError{Pod: pod, NumAllNodes: len(nodes), Diagnosis: *diagnosis}
		return j.refused(ctx, profile, state, fit, answer)
	}
	told := verdict{Ties: []string{feasible[0].Node().Name}}
	if len(feasible) > 1 {
		told.Ties = nil
		if err := told.score(ctx, profile, state, pod, feasible); err != nil {
			return "", err
		}
	}
	if slices.Contains(told.Ties, answer.Node) {
		return "", nil
	}
	return fmt.Sprintf("node %q, message %q; the best nodes of %d feasible ones are %.60q",
		answer.Node, answer.Message, len(feasible), told.Ties), nil
}

// own wants the node that kube-scheduler takes.
func (j *judge) own(ctx context.Context, pod *v1.Pod, answer *scriptAnswer) (string, error) {
	profile := j.Profiles[pod.Spec.SchedulerName]
	if !j.batched {
		j.setStart()
	}
	info, err := j.pop(ctx, pod)
	if err != nil {
		return "", err
	}
	j.SchedulingQueue.Done(info.Pod.UID)
	state := framework.NewCycleState()
	result, err := j.SchedulePod(ctx, profile, state, info)
	if fit := (*framework.FitError)(nil); errors.As(err, &fit) {
		return j.refused(ctx, profile, state, fit, answer)
	}
	if err != nil {
		return "", err
	}
	if result.SuggestedHost == answer.Node && result.EvaluatedNodes == answer.Evaluated {
		return "", nil
	}
	return fmt.Sprintf("node %q of %d evaluated; it is %q of %d",
		answer.Node, answer.Evaluated, result.SuggestedHost, result.EvaluatedNodes), nil
}

// pop brings a pod through the queue, in which no other pod is active.
func (j *judge) pop(ctx context.Context, pod *v1.Pod) (*framework.QueuedPodInfo, error) {
	j.SchedulingQueue.Add(ctx, pod)
	entity, err := j.NextEntity(j.logger)
	if err != nil {
		return nil, err
	}
	info, is := entity.(*framework.QueuedPodInfo)
	if !is || info.Pod.UID != pod.UID {
		return nil, fmt.Errorf("the queue brings another pod")
	}
	return info, nil
}

// setStart says where the search begins. Between two judged attempts others were placed without
// upstream, which keeps the place in a field of its own.
func (j *judge) setStart() {
	field := reflect.ValueOf(j.Scheduler).Elem().FieldByName("nextStartNodeIndex")
	*(*int)(unsafe.Pointer(field.UnsafeAddr())) = j.start
}

// refused wants the same message, and where victims make room the same ones.
func (j *judge) refused(ctx context.Context, profile framework.Framework, state fwk.CycleState,
	fit *framework.FitError, answer *scriptAnswer) (string, error) {
	if answer.Node != "" {
		return fmt.Sprintf("node %q; %s", answer.Node, fit.Error()), nil
	}
	if answer.Nominated != "" {
		return j.preempted(ctx, state, fit, answer)
	}
	result, status := profile.RunPostFilterPlugins(ctx, state, fit.Pod, fit.Diagnosis.NodeToStatus)
	if status.Code() == fwk.Error {
		return "", status.AsError()
	}
	if result != nil && result.NominatedNodeName != "" {
		return "no victims; there are some on " + result.NominatedNodeName, nil
	}
	fit.Diagnosis.PostFilterMsg = status.Message()
	if told := fit.Error(); told != answer.Message {
		return fmt.Sprintf("message %q; it is %q", answer.Message, told), nil
	}
	return "", nil
}
