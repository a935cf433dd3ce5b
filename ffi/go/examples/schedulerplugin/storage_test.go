package main

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-helpers/storage/volume"
)

// A claim that got its volume when its pod was placed.
type boundClaim struct {
	// NAMESPACE/NAME
	Claim       string `json:"claim"`
	Volume      string `json:"volume"`
	Provisioned bool   `json:"provisioned"`
}

// stores of the informers, in which the volume controllers' part is played.
type stores struct {
	volumes, claims, classes cache.Indexer
}

func storesOf(factory informers.SharedInformerFactory) *stores {
	core := factory.Core().V1()
	return &stores{
		volumes: core.PersistentVolumes().Informer().GetIndexer(),
		claims:  core.PersistentVolumeClaims().Informer().GetIndexer(),
		classes: factory.Storage().V1().StorageClasses().Informer().GetIndexer(),
	}
}

// bind gives claims the volumes that upstream bound to them, as its recorder did.
func (s *stores) bind(t *testing.T, bound []boundClaim, node *v1.Node) {
	for _, own := range bound {
		claim := stored[v1.PersistentVolumeClaim](t, s.claims, own.Claim).DeepCopy()
		var pv *v1.PersistentVolume
		if own.Provisioned {
			pv = s.provisioned(t, claim, own.Volume, node)
		} else {
			pv = stored[v1.PersistentVolume](t, s.volumes, own.Volume).DeepCopy()
		}
		pv.Spec.ClaimRef = &v1.ObjectReference{
			Kind: "PersistentVolumeClaim", APIVersion: "v1",
			Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
		}
		pv.Status.Phase = v1.VolumeBound
		claim.Spec.VolumeName = pv.Name
		claim.Status.Phase = v1.ClaimBound
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBindCompleted, "yes")
		for store, object := range map[cache.Indexer]any{s.volumes: pv, s.claims: claim} {
			if err := store.Add(object); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// provisioned is a new volume of the claim's class, in the node's zone if it has one.
func (s *stores) provisioned(t *testing.T, claim *v1.PersistentVolumeClaim, name string,
	node *v1.Node) *v1.PersistentVolume {
	class := volume.GetPersistentVolumeClaimClass(claim)
	driver := stored[storagev1.StorageClass](t, s.classes, class).Provisioner
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: v1.PersistentVolumeSpec{
			Capacity:         claim.Spec.Resources.Requests,
			AccessModes:      claim.Spec.AccessModes,
			StorageClassName: class,
			VolumeMode:       claim.Spec.VolumeMode,
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
				Driver: driver, VolumeHandle: name,
			}},
			VolumeAttributesClassName: claim.Spec.VolumeAttributesClassName,
		},
	}
	zone, ok := node.Labels[v1.LabelTopologyZone]
	if !ok {
		return pv
	}
	pv.Labels = map[string]string{v1.LabelTopologyZone: zone}
	pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{
			Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone},
		}}}},
	}}
	return pv
}

func stored[T any](t *testing.T, store cache.Indexer, key string) *T {
	object, exists, err := store.GetByKey(key)
	if err != nil || !exists {
		t.Fatalf("%s is not there: %v", key, err)
	}
	return object.(*T)
}
