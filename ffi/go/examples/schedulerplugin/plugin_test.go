package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// A line of the file that BERTH_SCENARIOS names: a cluster, the pods to be placed, and what
// kube-scheduler's own plugins said of each.
type scenario struct {
	Name   string            `json:"name"`
	Config json.RawMessage   `json:"config"`
	Items  []json.RawMessage `json:"items"`
	// By name, in the order in which they are placed.
	Verdicts []verdict `json:"verdicts"`
}

type verdict struct {
	Pod string `json:"pod"`
	// It stands in for one that API servers refuse, and is put where that was, unasked.
	Placed bool     `json:"placed"`
	Chosen string   `json:"chosen"`
	Ties   []string `json:"ties"`
	// What the nodes that tie have, where there are so many that they were not recorded.
	Best     *int64 `json:"best"`
	Feasible int    `json:"feasible"`
	Message  string `json:"message"`
	// What was bound for it.
	Volumes []boundClaim `json:"volumes"`
	// What Berth gave the chosen node.
	total int64
}

const configuration = `{
  "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
  "percentageOfNodesToScore": 100,
  "profiles": [{
    "schedulerName": "default-scheduler",
    "plugins": {
      "multiPoint": {"enabled": [{"name": "Berth"}], "disabled": [{"name": "*"}]},
      "queueSort": {"enabled": [{"name": "PrioritySort"}]},
      "bind": {"enabled": [{"name": "DefaultBinder"}]}
    }
  }]
}`

// The framework with Berth alone must place every pod where its own plugins did.
func TestTheFrameworkWithBerthDecidesAsWithItsOwnPlugins(t *testing.T) {
	path := os.Getenv("BERTH_SCENARIOS")
	if path == "" {
		t.Skip("BERTH_SCENARIOS names no file; cargo test -p berth-ffi --test go writes one")
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	equal := 0
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			var s scenario
			if err := json.Unmarshal(line, &s); err != nil {
				t.Fatal(err)
			}
			equal += run(t, &s)
		}
		if err != nil {
			break
		}
	}
	t.Logf("%d verdicts equal", equal)
	if equal == 0 {
		t.Error("nothing was compared")
	}
}

// TestMain keeps upstream's log out of the tests' output.
func TestMain(m *testing.M) {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// objects of a scenario, by kind.
type objects struct {
	nodes []*v1.Node
	bound []*v1.Pod
	// Pods that wait, by NAMESPACE/NAME.
	waiting map[string]*v1.Pod
}

// profiles are the names that pods may ask for.
func (s *scenario) profiles(t *testing.T) []string {
	if len(s.Config) == 0 || string(s.Config) == "null" {
		return nil
	}
	var config struct {
		Profiles []struct {
			SchedulerName string `json:"schedulerName"`
		} `json:"profiles"`
	}
	decode(t, s.Config, &config)
	var names []string
	for _, profile := range config.Profiles {
		names = append(names, cmp.Or(profile.SchedulerName, v1.DefaultSchedulerName))
	}
	return names
}

func (o *objects) node(name string) *v1.Node {
	at := slices.IndexFunc(o.nodes, func(node *v1.Node) bool { return node.Name == name })
	return o.nodes[at]
}

func run(t *testing.T, s *scenario) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset()
	factory := scheduler.NewInformerFactory(client, 0, nil)
	// The informers are not started: their stores are all that is read.
	given := fill(t, factory, s.Items)
	stores := storesOf(factory)

	sched, snapshot := frameworkOf(ctx, t, client, factory, configuration, Args{Config: s.Config},
		s.profiles(t)...)
	defer sched.Profiles.Close()
	logger := klog.FromContext(ctx)
	for _, node := range given.nodes {
		sched.Cache.AddNode(logger, node)
	}
	for _, pod := range given.bound {
		if err := sched.Cache.AddPod(logger, pod); err != nil {
			t.Fatal(err)
		}
	}
	equal := 0
	for _, expected := range s.Verdicts {
		pod := given.waiting[expected.Pod]
		if !expected.Placed {
			if err := sched.Cache.UpdateSnapshot(logger, snapshot); err != nil {
				t.Fatal(err)
			}
			told := decide(ctx, t, sched, pod)
			if !told.equals(&expected) {
				t.Errorf("%s %s: %+v, by its own plugins %+v", s.Name, expected.Pod, told, expected)
				return equal
			}
			equal++
		}
		if expected.Chosen != "" {
			placed := pod.DeepCopy()
			placed.Spec.NodeName = expected.Chosen
			if err := sched.Cache.AddPod(logger, placed); err != nil {
				t.Fatal(err)
			}
			stores.bind(t, expected.Volumes, given.node(expected.Chosen))
		}
	}
	return equal
}

// frameworkOf is kube-scheduler's, whose informers are not started: what it knows is what it is told. The
// configuration's one profile is there under each name, if any are given.
func frameworkOf(ctx context.Context, t testing.TB, client kubernetes.Interface,
	factory informers.SharedInformerFactory, configuration string,
	args Args, names ...string) (*scheduler.Scheduler, *internalcache.Snapshot) {
	object, _, err := scheme.Codecs.UniversalDecoder().Decode([]byte(configuration), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := object.(*config.KubeSchedulerConfiguration)
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Profiles[0].PluginConfig = append(cfg.Profiles[0].PluginConfig, config.PluginConfig{
		Name: Name, Args: &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON},
	})
	for _, name := range names {
		cfg.Profiles = append(cfg.Profiles, *cfg.Profiles[0].DeepCopy())
		cfg.Profiles[len(cfg.Profiles)-1].SchedulerName = name
	}
	if len(names) > 0 {
		cfg.Profiles = cfg.Profiles[1:]
	}
	snapshot := internalcache.NewEmptySnapshot()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	sched, err := scheduler.New(ctx, client, factory, nil,
		func(name string) events.EventRecorderLogger {
			return broadcaster.NewRecorder(scheme.Scheme, name)
		},
		scheduler.WithComponentConfigVersion("kubescheduler.config.k8s.io/v1"),
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithFrameworkOutOfTreeRegistry(frameworkruntime.Registry{Name: New}),
		scheduler.WithNodeInfoSnapshot(snapshot),
	)
	if err != nil {
		t.Fatal(err)
	}
	return sched, snapshot
}

// decide makes one attempt of the whole framework.
func decide(ctx context.Context, t testing.TB, sched *scheduler.Scheduler, pod *v1.Pod) verdict {
	info, err := framework.NewPodInfo(pod.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	profile := sched.Profiles[pod.Spec.SchedulerName]
	queued := &framework.QueuedPodInfo{PodInfo: info}
	state := framework.NewCycleState()
	result, err := sched.SchedulePod(ctx, profile, state, queued)
	told := verdict{Chosen: result.SuggestedHost, Feasible: result.FeasibleNodes}
	if found, err := read(state); err == nil && told.Chosen != "" {
		told.total = found.evaluation.Scores[found.ids[told.Chosen]]
	}
	var fit *framework.FitError
	switch {
	case errors.As(err, &fit):
		told.Message = fit.Error()
	case err != nil:
		told.Message = "error: " + err.Error()
	}
	return told
}

func (told *verdict) equals(expected *verdict) bool {
	// Of nodes that tie, the framework takes one by its heap.
	isChosen := told.Chosen == expected.Chosen || slices.Contains(expected.Ties, told.Chosen) ||
		expected.Best != nil && told.total == *expected.Best
	return isChosen && told.Feasible == expected.Feasible && told.Message == expected.Message
}

func fill(t *testing.T, factory informers.SharedInformerFactory, items []json.RawMessage) objects {
	given := objects{waiting: map[string]*v1.Pod{}}
	core, apps, storage := factory.Core().V1(), factory.Apps().V1(), factory.Storage().V1()
	for _, item := range items {
		var head metav1.TypeMeta
		decode(t, item, &head)
		var err error
		switch head.Kind {
		case "Node":
			node := &v1.Node{}
			decode(t, item, node)
			given.nodes = append(given.nodes, node)
		case "Pod":
			pod := &v1.Pod{}
			decode(t, item, pod)
			if pod.UID == "" {
				pod.UID = types.UID(pod.Namespace + "-" + pod.Name)
			}
			if pod.Spec.SchedulerName == "" {
				pod.Spec.SchedulerName = v1.DefaultSchedulerName
			}
			if pod.Spec.NodeName != "" {
				given.bound = append(given.bound, pod)
			} else {
				given.waiting[pod.Namespace+"/"+pod.Name] = pod
			}
		case "Namespace":
			err = core.Namespaces().Informer().GetIndexer().Add(decoded[v1.Namespace](t, item))
		case "Service":
			err = core.Services().Informer().GetIndexer().Add(decoded[v1.Service](t, item))
		case "ReplicationController":
			object := decoded[v1.ReplicationController](t, item)
			err = core.ReplicationControllers().Informer().GetIndexer().Add(object)
		case "ReplicaSet":
			err = apps.ReplicaSets().Informer().GetIndexer().Add(decoded[appsv1.ReplicaSet](t, item))
		case "StatefulSet":
			err = apps.StatefulSets().Informer().GetIndexer().Add(decoded[appsv1.StatefulSet](t, item))
		case "PersistentVolume":
			err = core.PersistentVolumes().Informer().GetIndexer().Add(decoded[v1.PersistentVolume](t, item))
		case "PersistentVolumeClaim":
			object := decoded[v1.PersistentVolumeClaim](t, item)
			err = core.PersistentVolumeClaims().Informer().GetIndexer().Add(object)
		case "StorageClass":
			object := decoded[storagev1.StorageClass](t, item)
			err = storage.StorageClasses().Informer().GetIndexer().Add(object)
		case "CSINode":
			err = storage.CSINodes().Informer().GetIndexer().Add(decoded[storagev1.CSINode](t, item))
		case "CSIDriver":
			err = storage.CSIDrivers().Informer().GetIndexer().Add(decoded[storagev1.CSIDriver](t, item))
		case "CSIStorageCapacity":
			object := decoded[storagev1.CSIStorageCapacity](t, item)
			err = storage.CSIStorageCapacities().Informer().GetIndexer().Add(object)
		case "VolumeAttachment":
			object := decoded[storagev1.VolumeAttachment](t, item)
			err = storage.VolumeAttachments().Informer().GetIndexer().Add(object)
		default:
			t.Fatalf("a %s", head.Kind)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return given
}

func decode(t *testing.T, text []byte, into any) {
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func decoded[T any](t *testing.T, text []byte) *T {
	object := new(T)
	decode(t, text, object)
	return object
}

var _ fwk.Plugin = &Plugin{}
