package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// boundClaim is a claim that got its volume when its pod was placed.
type boundClaim struct {
	Claim       string `json:"claim"`
	Volume      string `json:"volume"`
	Provisioned bool   `json:"provisioned,omitempty"`
}

// volumes plays the volume controllers: each call by which PreBind asks for a binding is answered by
// the binding itself, in the informers' stores.
type volumes struct {
	volumes, claims, nodes, classes cache.Indexer
	version                         int
	told                            []boundClaim
}

func newVolumes(client *fake.Clientset, factory informers.SharedInformerFactory) *volumes {
	core := factory.Core().V1()
	own := &volumes{
		volumes: core.PersistentVolumes().Informer().GetIndexer(),
		claims:  core.PersistentVolumeClaims().Informer().GetIndexer(),
		nodes:   core.Nodes().Informer().GetIndexer(),
		classes: factory.Storage().V1().StorageClasses().Informer().GetIndexer(),
	}
	client.PrependReactor("update", "persistentvolumes", own.onVolume)
	client.PrependReactor("update", "persistentvolumeclaims", own.onClaim)
	return own
}

// bind runs PreBind for its calls alone: its wait, which looks at the stores once a second, is cut
// short.
func (own *volumes) bind(ctx context.Context, profile framework.Framework, state fwk.CycleState,
	pod *v1.Pod, node string) ([]boundClaim, error) {
	own.told = nil
	status := profile.RunPreBindPreFlights(ctx, state, pod, node)
	if status.IsSkip() {
		return nil, nil
	}
	if !status.IsSuccess() {
		return nil, fmt.Errorf("PreBindPreFlight: %w", status.AsError())
	}
	// That it was cut short is no news.
	ctx, cancel := context.WithTimeout(klog.NewContext(ctx, klog.Logger{}), time.Millisecond)
	defer cancel()
	profile.RunPreBindPlugins(ctx, state, pod, node)
	if len(own.told) == 0 {
		return nil, fmt.Errorf("PreBind: no call was made")
	}
	return own.told, nil
}

// onVolume is told that a volume is kept for a claim.
func (own *volumes) onVolume(action clienttesting.Action) (bool, runtime.Object, error) {
	volume := action.(clienttesting.UpdateAction).GetObject().(*v1.PersistentVolume).DeepCopy()
	ref := volume.Spec.ClaimRef
	object, exists, err := own.claims.GetByKey(ref.Namespace + "/" + ref.Name)
	if err != nil || !exists {
		return true, nil, fmt.Errorf("claim of volume %s: %w", volume.Name, err)
	}
	claim := object.(*v1.PersistentVolumeClaim).DeepCopy()
	if claim.Spec.VolumeName != "" {
		// The pod names it twice: it has its volume, and this one is kept for it in vain.
		own.version++
		volume.ResourceVersion = strconv.Itoa(own.version)
		own.told = append(own.told, boundClaim{ref.Namespace + "/" + ref.Name, volume.Name, false})
		return true, volume, own.volumes.Add(volume)
	}
	return true, volume, own.join(volume, claim, false)
}

// onClaim is told that a volume is to be provisioned for a claim on a node.
func (own *volumes) onClaim(action clienttesting.Action) (bool, runtime.Object, error) {
	claim := action.(clienttesting.UpdateAction).GetObject().(*v1.PersistentVolumeClaim).DeepCopy()
	key := claim.Namespace + "/" + claim.Name
	if there, exists, err := own.claims.GetByKey(key); err == nil && exists {
		if bound := there.(*v1.PersistentVolumeClaim).DeepCopy(); bound.Spec.VolumeName != "" {
			// The pod names it twice: it was bound for the first time, and gets its node for the second.
			metav1.SetMetaDataAnnotation(&bound.ObjectMeta, storagehelpers.AnnSelectedNode,
				claim.Annotations[storagehelpers.AnnSelectedNode])
			own.version++
			bound.ResourceVersion = strconv.Itoa(own.version)
			own.told = append(own.told, boundClaim{key, bound.Spec.VolumeName, true})
			return true, bound, own.claims.Add(bound)
		}
	}
	class, exists, err := own.classes.GetByKey(storagehelpers.GetPersistentVolumeClaimClass(claim))
	if err != nil || !exists {
		return true, nil, fmt.Errorf("class of claim %s: %w", claim.Name, err)
	}
	node, exists, err := own.nodes.GetByKey(claim.Annotations[storagehelpers.AnnSelectedNode])
	if err != nil || !exists {
		return true, nil, fmt.Errorf("node of claim %s: %w", claim.Name, err)
	}
	name := "dyn-" + claim.Namespace + "-" + claim.Name
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                  claim.Spec.Resources.Requests,
			AccessModes:               claim.Spec.AccessModes,
			StorageClassName:          storagehelpers.GetPersistentVolumeClaimClass(claim),
			VolumeMode:                claim.Spec.VolumeMode,
			VolumeAttributesClassName: claim.Spec.VolumeAttributesClassName,
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
				Driver: class.(*storagev1.StorageClass).Provisioner, VolumeHandle: name,
			}},
		},
	}
	if zone, ok := node.(*v1.Node).Labels[v1.LabelTopologyZone]; ok {
		volume.Labels = map[string]string{v1.LabelTopologyZone: zone}
		in := v1.NodeSelectorRequirement{
			Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone},
		}
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{
				{MatchExpressions: []v1.NodeSelectorRequirement{in}},
			},
		}}
	}
	return true, claim, own.join(volume, claim, true)
}

// join binds a volume and a claim to each other.
func (own *volumes) join(volume *v1.PersistentVolume, claim *v1.PersistentVolumeClaim,
	provisioned bool) error {
	volume.Spec.ClaimRef = &v1.ObjectReference{
		Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
	}
	volume.Status.Phase = v1.VolumeBound
	claim.Spec.VolumeName = volume.Name
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagehelpers.AnnBindCompleted, "yes")
	claim.Status.Phase = v1.ClaimBound
	// What the scheduler assumed of the objects ends with their next version.
	own.version++
	volume.ResourceVersion = strconv.Itoa(own.version)
	claim.ResourceVersion = volume.ResourceVersion
	own.told = append(own.told, boundClaim{
		claim.Namespace + "/" + claim.Name, volume.Name, provisioned,
	})
	if err := own.volumes.Add(volume); err != nil {
		return err
	}
	return own.claims.Add(claim)
}
