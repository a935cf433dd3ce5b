//! Requests and free room in arithmetic that cannot overflow.
//!
//! Written from the rules of component-helpers' `resource/helpers.go` and of NodeResourcesFit, on
//! the JSON of the inputs; shares no code with the core, so that it can judge the core's sums.

use crate::golden::{Input, full_name};
use num_bigint::BigInt;
use serde_json::Value;
use std::collections::BTreeMap;

/// Amounts by resource name, in units of 10^-9.
pub type Amounts = BTreeMap<String, BigInt>;

/// Whether a pod's status takes part in what it requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What a pod that waits asks for.
    Spec,
    /// What a pod takes from its node, with resizing under way counted at its largest.
    Status,
}

/// A quantity in units of 10^-9, rounded away from zero.
pub fn nanos(text: &str) -> BigInt {
    let unsigned = text.trim_start_matches(['+', '-']);
    let number_end = unsigned
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(number_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: BigInt = format!("0{whole}{fraction}").parse().expect("digits");
    let binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    let fraction_digits = i32::try_from(fraction.len()).expect("short");
    let (mantissa, exponent) = if let Some(at) = binary.iter().position(|name| *name == suffix) {
        let power = u32::try_from(at + 1).expect("six suffixes");
        (digits * BigInt::from(1024).pow(power), 0)
    } else if let Some(at) = decimal.iter().position(|name| *name == suffix) {
        (digits, 3 * (i32::try_from(at).expect("ten suffixes") - 3))
    } else {
        let exponent = suffix[1..].parse();
        (
            digits,
            exponent.unwrap_or_else(|_| panic!("quantity {text:?}")),
        )
    };
    let shift = exponent - fraction_digits + 9;
    let power = BigInt::from(10).pow(shift.unsigned_abs());
    let amount = if shift >= 0 {
        mantissa * power
    } else {
        round_up(&mantissa, &power)
    };
    if text.starts_with('-') {
        -amount
    } else {
        amount
    }
}

/// An amount in the unit in which nodes are counted: milli-cores for cpu, else whole units.
pub fn counted(resource: &str, nanos: &BigInt) -> BigInt {
    let unit = if resource == "cpu" {
        1_000_000
    } else {
        1_000_000_000
    };
    round_up(nanos, &BigInt::from(unit))
}

fn round_up(amount: &BigInt, unit: &BigInt) -> BigInt {
    (amount + unit - 1) / unit
}

/// What a pod requests in all.
pub fn requests(pod: &Value, mode: Mode) -> Amounts {
    let spec = &pod["spec"];
    let status = &pod["status"];
    let infeasible = mode == Mode::Status && resize_is_infeasible(status);
    let asked = |container: &Value| amounts(&container["resources"]["requests"]);
    let from_spec = aggregate(spec, &asked);
    let mut total = match mode {
        Mode::Spec => from_spec,
        Mode::Status => {
            let in_force = &status["resources"]["requests"];
            let set_aside = &status["allocatedResources"];
            let parts = if in_force.is_object() && set_aside.is_object() {
                [amounts(set_aside), amounts(in_force)]
            } else {
                let fallback = |container: &Value| {
                    if infeasible {
                        Amounts::new()
                    } else {
                        asked(container)
                    }
                };
                let allocated = |container: &Value| {
                    let list = &container_status(status, container)["allocatedResources"];
                    if list.is_object() {
                        amounts(list)
                    } else {
                        fallback(container)
                    }
                };
                let actuated = |container: &Value| {
                    let list = &container_status(status, container)["resources"]["requests"];
                    if list.is_object() {
                        amounts(list)
                    } else {
                        allocated(container)
                    }
                };
                [aggregate(spec, &allocated), aggregate(spec, &actuated)]
            };
            let start = if infeasible {
                Amounts::new()
            } else {
                from_spec
            };
            parts.iter().fold(start, raise)
        }
    };
    let pod_level = amounts(&spec["resources"]["requests"]);
    if pod_level.keys().any(|name| is_pod_level(name)) {
        let replacing = if mode == Mode::Status && status["resources"].is_object() {
            let start = if infeasible {
                Amounts::new()
            } else {
                pod_level
            };
            let start = raise(start, &amounts(&status["resources"]["requests"]));
            raise(start, &amounts(&status["allocatedResources"]))
        } else {
            pod_level
        };
        total.extend(replacing.into_iter().filter(|(name, _)| is_pod_level(name)));
    }
    add(&mut total, &amounts(&spec["overhead"]));
    total
}

/// Sum of the containers, or what initialising takes, whichever is larger.
pub fn aggregate(spec: &Value, of: &dyn Fn(&Value) -> Amounts) -> Amounts {
    let mut running = Amounts::new();
    let mut sidecars = Amounts::new();
    let mut initialising = Amounts::new();
    for container in list(&spec["containers"]) {
        add(&mut running, &of(container));
    }
    for container in list(&spec["initContainers"]) {
        let mut step = of(container);
        if container["restartPolicy"] == "Always" {
            add(&mut running, &step);
            add(&mut sidecars, &step);
            step = sidecars.clone();
        } else {
            add(&mut step, &sidecars);
        }
        initialising = raise(initialising, &step);
    }
    raise(running, &initialising)
}

/// The quantities of a resource list.
pub fn amounts(list: &Value) -> Amounts {
    list.as_object()
        .into_iter()
        .flatten()
        .map(|(name, amount)| {
            let text = amount.as_str().expect("golden quantities are strings");
            (name.clone(), nanos(text))
        })
        .collect()
}

/// Elements of a JSON list; none when it is absent.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Whether a pod-level request of this resource counts.
pub fn is_pod_level(resource: &str) -> bool {
    matches!(resource, "cpu" | "memory") || resource.starts_with("hugepages-")
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        *sum.entry(name.clone()).or_default() += amount;
    }
}

fn raise(mut highest: Amounts, other: &Amounts) -> Amounts {
    for (name, amount) in other {
        let entry = highest
            .entry(name.clone())
            .or_insert_with(|| amount.clone());
        if *amount > *entry {
            entry.clone_from(amount);
        }
    }
    highest
}

fn resize_is_infeasible(status: &Value) -> bool {
    list(&status["conditions"])
        .iter()
        .find(|condition| condition["type"] == "PodResizePending")
        .is_some_and(|condition| condition["reason"] == "Infeasible")
}

fn container_status<'a>(status: &'a Value, container: &Value) -> &'a Value {
    let running = list(&status["containerStatuses"]).iter();
    let initialising = list(&status["initContainerStatuses"]).iter();
    running
        .chain(initialising)
        .find(|status| status["name"] == container["name"])
        .unwrap_or(&Value::Null)
}

/// Exact room on every node.
#[derive(Debug, Default)]
pub struct Room {
    nodes: BTreeMap<String, NodeRoom>,
}

#[derive(Debug, Default)]
struct NodeRoom {
    /// In counted units; at least 0, and at most the largest `i64`, which Berth saturates at.
    allocatable: BTreeMap<String, BigInt>,
    /// In counted units.
    requested: BTreeMap<String, BigInt>,
    pods: usize,
}

impl Room {
    /// The nodes of `input` with its bound pods on them.
    pub fn of(input: &Input) -> Self {
        let mut room = Self::default();
        for node in &input.nodes {
            let allocatable = amounts(&node["status"]["allocatable"])
                .into_iter()
                .map(|(name, amount)| {
                    let amount = counted(&name, &amount);
                    (name, amount.clamp(BigInt::ZERO, BigInt::from(i64::MAX)))
                })
                .collect();
            let name = node["metadata"]["name"].as_str().expect("a node's name");
            let node = NodeRoom {
                allocatable,
                ..NodeRoom::default()
            };
            room.nodes.insert(name.to_owned(), node);
        }
        for pod in &input.bound_pods {
            let node = pod["spec"]["nodeName"].as_str().expect("a bound pod");
            room.place(pod, Mode::Status, node);
        }
        room
    }

    /// Takes the pod's room from `node`.
    pub fn place(&mut self, pod: &Value, mode: Mode, node: &str) {
        let node = self
            .nodes
            .get_mut(node)
            .unwrap_or_else(|| panic!("{} is on unknown node {node}", full_name(pod)));
        node.pods += 1;
        for (name, amount) in requests(pod, mode) {
            *node.requested.entry(name.clone()).or_default() += counted(&name, &amount);
        }
    }

    /// Names of the nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.nodes.keys().map(String::as_str)
    }

    /// The reasons why the waiting pod does not fit on `node`, in NodeResourcesFit's words and
    /// order; empty when it fits.
    ///
    /// A request beyond `i64` fits nowhere.
    pub fn shortages(&self, pod: &Value, node: &str) -> Vec<String> {
        let node = &self.nodes[node];
        let zero = BigInt::ZERO;
        let mut reasons = Vec::new();
        if BigInt::from(node.pods + 1) > *node.allocatable.get("pods").unwrap_or(&zero) {
            reasons.push("Too many pods".to_owned());
        }
        let mut requests: Vec<(String, BigInt)> = requests(pod, Mode::Spec).into_iter().collect();
        let native = ["cpu", "memory", "ephemeral-storage"];
        requests
            .sort_by_key(|(name, _)| native.iter().position(|known| known == name).unwrap_or(3));
        for (name, amount) in requests {
            let amount = counted(&name, &amount);
            let allocatable = node.allocatable.get(&name).unwrap_or(&zero);
            let free = allocatable - node.requested.get(&name).unwrap_or(&zero);
            if amount > zero && (amount > free || amount > BigInt::from(i64::MAX)) {
                reasons.push(format!("Insufficient {name}"));
            }
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::{BigInt, Mode, Room, counted, nanos};
    use crate::golden::scenarios;

    #[test]
    fn quantities_are_read_exactly_and_rounded_away_from_zero() {
        for (text, expected) in [
            ("1500m", "1500000000"),
            ("1.5Ki", "1536000000000"),
            (".5", "500000000"),
            ("+2", "2000000000"),
            ("1e3", "1000000000000"),
            ("1E-3", "1000000"),
            ("0.1n", "1"),
            ("-1", "-1000000000"),
            ("8Ei", "9223372036854775808000000000"),
            ("50E", "50000000000000000000000000000"),
        ] {
            assert_eq!(nanos(text).to_string(), expected, "{text}");
        }
        assert_eq!(counted("cpu", &nanos("1n")), BigInt::from(1));
        assert_eq!(counted("memory", &nanos("1.2")), BigInt::from(2));
    }

    #[test]
    fn shortages_are_those_that_kube_scheduler_found_where_it_counted_exactly() {
        let mut judged = 0;
        for set in ["random-resources", "random-resources-huge"] {
            for scenario in scenarios(set) {
                let mut room = Room::of(&scenario.input);
                for (pod, verdict) in scenario.input.pods_in_order.iter().zip(&scenario.verdicts) {
                    if verdict.wraps || verdict.error.is_some() {
                        break;
                    }
                    for node in room.nodes() {
                        let refusal = verdict.rejected.get(node).map_or(&[][..], |all| &all[1..]);
                        let what = format!("{} {} on {node}", scenario.name, verdict.pod);
                        assert_eq!(room.shortages(pod, node), refusal, "{what}");
                        judged += 1;
                    }
                    if let Some(node) = &verdict.chosen {
                        room.place(pod, Mode::Spec, node);
                    }
                }
            }
        }
        assert!(judged > 8000, "only {judged} nodes were judged");
    }
}
