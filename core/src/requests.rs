//! What a pod asks of a node, one resource at a time.
//!
//! Stage before: [`Pod`] objects. Stage after: the classes and the nodes' sums, which ask once for
//! every name that a pod mentions ([`for_each_resource`]). Nothing here allocates.
//!
//! Mirrors `PodRequests` in `k8s.io/component-helpers/resource/helpers.go`, `CalculateResource` in
//! `pkg/scheduler/framework/types.go`, and how
//! `pkg/scheduler/framework/plugins/noderesources` calls them with 1.37's default gates.

mod resource_class;

pub use resource_class::{ResourceClass, class};

use crate::Quantity;
use crate::object::{Container, ContainerStatus, Pod, ResourceList, ResourceRequirements};
use resource_class::HUGE_PAGES_PREFIX;

/// What a container that names no amount of CPU counts as for scores: 100 milli-cores.
const DEFAULT_CPU: Quantity = Quantity::from_nanos(100_000_000);

/// What a container that names no amount of memory counts as for scores: 200 MiB.
const DEFAULT_MEMORY: Quantity = Quantity::from_integer(200 << 20);

/// Who asks, and so which parts of the pod count.
///
/// | | pod-level amounts | status of a resize | defaults for containers |
/// |---|---|---|---|
/// | `Spec` | yes | no | none |
/// | `Score` | never | no | CPU and memory |
/// | `Status` | yes | yes | none |
/// | `NonZero` | yes | yes | CPU and memory, unless the pod level settles them |
///
/// The pod's overhead counts in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `NodeResourcesFit`'s filter. Amounts below zero count as zero, as in its `Resource`.
    Spec,
    /// `NodeResourcesFit`'s score of the pod that is being placed. That pod-level amounts do not
    /// count is upstream's: the scorer reads flags that nobody sets.
    Score,
    /// The node's requested sums, and `NodeResourcesBalancedAllocation`. Amounts below zero stay.
    Status,
    /// The node's non-zero requested sums. Only CPU and memory have defaults; any other resource
    /// is as in `Status`.
    NonZero,
}

/// Which of the pod's lists of a container is summed.
#[derive(Clone, Copy)]
enum Source {
    /// What the spec asks for.
    Spec,
    /// What the kubelet has set aside.
    Allocated,
    /// What is in force.
    Actuated,
}

/// How to count one resource of one pod.
#[derive(Clone, Copy)]
struct Query<'a> {
    pod: &'a Pod,
    resource: &'a str,
    /// Stands in where a container does not name the resource.
    default: Option<Quantity>,
}

/// How much of `resource` the pod asks for, or `None` if nothing in it names the resource.
///
/// Exact, saturating at the limits of [`Quantity`]; rounding to milli-cores or whole units is left
/// to the caller, since it comes after the sums. The cost is linear in the containers, and in
/// containers x container statuses for `Status` and `NonZero`.
pub fn amount(pod: &Pod, mode: Mode, resource: &str) -> Option<Quantity> {
    let plain = Query {
        pod,
        resource,
        default: None,
    };
    match mode {
        Mode::Spec => plain
            .with_overhead(plain.with_pod_level_spec(plain.containers(Source::Spec)))
            .map(|amount| amount.max(Quantity::ZERO)),
        Mode::Score => {
            let query = plain.with_default();
            query.with_overhead(query.containers(Source::Spec))
        }
        Mode::Status => plain.whole_pod_by_status(),
        Mode::NonZero => pod_level_requests(pod)
            .and_then(|_| plain.whole_pod_by_status())
            .or_else(|| plain.with_default().whole_pod_by_status()),
    }
}

impl Query<'_> {
    fn with_default(self) -> Self {
        let default = match self.resource {
            "cpu" => Some(DEFAULT_CPU),
            "memory" => Some(DEFAULT_MEMORY),
            _ => None,
        };
        Self { default, ..self }
    }

    fn of(self, list: Option<&ResourceList>) -> Option<Quantity> {
        list?.get(self.resource).copied()
    }

    /// Spec and status together, pod level and overhead included.
    fn whole_pod_by_status(self) -> Option<Quantity> {
        self.with_overhead(self.with_pod_level_by_status(self.containers_by_status()))
    }

    /// The pod's need by one list: the containers together with all sidecars, or, if that is more,
    /// the init container that needs the most beside the sidecars started before it.
    fn containers(self, source: Source) -> Option<Quantity> {
        let spec = &self.pod.spec;
        let infeasible = is_resize_infeasible(self.pod);
        let asked_by = |container: &Container| {
            self.of(requests(self.pod, container, source, infeasible))
                .or(self.default)
        };
        let mut running = spec.containers.iter().map(asked_by).fold(None, sum);
        let mut sidecars = None;
        let mut starting = None;
        for container in &spec.init_containers {
            let asked = asked_by(container);
            if container.is_sidecar() {
                running = sum(running, asked);
                sidecars = sum(sidecars, asked);
                starting = starting.max(sidecars);
            } else {
                starting = starting.max(sum(asked, sidecars));
            }
        }
        running.max(starting)
    }

    /// The containers' part while a resize may be going on: the most that the node may have to
    /// give. A resize that the node has refused asks for nothing.
    fn containers_by_status(self) -> Option<Quantity> {
        let status = &self.pod.status;
        let in_force = status.resources.as_ref().and_then(requests_of);
        let (allocated, actuated) = match (&status.allocated_resources, in_force) {
            (Some(allocated), Some(in_force)) => {
                (self.of(Some(allocated)), self.of(Some(in_force)))
            }
            _ => (
                self.containers(Source::Allocated),
                self.containers(Source::Actuated),
            ),
        };
        let of_status = allocated.max(actuated);
        if is_resize_infeasible(self.pod) {
            of_status
        } else {
            of_status.max(self.containers(Source::Spec))
        }
    }

    /// A pod-level amount takes the place of the containers', also when it is smaller.
    fn with_pod_level_spec(self, containers: Option<Quantity>) -> Option<Quantity> {
        self.pod_level(pod_level_requests(self.pod)).or(containers)
    }

    fn with_pod_level_by_status(self, containers: Option<Quantity>) -> Option<Quantity> {
        let Some(spec) = pod_level_requests(self.pod) else {
            return containers;
        };
        let status = &self.pod.status;
        let Some(in_force) = &status.resources else {
            return self.pod_level(Some(spec)).or(containers);
        };
        let spec = (!is_resize_infeasible(self.pod)).then_some(spec);
        self.pod_level(spec)
            .max(self.pod_level(in_force.requests.as_ref()))
            .max(self.pod_level(status.allocated_resources.as_ref()))
            .or(containers)
    }

    fn pod_level(self, list: Option<&ResourceList>) -> Option<Quantity> {
        if is_pod_level(self.resource) {
            self.of(list)
        } else {
            None
        }
    }

    fn with_overhead(self, amount: Option<Quantity>) -> Option<Quantity> {
        sum(amount, self.of(Some(&self.pod.spec.overhead)))
    }
}

/// The sum of what is there; nothing and nothing is nothing.
fn sum(a: Option<Quantity>, b: Option<Quantity>) -> Option<Quantity> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        _ => a.or(b),
    }
}

fn requests_of(resources: &ResourceRequirements) -> Option<&ResourceList> {
    resources.requests.as_ref()
}

/// The container's list that `source` means, or the next best one that exists.
fn requests<'a>(
    pod: &'a Pod,
    container: &'a Container,
    source: Source,
    infeasible: bool,
) -> Option<&'a ResourceList> {
    let spec = container.resources.requests.as_ref();
    let status = match source {
        Source::Spec => return spec,
        Source::Allocated | Source::Actuated => find_status(pod, &container.name),
    };
    let in_force = match source {
        Source::Actuated => status
            .and_then(|status| status.resources.as_ref())
            .and_then(requests_of),
        Source::Spec | Source::Allocated => None,
    };
    in_force
        .or_else(|| status.and_then(|status| status.allocated_resources.as_ref()))
        .or(if infeasible { None } else { spec })
}

fn find_status<'a>(pod: &'a Pod, container: &str) -> Option<&'a ContainerStatus> {
    let status = &pod.status;
    status
        .container_statuses
        .iter()
        .chain(&status.init_container_statuses)
        .find(|status| status.name == container)
}

/// Whether the node can never give what the spec asks for now.
fn is_resize_infeasible(pod: &Pod) -> bool {
    pod.status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "PodResizePending")
        .is_some_and(|condition| condition.reason == "Infeasible")
}

/// The pod's own requests, if they name anything that a pod can ask for as a whole.
fn pod_level_requests(pod: &Pod) -> Option<&ResourceList> {
    let requests = pod.spec.resources.as_ref()?.requests.as_ref()?;
    requests
        .keys()
        .any(|name| is_pod_level(name))
        .then_some(requests)
}

fn is_pod_level(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with(HUGE_PAGES_PREFIX)
}

/// Calls `f` with every resource name in any list of requests of the pod, spec and status.
///
/// Names come more than once, in no useful order. CPU and memory are not added where they only
/// have a default ([`Mode::Score`], [`Mode::NonZero`]).
pub fn for_each_resource(pod: &Pod, mut f: impl FnMut(&str)) {
    let (spec, status) = (&pod.spec, &pod.status);
    let containers = spec.containers.iter().chain(&spec.init_containers);
    let statuses = status
        .container_statuses
        .iter()
        .chain(&status.init_container_statuses);
    let lists = containers
        .map(|container| container.resources.requests.as_ref())
        .chain(statuses.flat_map(|status| {
            [
                status.allocated_resources.as_ref(),
                status.resources.as_ref().and_then(requests_of),
            ]
        }))
        .chain([
            spec.resources.as_ref().and_then(requests_of),
            status.resources.as_ref().and_then(requests_of),
            status.allocated_resources.as_ref(),
            Some(&spec.overhead),
        ]);
    for name in lists.flatten().flat_map(ResourceList::keys) {
        f(name);
    }
}

#[cfg(test)]
#[allow(
    clippy::needless_pass_by_value,
    reason = "json!(..) as an argument reads better without a reference"
)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;
    use serde_json::{Value, json};

    const ALL: [Mode; 4] = [Mode::Spec, Mode::Score, Mode::Status, Mode::NonZero];

    fn pod(spec: Value, status: Value) -> Pod {
        serde_json::from_value(json!({"spec": spec, "status": status})).unwrap()
    }

    fn container(name: &str, requests: Value) -> Value {
        json!({"name": name, "resources": {"requests": requests}})
    }

    fn sidecar(name: &str, requests: Value) -> Value {
        let mut container = container(name, requests);
        container["restartPolicy"] = json!("Always");
        container
    }

    /// The amounts of `resource` in the order of [`ALL`], absent ones as `-`.
    fn amounts(pod: &Pod, resource: &str) -> [String; 4] {
        ALL.map(|mode| {
            amount(pod, mode, resource).map_or_else(|| "-".to_string(), |found| found.to_string())
        })
    }

    #[test]
    fn a_sidecar_counts_beside_init_containers_that_start_after_it() {
        let plain = container("init", json!({"cpu": "5"}));
        let proxy = sidecar("proxy", json!({"cpu": "2"}));
        let main = [container("main", json!({"cpu": "1"}))];

        let before = pod(
            json!({"containers": main, "initContainers": [proxy, plain]}),
            json!({}),
        );
        assert_eq!(amounts(&before, "cpu"), ["7"; 4]);

        let after = pod(
            json!({"containers": main, "initContainers": [plain, proxy]}),
            json!({}),
        );
        assert_eq!(amounts(&after, "cpu"), ["5"; 4]);
    }

    #[test]
    fn sidecars_and_containers_outweigh_a_small_init_container() {
        let asked = pod(
            json!({
                "containers": [
                    container("a", json!({"cpu": "1500m", "memory": "1Gi"})),
                    container("b", json!({"cpu": "500m", "nvidia.com/gpu": 1})),
                ],
                "initContainers": [
                    sidecar("proxy", json!({"cpu": "250m"})),
                    container("init", json!({"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": 2})),
                ],
                "overhead": {"cpu": "10m", "example.com/slot": 1},
            }),
            json!({}),
        );
        assert_eq!(amounts(&asked, "cpu"), ["2260m"; 4]);
        // Defaults: a 1Gi, b and the sidecar 200Mi each; init 2Gi beside the sidecar's 200Mi.
        assert_eq!(
            amounts(&asked, "memory"),
            ["2Gi", "2248Mi", "2Gi", "2248Mi"]
        );
        assert_eq!(amounts(&asked, "nvidia.com/gpu"), ["2"; 4]);
        assert_eq!(amounts(&asked, "example.com/slot"), ["1"; 4]);
        assert_eq!(amounts(&asked, "ephemeral-storage"), ["-"; 4]);
    }

    #[test]
    fn a_container_without_requests_counts_by_default_and_an_explicit_zero_does_not() {
        let asked = pod(
            json!({"containers": [
                container("none", json!({})),
                container("zero", json!({"cpu": 0, "memory": "0"})),
            ]}),
            json!({}),
        );
        assert_eq!(amounts(&asked, "cpu"), ["0", "100m", "0", "100m"]);
        assert_eq!(
            amounts(&asked, "memory"),
            ["0", "209715200", "0", "209715200"]
        );
        assert_eq!(amounts(&Pod::default(), "cpu"), ["-"; 4]);
    }

    #[test]
    fn a_pod_level_amount_replaces_the_containers_and_overhead_comes_on_top() {
        let asked = pod(
            json!({
                "containers": [container("a", json!({"cpu": "3", "memory": "1Gi"}))],
                "resources": {"requests": {"cpu": "2", "ephemeral-storage": "1Gi"}},
                "overhead": {"cpu": "250m", "memory": "64Mi"},
            }),
            json!({}),
        );
        assert_eq!(amounts(&asked, "cpu"), ["2250m", "3250m", "2250m", "2250m"]);
        assert_eq!(amounts(&asked, "memory"), ["1088Mi"; 4]);
        assert_eq!(amounts(&asked, "ephemeral-storage"), ["-"; 4]);
    }

    #[test]
    fn beside_pod_level_amounts_only_what_nothing_names_has_a_default() {
        let asked = pod(
            json!({
                "containers": [container("a", json!({})), container("b", json!({}))],
                "resources": {"requests": {"hugepages-2Mi": "4Mi", "cpu": "50m"}},
            }),
            json!({}),
        );
        assert_eq!(amounts(&asked, "cpu"), ["50m", "200m", "50m", "50m"]);
        assert_eq!(
            amounts(&asked, "memory"),
            ["-", "419430400", "-", "419430400"]
        );
        assert_eq!(amounts(&asked, "hugepages-2Mi"), ["4Mi", "-", "4Mi", "4Mi"]);
    }

    fn resize(reason: &str) -> Value {
        json!([{"type": "PodResizePending", "status": "True", "reason": reason}])
    }

    #[test]
    fn a_pending_or_deferred_resize_counts_and_an_infeasible_one_does_not() {
        let spec = json!({"containers": [container("a", json!({"cpu": "8"}))]});
        let statuses = json!([{
            "name": "a",
            "allocatedResources": {"cpu": "1"},
            "resources": {"requests": {"cpu": "1"}},
        }]);
        for (conditions, by_status) in [
            (json!([]), "8"),
            (resize("Deferred"), "8"),
            (resize("Infeasible"), "1"),
        ] {
            let status = json!({"containerStatuses": statuses, "conditions": conditions});
            let asked = pod(spec.clone(), status);
            assert_eq!(amounts(&asked, "cpu"), ["8", "8", by_status, by_status]);
        }
    }

    #[test]
    fn a_smaller_spec_frees_nothing_until_it_is_in_force() {
        let asked = pod(
            json!({"containers": [
                container("a", json!({"cpu": "1"})),
                container("b", json!({"cpu": "4"})),
            ]}),
            json!({
                "containerStatuses": [
                    {"name": "a", "allocatedResources": {"cpu": "1"},
                     "resources": {"requests": {"cpu": "3"}}},
                    {"name": "b", "allocatedResources": {"cpu": "1"}},
                ],
            }),
        );
        // Sums: spec 1 + 4, allocated 1 + 1, in force 3 + 1 (what is not reported is allocated).
        assert_eq!(amounts(&asked, "cpu"), ["5"; 4]);

        let smaller = pod(
            json!({"containers": [container("a", json!({"cpu": "1"}))]}),
            json!({"containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "3"}}}]}),
        );
        assert_eq!(amounts(&smaller, "cpu"), ["1", "1", "3", "3"]);
    }

    #[test]
    fn an_infeasible_resize_without_status_asks_for_nothing_but_defaults() {
        let asked = pod(
            json!({"containers": [container("a", json!({"cpu": "8"}))]}),
            json!({"conditions": resize("Infeasible")}),
        );
        assert_eq!(amounts(&asked, "cpu"), ["8", "8", "-", "100m"]);
    }

    #[test]
    fn pod_level_status_stands_for_all_containers() {
        let spec = json!({
            "containers": [container("a", json!({"cpu": "1", "memory": "1Gi"}))],
            "resources": {"requests": {"cpu": "2"}},
        });
        let status = |reason| {
            json!({
                "conditions": resize(reason),
                "allocatedResources": {"cpu": "1", "memory": "3Gi"},
                "resources": {"requests": {"cpu": "1500m"}},
                "containerStatuses": [{"name": "a", "allocatedResources": {"memory": "9Gi"}}],
            })
        };
        let pending = pod(spec.clone(), status("Deferred"));
        assert_eq!(amounts(&pending, "cpu"), ["2", "1", "2", "2"]);
        assert_eq!(amounts(&pending, "memory"), ["1Gi", "1Gi", "3Gi", "3Gi"]);
        let infeasible = pod(spec, status("Infeasible"));
        assert_eq!(amounts(&infeasible, "cpu"), ["2", "1", "1500m", "1500m"]);
        assert_eq!(amounts(&infeasible, "memory"), ["1Gi", "1Gi", "3Gi", "3Gi"]);
    }

    #[test]
    fn the_filter_never_sees_an_amount_below_zero() {
        let asked = pod(
            json!({"containers": [container("a", json!({"cpu": "-1"}))]}),
            json!({}),
        );
        assert_eq!(amounts(&asked, "cpu"), ["0", "-1", "-1", "-1"]);
    }

    #[test]
    fn every_name_of_every_list_is_told() {
        let asked = pod(
            json!({
                "containers": [container("a", json!({"a.b/1": 1}))],
                "initContainers": [container("i", json!({"a.b/2": 1}))],
                "resources": {"requests": {"a.b/3": 1}},
                "overhead": {"a.b/4": 1},
            }),
            json!({
                "allocatedResources": {"a.b/5": 1},
                "resources": {"requests": {"a.b/6": 1}},
                "containerStatuses": [{"name": "a", "allocatedResources": {"a.b/7": 1}}],
                "initContainerStatuses": [{"name": "i", "resources": {"requests": {"a.b/8": 1}}}],
            }),
        );
        let mut names = Vec::new();
        for_each_resource(&asked, |name| names.push(name.to_string()));
        names.sort();
        let all = (1..=8).map(|number| alloc::format!("a.b/{number}"));
        assert!(names.into_iter().eq(all));
    }
}
