package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

const benchNodes = 5000

// own is the framework with its own plugins, all of them by default; %d is percentageOfNodesToScore, of
// which 0 is the default.
const own = `{
  "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
  "percentageOfNodesToScore": %d, "profiles": [{"schedulerName": "default-scheduler"}]
}`

// side is one of the schedulers that are compared, with a cluster of its own.
type side struct {
	name     string
	sched    *scheduler.Scheduler
	snapshot *internalcache.Snapshot
	took     []float64
}

// BenchmarkPod places one pod after the other in clusters of 5,000 nodes, each pod by all sides in turn:
// the framework with its own plugins, the same looking at all nodes as Berth does, and with Berth. What a
// pod takes is reported by side, as the median.
func BenchmarkPod(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sides := []*side{
		{name: "own"}, {name: "own-all-nodes"}, {name: "berth"},
	}
	for i, text := range []string{fmt.Sprintf(own, 0), fmt.Sprintf(own, 100), configuration} {
		client := fake.NewClientset()
		factory := scheduler.NewInformerFactory(client, 0, nil)
		sides[i].sched, sides[i].snapshot = frameworkOf(ctx, b, client, factory, text, Args{})
		defer sides[i].sched.Profiles.Close()
		sides[i].fill(ctx)
		// The first attempt takes in the whole cluster.
		sides[i].place(ctx, b, benchPod("first", 0, ""))
		sides[i].took = nil
	}
	for at := 0; b.Loop(); at++ {
		pod := benchPod(fmt.Sprint("p", at), at, "")
		for _, side := range sides {
			side.place(ctx, b, pod)
		}
	}
	for _, side := range sides {
		slices.Sort(side.took)
		b.ReportMetric(side.took[len(side.took)/2], side.name+"-us/pod")
	}
	b.ReportMetric(0, "ns/op")
}

// fill adds the nodes, with a pod on each.
func (s *side) fill(ctx context.Context) {
	logger := klog.FromContext(ctx)
	for at := range benchNodes {
		name := fmt.Sprint("n", at)
		s.sched.Cache.AddNode(logger, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprint("z", at%3),
			}},
			Status: v1.NodeStatus{Allocatable: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewQuantity(int64(8+at%13), resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(int64(32+at%7*16)<<30, resource.BinarySI),
				v1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
			}},
		})
		if err := s.sched.Cache.AddPod(logger, benchPod(fmt.Sprint("b", at), at, name)); err != nil {
			panic(err)
		}
	}
}

func benchPod(name string, at int, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: v1.PodSpec{
			NodeName: node, SchedulerName: v1.DefaultSchedulerName,
			Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{
					v1.ResourceCPU:    *resource.NewMilliQuantity(int64(100+at%31*100), resource.DecimalSI),
					v1.ResourceMemory: *resource.NewQuantity(int64(256+at%31*64)<<20, resource.BinarySI),
				},
			}}},
		},
	}
}

// place does for a pod what the scheduling cycle does up to the assumption.
func (s *side) place(ctx context.Context, b *testing.B, pod *v1.Pod) {
	logger := klog.FromContext(ctx)
	began := time.Now()
	if err := s.sched.Cache.UpdateSnapshot(logger, s.snapshot); err != nil {
		b.Fatal(err)
	}
	told := decide(ctx, b, s.sched, pod)
	if told.Chosen == "" {
		b.Fatalf("%s: %s: %s", s.name, pod.Name, told.Message)
	}
	placed := pod.DeepCopy()
	placed.Spec.NodeName = told.Chosen
	if err := s.sched.Cache.AssumePod(logger, placed); err != nil {
		b.Fatal(err)
	}
	s.took = append(s.took, float64(time.Since(began).Nanoseconds())/1e3)
}
