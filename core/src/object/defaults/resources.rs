//! Requests and limits: from limits, from limit ranges, at the pod's level.

use crate::object::{Container, LimitRange, PodSpec, ResourceList, ResourceRequirements};
use crate::quantity::Quantity;

/// What a namespace's limit ranges give to containers that say nothing of a resource.
#[derive(Debug, Default)]
pub(super) struct ContainerDefaults {
    requests: ResourceList,
    limits: ResourceList,
}

impl ContainerDefaults {
    /// Within a range a later entry wins, among ranges an earlier range (upstream leaves that to
    /// chance).
    pub(super) fn add(&mut self, range: &LimitRange) {
        let mut of_range = Self::default();
        for item in range
            .spec
            .limits
            .iter()
            .filter(|item| item.type_ == "Container")
        {
            let mut limits = item.default.clone();
            fill(&mut limits, &item.max);
            let mut requests = item.default_request.clone();
            fill(&mut requests, &limits);
            fill(&mut requests, &item.min);
            of_range.limits.append(&mut limits);
            of_range.requests.append(&mut requests);
        }
        fill(&mut self.limits, &of_range.limits);
        fill(&mut self.requests, &of_range.requests);
    }

    pub(super) fn apply(&self, resources: &mut ResourceRequirements) {
        fill(&mut resources.limits, &self.limits);
        if !self.requests.is_empty() {
            let requests = resources.requests.get_or_insert_default();
            fill(requests, &self.requests);
        }
    }
}

/// Sets requests that are missing beside a limit to the limit.
pub(super) fn requests_from_limits(resources: &mut ResourceRequirements) {
    if !resources.limits.is_empty() {
        let requests = resources.requests.get_or_insert_default();
        fill(requests, &resources.limits);
    }
}

/// Sets pod-level requests that are missing beside a pod-level limit to the limit, unless the
/// containers say what they request.
///
/// The API server also writes the containers' sums of cpu and memory to the pod's level. That
/// asks for the same, so it is left out: the pods of `kubectl get` from an older server do not
/// have it either.
pub(super) fn pod_level_from_limits(spec: &mut PodSpec) {
    let Some(resources) = &spec.resources else {
        return;
    };
    if resources.limits.is_empty() {
        return;
    }
    let containers = container_requests(spec);
    let Some(resources) = &mut spec.resources else {
        return;
    };
    for (resource, limit) in &resources.limits {
        let huge_pages = resource.starts_with("hugepages-");
        let counted = matches!(resource.as_str(), "cpu" | "memory");
        if huge_pages || (counted && !containers.contains_key(resource)) {
            let requests = resources.requests.get_or_insert_default();
            requests.entry(resource.clone()).or_insert(*limit);
        }
    }
}

/// What the containers of the pod need at once, a limit standing in for a missing request.
///
/// Mirrors `AggregateContainerRequests` in `k8s.io/component-helpers/resource/helpers.go`.
pub(in crate::object) fn container_requests(spec: &PodSpec) -> ResourceList {
    let mut sum = ResourceList::new();
    for container in &spec.containers {
        add(&mut sum, container);
    }
    let mut sidecars = ResourceList::new();
    let mut initial = ResourceList::new();
    for container in &spec.init_containers {
        if container.is_sidecar() {
            add(&mut sum, container);
            add(&mut sidecars, container);
            raise(&mut initial, &sidecars);
        } else {
            let mut together = sidecars.clone();
            add(&mut together, container);
            raise(&mut initial, &together);
        }
    }
    raise(&mut sum, &initial);
    sum
}

fn add(sum: &mut ResourceList, container: &Container) {
    let mut requests = container.resources.requests.clone().unwrap_or_default();
    fill(&mut requests, &container.resources.limits);
    for (resource, request) in requests {
        let total = sum.entry(resource).or_insert(Quantity::ZERO);
        *total = total.saturating_add(request);
    }
}

fn raise(sum: &mut ResourceList, least: &ResourceList) {
    for (resource, least) in least {
        let total = sum.entry(resource.clone()).or_insert(*least);
        *total = (*total).max(*least);
    }
}

/// Adds the entries that are missing.
fn fill(amounts: &mut ResourceList, defaults: &ResourceList) {
    for (resource, amount) in defaults {
        if !amounts.contains_key(resource) {
            amounts.insert(resource.clone(), *amount);
        }
    }
}
