package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

// scenario is a line of input.
type scenario struct {
	Scenario int64 `json:"scenario"`
	// Strategy of NodeResourcesFit, where Config is left out.
	Strategy string `json:"strategy,omitempty"`
	// Config is a KubeSchedulerConfiguration without apiVersion and kind.
	Config map[string]any `json:"config,omitempty"`
	Input  input          `json:"input"`
	// Complete and validate the objects as an API server does, and tell the input that is left.
	Admit bool `json:"admit,omitempty"`
}

// input is a cluster, and the pods that are to be placed on it.
type input struct {
	Namespaces             []*v1.Namespace                 `json:"namespaces,omitempty"`
	Nodes                  []*v1.Node                      `json:"nodes,omitempty"`
	Services               []*v1.Service                   `json:"services,omitempty"`
	ReplicationControllers []*v1.ReplicationController     `json:"replicationControllers,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets,omitempty"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets,omitempty"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	PersistentVolumes      []*v1.PersistentVolume          `json:"persistentVolumes,omitempty"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim     `json:"persistentVolumeClaims,omitempty"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers,omitempty"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments,omitempty"`
	BoundPods              []*v1.Pod                       `json:"boundPods,omitempty"`
	PodsInOrder            []*v1.Pod                       `json:"podsInOrder,omitempty"`
}

// cluster is upstream's scheduler with a cluster in its cache. Its loops do not run: pods are put
// through the cycle by hand.
type cluster struct {
	*scheduler.Scheduler
	snapshot *internalcache.Snapshot
	logger   klog.Logger
	client   *fake.Clientset
	factory  informers.SharedInformerFactory
	volumes  *volumes
}

// newCluster builds the scheduler that the scenario configures, and gives it the cluster.
func newCluster(ctx context.Context, s *scenario) (*cluster, error) {
	cfg, err := configuration(s)
	if err != nil {
		return nil, err
	}
	c, err := newScheduler(ctx, cfg, scheduler.WithParallelism(1))
	if err != nil {
		return nil, err
	}
	c.volumes = newVolumes(c.client, c.factory)
	return c, c.fill(&s.Input)
}

// newScheduler builds a scheduler with an empty cluster.
func newScheduler(ctx context.Context, cfg *config.KubeSchedulerConfiguration,
	options ...scheduler.Option) (*cluster, error) {
	client := fake.NewClientset()
	factory := scheduler.NewInformerFactory(client, 0, nil)
	snapshot := internalcache.NewEmptySnapshot()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	sched, err := scheduler.New(ctx, client, factory, nil,
		func(name string) events.EventRecorderLogger {
			return broadcaster.NewRecorder(scheme.Scheme, name)
		},
		append([]scheduler.Option{
			scheduler.WithComponentConfigVersion(cfg.APIVersion),
			scheduler.WithProfiles(cfg.Profiles...),
			scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
			scheduler.WithNodeInfoSnapshot(snapshot),
		}, options...)...,
	)
	if err != nil {
		return nil, err
	}
	return &cluster{
		Scheduler: sched, snapshot: snapshot, logger: klog.FromContext(ctx),
		client: client, factory: factory,
	}, nil
}

// fill puts the objects where the scheduler looks for them. The informers are not started: their
// stores are all that is read.
func (c *cluster) fill(in *input) error {
	core, apps, storage := c.factory.Core().V1(), c.factory.Apps().V1(), c.factory.Storage().V1()
	err := errors.Join(
		store(core.Namespaces().Informer(), in.Namespaces),
		store(core.Services().Informer(), in.Services),
		store(core.ReplicationControllers().Informer(), in.ReplicationControllers),
		store(apps.ReplicaSets().Informer(), in.ReplicaSets),
		store(apps.StatefulSets().Informer(), in.StatefulSets),
		store(core.Nodes().Informer(), in.Nodes),
		store(storage.StorageClasses().Informer(), in.StorageClasses),
		store(core.PersistentVolumes().Informer(), in.PersistentVolumes),
		store(core.PersistentVolumeClaims().Informer(), in.PersistentVolumeClaims),
		store(storage.CSINodes().Informer(), in.CSINodes),
		store(storage.CSIDrivers().Informer(), in.CSIDrivers),
		store(storage.CSIStorageCapacities().Informer(), in.CSIStorageCapacities),
		store(storage.VolumeAttachments().Informer(), in.VolumeAttachments),
	)
	for _, node := range in.Nodes {
		c.Cache.AddNode(c.logger, node)
	}
	for _, pod := range in.BoundPods {
		complete(pod)
		err = errors.Join(err, c.Cache.AddPod(c.logger, pod))
	}
	for _, pod := range in.PodsInOrder {
		complete(pod)
	}
	return err
}

func store[T any](informer cache.SharedIndexInformer, objects []T) error {
	for _, object := range objects {
		if err := informer.GetIndexer().Add(object); err != nil {
			return err
		}
	}
	return nil
}

// complete fills in what the lines may leave out.
func complete(pod *v1.Pod) {
	if pod.UID == "" {
		pod.UID = types.UID(pod.Namespace + "-" + pod.Name)
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = v1.DefaultSchedulerName
	}
}

// configuration decodes the scenario's configuration with upstream's defaults and validation.
func configuration(s *scenario) (*config.KubeSchedulerConfiguration, error) {
	written := s.Config
	if written == nil {
		written = map[string]any{}
		if s.Strategy != "" {
			written["profiles"] = []any{map[string]any{"pluginConfig": []any{map[string]any{
				"name": "NodeResourcesFit",
				"args": map[string]any{"scoringStrategy": map[string]any{"type": s.Strategy}},
			}}}}
		}
	}
	written["apiVersion"] = "kubescheduler.config.k8s.io/v1"
	written["kind"] = "KubeSchedulerConfiguration"
	text, err := json.Marshal(written)
	if err != nil {
		return nil, err
	}
	object, kind, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("the configuration is a %T", object)
	}
	cfg.TypeMeta = metav1.TypeMeta{APIVersion: kind.GroupVersion().String()}
	if errs := validation.ValidateKubeSchedulerConfiguration(cfg); errs != nil {
		return nil, errs
	}
	return cfg, nil
}
