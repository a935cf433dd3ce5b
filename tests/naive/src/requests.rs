//! What a pod asks for. Mirrors `component-helpers/resource/helpers.go` and the `Resource` of
//! `pkg/scheduler/framework/types.go`.
//!
//! Container amounts are added exactly, in units of 10^-9 that saturate; only then are they cut to
//! whole milli-cores, bytes or units, rounding up, in `0..=i64::MAX`.

use crate::selector::is_label_key;
use berth_core::object::{Container, ContainerStatus, Pod, ResourceList};
use std::collections::BTreeMap;

/// Exact amounts by resource name, in units of 10^-9.
pub type Exact = BTreeMap<String, i128>;

/// Whole amounts by name of a tracked resource: milli-cores of `cpu`, else bytes or units.
pub type Amounts = BTreeMap<String, i64>;

/// What a container without a cpu request counts for in scores: 100 milli-cores.
const DEFAULT_CPU: i128 = 100_000_000;
/// What a container without a memory request counts for in scores: 200 MiB.
const DEFAULT_MEMORY: i128 = 200 * 1024 * 1024 * 1_000_000_000;

/// What a pod on a node counts for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    pub exact: Amounts,
    /// cpu and memory with a default for each container that asks for none.
    pub non_zero: Amounts,
}

/// Which of a pod's figures count.
struct Reading {
    /// Those of its status as well: what the node has set aside and what is in force.
    status: bool,
    /// Those of the whole pod in place of its containers'.
    pod_level: bool,
    /// What a container counts for that does not name the resource.
    missing: Exact,
}

impl Requested {
    /// Mirrors `PodInfo.CalculateResource`.
    pub fn of(pod: &Pod) -> Self {
        let exact = accounted(pod);
        let mut missing = defaults();
        if pod_level(pod).is_some() {
            missing.retain(|name, _| !exact.contains_key(name));
        }
        let reading = Reading {
            status: true,
            pod_level: true,
            missing,
        };
        Self {
            exact: whole(&exact),
            non_zero: whole(&pod_requests(pod, &reading)),
        }
    }
}

/// What the filter compares with the room on a node: the spec alone.
pub fn filtered(pod: &Pod) -> Amounts {
    whole(&pod_requests(
        pod,
        &Reading {
            status: false,
            pod_level: true,
            missing: Exact::new(),
        },
    ))
}

/// What `NodeResourcesFit` scores: the containers alone, since upstream leaves the flags of its
/// embedded scorer unset, and always with defaults.
pub fn scored_by_fit(pod: &Pod) -> Amounts {
    whole(&pod_requests(
        pod,
        &Reading {
            status: false,
            pod_level: false,
            missing: defaults(),
        },
    ))
}

/// What `NodeResourcesBalancedAllocation` scores: the same as a node accounts for.
pub fn scored_by_balance(pod: &Pod) -> Amounts {
    whole(&accounted(pod))
}

/// Whole amounts of what a node offers.
pub fn allocatable(list: Option<&ResourceList>) -> Amounts {
    whole(&list.map(exact).unwrap_or_default())
}

/// One amount; 0 if absent.
pub fn amount(amounts: &Amounts, resource: &str) -> i128 {
    amounts.get(resource).copied().unwrap_or(0).into()
}

/// Whether the scheduler keeps account of the resource.
fn is_tracked(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory" | "ephemeral-storage" | "pods") || is_scalar(resource)
}

/// Mirrors `IsScalarResourceName` of `pkg/scheduler/util/utils.go`.
pub fn is_scalar(resource: &str) -> bool {
    is_extended(resource)
        || resource.starts_with("hugepages-")
        || resource.contains("kubernetes.io/")
        || resource.starts_with("attachable-volumes-")
}

/// Mirrors `IsExtendedResourceName` of `pkg/apis/core/v1/helper/helpers.go`.
pub fn is_extended(resource: &str) -> bool {
    resource.contains('/')
        && !resource.contains("kubernetes.io/")
        && !resource.starts_with("requests.")
        && is_label_key(&format!("requests.{resource}"))
}

fn accounted(pod: &Pod) -> Exact {
    pod_requests(
        pod,
        &Reading {
            status: true,
            pod_level: true,
            missing: Exact::new(),
        },
    )
}

fn pod_requests(pod: &Pod, reading: &Reading) -> Exact {
    let mut total = containers(pod, reading);
    if reading.pod_level
        && let Some(spec) = pod_level(pod)
    {
        let mut level = exact(spec);
        if reading.status
            && let Some(status) = &pod.status.resources
        {
            if resize_is_infeasible(pod) {
                level.clear();
            }
            raise(&mut level, &optional(status.requests.as_ref()));
            raise(
                &mut level,
                &optional(pod.status.allocated_resources.as_ref()),
            );
        }
        total.extend(level.into_iter().filter(|(name, _)| is_pod_level(name)));
    }
    add(&mut total, &exact(&pod.spec.overhead));
    total
}

/// The containers' part: the largest of what is asked, set aside and in force.
fn containers(pod: &Pod, reading: &Reading) -> Exact {
    let asked = over_containers(pod, reading, |container, _| spec(container));
    if !reading.status {
        return asked;
    }
    let infeasible = resize_is_infeasible(pod);
    let unless_infeasible = |container: &Container| {
        if infeasible {
            Exact::new()
        } else {
            spec(container)
        }
    };
    let set_aside_of = |status: Option<&ContainerStatus>| {
        status.and_then(|status| status.allocated_resources.as_ref().map(exact))
    };
    let in_force_of = |status: Option<&ContainerStatus>| {
        status.and_then(|status| status.resources.as_ref()?.requests.as_ref().map(exact))
    };

    let whole_pod = pod.status.allocated_resources.as_ref().zip(
        pod.status
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref()),
    );
    let (set_aside, in_force) = match whole_pod {
        Some((allocated, requests)) => (exact(allocated), exact(requests)),
        None => (
            over_containers(pod, reading, |container, status| {
                set_aside_of(status).unwrap_or_else(|| unless_infeasible(container))
            }),
            over_containers(pod, reading, |container, status| {
                in_force_of(status)
                    .or_else(|| set_aside_of(status))
                    .unwrap_or_else(|| unless_infeasible(container))
            }),
        ),
    };
    let mut largest = if infeasible { Exact::new() } else { asked };
    raise(&mut largest, &in_force);
    raise(&mut largest, &set_aside);
    largest
}

/// All containers together, or the hungriest moment of starting up, whichever is more.
fn over_containers(
    pod: &Pod,
    reading: &Reading,
    list: impl Fn(&Container, Option<&ContainerStatus>) -> Exact,
) -> Exact {
    let of = |container: &Container| {
        let status = if reading.status {
            container_status(pod, &container.name)
        } else {
            None
        };
        let mut amounts = list(container, status);
        for (name, default) in &reading.missing {
            amounts.entry(name.clone()).or_insert(*default);
        }
        amounts
    };
    let mut running = Exact::new();
    for container in &pod.spec.containers {
        add(&mut running, &of(container));
    }
    let mut sidecars = Exact::new();
    let mut starting = Exact::new();
    for container in &pod.spec.init_containers {
        let mut moment = of(container);
        if container.is_sidecar() {
            add(&mut running, &moment);
            add(&mut sidecars, &moment);
            moment = sidecars.clone();
        } else {
            add(&mut moment, &sidecars);
        }
        raise(&mut starting, &moment);
    }
    raise(&mut running, &starting);
    running
}

fn container_status<'a>(pod: &'a Pod, name: &str) -> Option<&'a ContainerStatus> {
    pod.status
        .container_statuses
        .iter()
        .chain(&pod.status.init_container_statuses)
        .find(|status| status.name == name)
}

fn resize_is_infeasible(pod: &Pod) -> bool {
    pod.status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "PodResizePending")
        .is_some_and(|condition| condition.reason == "Infeasible")
}

/// The whole pod's requests, if they name at least one resource that may stand there.
fn pod_level(pod: &Pod) -> Option<&ResourceList> {
    let requests = pod.spec.resources.as_ref()?.requests.as_ref()?;
    requests
        .keys()
        .any(|name| is_pod_level(name))
        .then_some(requests)
}

fn is_pod_level(resource: &str) -> bool {
    resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-")
}

fn defaults() -> Exact {
    Exact::from([
        ("cpu".to_owned(), DEFAULT_CPU),
        ("memory".to_owned(), DEFAULT_MEMORY),
    ])
}

fn spec(container: &Container) -> Exact {
    optional(container.resources.requests.as_ref())
}

fn optional(list: Option<&ResourceList>) -> Exact {
    list.map(exact).unwrap_or_default()
}

fn exact(list: &ResourceList) -> Exact {
    list.iter()
        .map(|(name, quantity)| (name.clone(), quantity.nanos()))
        .collect()
}

fn add(total: &mut Exact, more: &Exact) {
    for (name, nanos) in more {
        let sum = total.entry(name.clone()).or_insert(0);
        *sum = sum.saturating_add(*nanos);
    }
}

fn raise(total: &mut Exact, other: &Exact) {
    for (name, nanos) in other {
        let most = total.entry(name.clone()).or_insert(*nanos);
        *most = (*most).max(*nanos);
    }
}

fn whole(exact: &Exact) -> Amounts {
    exact
        .iter()
        .filter(|(name, _)| is_tracked(name))
        .map(|(name, nanos)| {
            let unit = if name == "cpu" {
                1_000_000
            } else {
                1_000_000_000
            };
            let rounded = nanos / unit + i128::from(nanos % unit > 0);
            let saturated = rounded.clamp(0, i64::MAX.into());
            (name.clone(), saturated as i64)
        })
        .collect()
}
