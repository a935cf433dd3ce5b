//! Whether a pod may be on a node, all the other pods being where they are.

use super::object::{Namespace, Node, Pod, PodTerm, Port, Spread};
use super::quantity::thousandths;
use super::requirement::{selects, tolerates, wants};
use std::collections::{BTreeMap, BTreeSet};

/// A rule that is against a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Against {
    /// The node has a taint, or is cordoned.
    Taint,
    /// Node selector or required node affinity.
    Selector,
    /// Another pod has a host port that this one wants.
    HostPort,
    /// More than the node's allocatable of this would be requested; `pods` is their number.
    Room(String),
    /// Required affinity to pods.
    Affinity,
    /// Required anti-affinity, this pod's or that of another one there.
    AntiAffinity,
    /// A spread constraint that must hold.
    Spread,
}

/// Pods on nodes.
#[derive(Debug)]
pub(super) struct Places<'a> {
    nodes: BTreeMap<&'a str, &'a Node>,
    namespaces: &'a [Namespace],
    /// Which still run, with their nodes.
    placed: Vec<(&'a Pod, &'a Node)>,
    on_node: BTreeMap<&'a str, Vec<&'a Pod>>,
}

impl<'a> Places<'a> {
    pub(super) fn new(nodes: &'a [Node], pods: &'a [Pod], namespaces: &'a [Namespace]) -> Self {
        let nodes = nodes.iter().map(|node| (node.metadata.name.as_str(), node));
        let mut places = Self {
            nodes: nodes.collect(),
            namespaces,
            placed: Vec::new(),
            on_node: BTreeMap::new(),
        };
        for pod in pods.iter().filter(|pod| !is_finished(pod)) {
            if let Some(node) = places.node(&pod.spec.node_name) {
                places.placed.push((pod, node));
                let name = node.metadata.name.as_str();
                places.on_node.entry(name).or_default().push(pod);
            }
        }
        places
    }

    pub(super) fn node(&self, name: &str) -> Option<&'a Node> {
        self.nodes.get(name).copied()
    }

    /// The first rule against it. Where the pod is now does not count.
    pub(super) fn against(&self, pod: &Pod, node: &Node) -> Option<Against> {
        if !tolerates(pod, node) {
            return Some(Against::Taint);
        }
        if !wants(pod, node) {
            return Some(Against::Selector);
        }
        let there = self.on_node.get(node.metadata.name.as_str());
        let there = there.into_iter().flatten().copied();
        let there: Vec<&Pod> = there.filter(|other| is_other(pod, other)).collect();
        if there.iter().any(|other| ports_clash(pod, other)) {
            return Some(Against::HostPort);
        }
        if let Some(resource) = lacking(pod, node, &there) {
            return Some(Against::Room(resource));
        }
        if !self.has_company(pod, node) {
            return Some(Against::Affinity);
        }
        if self.is_disturbed(pod, node) {
            return Some(Against::AntiAffinity);
        }
        let mut spreads = hard_spreads(pod);
        let uneven = spreads.any(|spread| !self.is_even(pod, node, spread));
        uneven.then_some(Against::Spread)
    }

    fn others(&self, pod: &Pod) -> impl Iterator<Item = (&'a Pod, &'a Node)> {
        let placed = self.placed.iter().copied();
        placed.filter(move |(other, _)| is_other(pod, other))
    }

    /// Every term has a pod in the node's domain, or there is none anywhere and the pod is its own.
    fn has_company(&self, pod: &Pod, node: &Node) -> bool {
        let terms = &pod.spec.affinity.pod_affinity.required;
        let all_match = |other: &Pod| terms.iter().all(|term| self.selected(pod, term, other));
        let first = || all_match(pod) && !self.others(pod).any(|(other, _)| all_match(other));
        let has_keys = terms
            .iter()
            .all(|term| node.metadata.labels.contains_key(&term.topology_key));
        let near = terms.iter().all(|term| {
            self.others(pod)
                .any(|(other, place)| all_match(other) && share(&term.topology_key, node, place))
        });
        has_keys && (near || first())
    }

    fn is_disturbed(&self, pod: &Pod, node: &Node) -> bool {
        self.others(pod).any(|(other, place)| {
            let own = &pod.spec.affinity.pod_anti_affinity.required;
            let theirs = &other.spec.affinity.pod_anti_affinity.required;
            let mut own = own.iter().filter(|term| self.selected(pod, term, other));
            let mut theirs = theirs.iter().filter(|term| self.selected(other, term, pod));
            own.any(|term| share(&term.topology_key, node, place))
                || theirs.any(|term| share(&term.topology_key, node, place))
        })
    }

    /// Whether `owner`'s term means `pod`.
    fn selected(&self, owner: &Pod, term: &PodTerm, pod: &Pod) -> bool {
        let namespace = &pod.metadata.namespace;
        let labels = self.namespaces.iter();
        let labels = labels.filter(|one| one.metadata.name == *namespace);
        let own = term.namespaces.is_empty() && term.namespace_selector.is_none();
        let by_labels = |one: &Namespace| {
            let selector = term.namespace_selector.as_ref();
            selects(selector, &one.metadata.labels)
        };
        let here = own && *namespace == owner.metadata.namespace
            || term.namespaces.contains(namespace)
            || labels.clone().any(by_labels);
        here && selects(term.label_selector.as_ref(), &pod.metadata.labels)
    }

    fn is_even(&self, pod: &Pod, node: &Node, spread: &Spread) -> bool {
        let Some(own) = node.metadata.labels.get(&spread.topology_key) else {
            return false;
        };
        let eligible = |node: &Node| {
            let mut spreads = hard_spreads(pod);
            spreads.all(|one| node.metadata.labels.contains_key(&one.topology_key))
                && (spread.node_affinity_policy == "Ignore" || wants(pod, node))
                && (spread.node_taints_policy != "Honor" || tolerates(pod, node))
        };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for node in self.nodes.values().filter(|node| eligible(node)) {
            counts
                .entry(&node.metadata.labels[&spread.topology_key])
                .or_default();
        }
        for (other, place) in self.others(pod) {
            let counted = eligible(place)
                && other.metadata.deletion_timestamp.is_none()
                && other.metadata.namespace == pod.metadata.namespace
                && spreads_with(pod, spread, other);
            if counted {
                let domain = place.metadata.labels[&spread.topology_key].as_str();
                *counts.entry(domain).or_default() += 1;
            }
        }
        let few = counts.len() < spread.min_domains;
        let least = counts.values().min().filter(|_| !few);
        let least = least.copied().unwrap_or_default();
        let itself = usize::from(spreads_with(pod, spread, pod));
        let there = counts.get(own.as_str()).copied().unwrap_or_default();
        there + itself <= least + spread.max_skew
    }
}

/// Ended, so that it takes no room.
pub(super) fn is_finished(pod: &Pod) -> bool {
    matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")
}

fn is_other(pod: &Pod, other: &Pod) -> bool {
    pod.metadata.uid != other.metadata.uid
}

fn share(key: &str, node: &Node, other: &Node) -> bool {
    let value = node.metadata.labels.get(key);
    value.is_some() && value == other.metadata.labels.get(key)
}

fn hard_spreads(pod: &Pod) -> impl Iterator<Item = &Spread> {
    let spreads = pod.spec.topology_spread_constraints.iter();
    spreads.filter(|spread| spread.when_unsatisfiable == "DoNotSchedule")
}

fn spreads_with(pod: &Pod, spread: &Spread, other: &Pod) -> bool {
    let (own, theirs) = (&pod.metadata.labels, &other.metadata.labels);
    let mut keys = spread.match_label_keys.iter();
    selects(spread.label_selector.as_ref(), theirs)
        && keys.all(|key| {
            own.get(key)
                .is_none_or(|value| theirs.get(key) == Some(value))
        })
}

/// A resource of which the node has too little for all of them.
fn lacking(pod: &Pod, node: &Node, there: &[&Pod]) -> Option<String> {
    let all: Vec<_> = there.iter().copied().chain([pod]).map(requests).collect();
    let room = |resource: &str| {
        let amount = node.status.allocatable.get(resource);
        amount.map_or(0, |amount| thousandths(amount))
    };
    let wanted = requests(pod).into_iter().filter(|(_, amount)| *amount > 0);
    let mut wanted = wanted.map(|(resource, _)| resource);
    let short = wanted.find(|resource| {
        let amounts = all.iter().filter_map(|requests| requests.get(resource));
        amounts.sum::<i128>() > room(resource)
    });
    let crowded = 1_000 * all.len() as i128 > room("pods");
    short.or_else(|| crowded.then(|| "pods".to_owned()))
}

/// What a pod asks for, by resource, in thousandths.
fn requests(pod: &Pod) -> BTreeMap<String, i128> {
    let spec = &pod.spec;
    let containers = spec.containers.iter().chain(&spec.init_containers);
    let mut resources: BTreeSet<&String> = spec.overhead.keys().collect();
    resources.extend(spec.resources.requests.keys());
    resources.extend(containers.flat_map(|container| container.resources.requests.keys()));
    let amounts = resources.into_iter().map(|resource| {
        let of = |amounts: &BTreeMap<String, String>| {
            amounts
                .get(resource)
                .map_or(0, |amount| thousandths(amount))
        };
        // Before the containers run, sidecars stay while the other init containers come and go.
        let (mut sidecars, mut peak) = (0, 0);
        for container in &spec.init_containers {
            let amount = of(&container.resources.requests);
            peak = peak.max(sidecars + amount);
            if container.restart_policy == "Always" {
                sidecars += amount;
            }
        }
        let running = spec.containers.iter();
        let running: i128 = running
            .map(|container| of(&container.resources.requests))
            .sum();
        let whole = match spec.resources.requests.get(resource) {
            Some(amount) => thousandths(amount),
            None => peak.max(sidecars + running),
        };
        (resource.clone(), whole + of(&spec.overhead))
    });
    amounts.collect()
}

fn ports_clash(pod: &Pod, other: &Pod) -> bool {
    let clash = |port: &Port, other: &Port| {
        let anywhere = |port: &Port| matches!(port.host_ip.as_str(), "" | "0.0.0.0");
        let address = anywhere(port) || anywhere(other) || port.host_ip == other.host_ip;
        address && port.host_port == other.host_port && port.protocol == other.protocol
    };
    host_ports(pod).any(|port| host_ports(other).any(|other| clash(port, other)))
}

/// Of containers and of sidecars.
fn host_ports(pod: &Pod) -> impl Iterator<Item = &Port> {
    let sidecars = pod.spec.init_containers.iter();
    let sidecars = sidecars.filter(|container| container.restart_policy == "Always");
    let ports = pod.spec.containers.iter().chain(sidecars);
    let ports = ports.flat_map(|container| &container.ports);
    ports.filter(|port| port.host_port != 0)
}
