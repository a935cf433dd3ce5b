package main

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	sigsjson "sigs.k8s.io/json"
)

// admit completes the input's objects as an API server does and takes out those that it would
// refuse. Returns why, by `Pod default/p1` and the like. What is left is what a watch brings: lists
// that are there but empty are not.
func admit(in *input) (map[string]string, error) {
	refused := map[string]string{}
	in.Namespaces = keep(refused, "Namespace", in.Namespaces, admitNamespace)
	in.Nodes = keep(refused, "Node", in.Nodes, admitNode)
	in.BoundPods = keep(refused, "Pod", in.BoundPods, admitPod)
	in.PodsInOrder = keep(refused, "Pod", in.PodsInOrder, admitPod)
	text, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	*in = input{}
	return refused, sigsjson.UnmarshalCaseSensitivePreserveInts(text, in)
}

// keep replaces objects by their admitted form, in their order.
func keep[T metav1.Object](refused map[string]string, kind string, objects []T,
	admitOne func(T) (T, error)) []T {
	var kept []T
	for _, object := range objects {
		admitted, err := admitOne(object)
		if err != nil {
			name := object.GetName()
			if object.GetNamespace() != "" {
				name = object.GetNamespace() + "/" + name
			}
			refused[kind+" "+name] = err.Error()
			continue
		}
		kept = append(kept, admitted)
	}
	return kept
}

func admitNamespace(object *v1.Namespace) (*v1.Namespace, error) {
	legacyscheme.Scheme.Default(object)
	var internal core.Namespace
	if err := corev1.Convert_v1_Namespace_To_core_Namespace(object, &internal, nil); err != nil {
		return nil, err
	}
	return object, first(validation.ValidateNamespace(&internal))
}

func admitNode(object *v1.Node) (*v1.Node, error) {
	legacyscheme.Scheme.Default(object)
	var internal core.Node
	if err := corev1.Convert_v1_Node_To_core_Node(object, &internal, nil); err != nil {
		return nil, err
	}
	return object, first(validation.ValidateNode(&internal))
}

// admitPod creates the pod. Its status, which comes with later updates, stays as it is.
func admitPod(object *v1.Pod) (*v1.Pod, error) {
	complete(object)
	status := object.Status
	legacyscheme.Scheme.Default(object)
	var internal core.Pod
	if err := corev1.Convert_v1_Pod_To_core_Pod(object, &internal, nil); err != nil {
		return nil, err
	}
	podregistry.Strategy.PrepareForCreate(context.Background(), &internal)
	if err := first(podregistry.Strategy.Validate(context.Background(), &internal)); err != nil {
		return nil, err
	}
	admitted := &v1.Pod{}
	if err := corev1.Convert_core_Pod_To_v1_Pod(&internal, admitted, nil); err != nil {
		return nil, err
	}
	admitted.Status = status
	return admitted, nil
}

func first(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
}
