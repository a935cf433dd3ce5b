//! The claims that controllers make for pods: of a StatefulSet's templates, and of generic ephemeral
//! volumes.
//!
//! Mirrors `getPersistentVolumeClaims` of `pkg/controller/statefulset/stateful_set_utils.go` and
//! `pkg/controller/volume/ephemeral/controller.go`.

use crate::object::{
    ClaimTemplate, ObjectMeta, OwnerReference, PersistentVolumeClaim, Pod, VolumeStatus, Workload,
};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;

/// Name of the claim that a set's template makes for one of its pods.
pub(super) fn name_in_set(template: &ClaimTemplate, pod: &str) -> String {
    format!("{}-{pod}", template.metadata.name)
}

/// The claims that a StatefulSet makes for one of its pods.
pub(crate) fn of_set(set: &Workload, pod: &Pod) -> impl Iterator<Item = PersistentVolumeClaim> {
    let selector = set.spec.selector.as_ref();
    let templates = set.spec.volume_claim_templates.iter();
    templates.map(move |template| {
        let mut claim = of_template(
            template,
            &pod.metadata.namespace,
            name_in_set(template, &pod.metadata.name),
        );
        let labels = selector.iter().flat_map(|own| &own.match_labels);
        let labels = labels.map(|(key, value)| (key.clone(), value.clone()));
        claim.metadata.labels.extend(labels);
        claim
    })
}

/// The claims of a pod's generic ephemeral volumes, which the pod owns.
pub(crate) fn of_pod(pod: &Pod) -> impl Iterator<Item = PersistentVolumeClaim> {
    let metadata = &pod.metadata;
    pod.spec.volumes.iter().filter_map(move |volume| {
        let source = volume.source.get("ephemeral")?;
        let template = source.volume_claim_template.as_deref()?;
        let name = format!("{}-{}", metadata.name, volume.name);
        let mut claim = of_template(template, &metadata.namespace, name);
        claim.metadata.owner_references = vec![OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            controller: true,
        }];
        Some(claim)
    })
}

fn of_template(template: &ClaimTemplate, namespace: &str, name: String) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            uid: super::made_uid(namespace, &name),
            name,
            namespace: namespace.to_owned(),
            labels: template.metadata.labels.clone(),
            annotations: template.metadata.annotations.clone(),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        status: VolumeStatus::default(),
    }
}
