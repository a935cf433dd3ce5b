//! Terms of pod affinity and spread constraints: counts against the twin's walks.

use super::choices::Choices;
use super::twin::Twin;
use berth_core::object::{
    Affinity, Namespace, Object, Pod, PodAffinity, PodAffinityTerm, TopologySpreadConstraint,
    WeightedPodAffinityTerm,
};

const TOPOLOGY_KEYS: [&str; 5] = [
    "zone",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "a",
    "",
];
const NAMESPACES: [&str; 4] = ["default", "other", "third", ""];
const POLICIES: [&str; 3] = ["Honor", "Ignore", "Other"];

/// Nodes in domains, pods on them that have terms of their own, and a pod that asks.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let mut twin = Twin::new();
    for name in ["default", "other"] {
        let mut namespace = Namespace::default();
        name.clone_into(&mut namespace.metadata.name);
        namespace.metadata.labels = choices.labels();
        twin.add(&Object::Namespace(namespace));
    }
    for name in ["n1", "n2", "n3"] {
        let mut node = choices.node(name);
        let zone = choices.one_of(&["z1", "z2"]);
        node.metadata.labels.insert("zone".into(), zone.into());
        node.spec.unschedulable = choices.byte() > 0xf0;
        twin.add(&Object::Node(Box::new(node)));
    }
    for name in ["p1", "p2", "p3"] {
        let mut pod = asking(&mut choices, name);
        pod.spec.node_name = choices.one_of(&["n1", "n2", "n3", "gone"]).into();
        twin.add(&Object::Pod(Box::new(pod)));
    }
    let pod = asking(&mut choices, "asking");
    twin.agree_on(&pod);
}

fn asking(choices: &mut Choices<'_>, name: &str) -> Pod {
    let mut pod = choices.pod(name);
    let near = choices.maybe(pod_affinity);
    let far = choices.maybe(pod_affinity);
    pod.spec.affinity = Some(Affinity {
        node_affinity: None,
        pod_affinity: near,
        pod_anti_affinity: far,
    });
    pod.spec.topology_spread_constraints = choices.list(2, |own| TopologySpreadConstraint {
        max_skew: i32::from(own.byte() as i8),
        topology_key: own.text(&TOPOLOGY_KEYS),
        when_unsatisfiable: own
            .one_of(&["DoNotSchedule", "ScheduleAnyway", "Other"])
            .into(),
        label_selector: own.maybe(Choices::label_selector),
        min_domains: own.maybe(|own| i32::from(own.byte() as i8)),
        node_affinity_policy: own.maybe(|own| own.one_of(&POLICIES).into()),
        node_taints_policy: own.maybe(|own| own.one_of(&POLICIES).into()),
        match_label_keys: own.list(2, Choices::key),
    });
    pod
}

fn pod_affinity(choices: &mut Choices<'_>) -> PodAffinity {
    PodAffinity {
        required: choices.list(2, term),
        preferred: choices.list(2, |own| WeightedPodAffinityTerm {
            weight: i32::from(own.byte()),
            pod_affinity_term: term(own),
        }),
    }
}

fn term(choices: &mut Choices<'_>) -> PodAffinityTerm {
    PodAffinityTerm {
        label_selector: choices.maybe(Choices::label_selector),
        namespaces: choices.list(2, |own| own.text(&NAMESPACES)),
        namespace_selector: choices.maybe(Choices::label_selector),
        topology_key: choices.text(&TOPOLOGY_KEYS),
        match_label_keys: choices.list(2, Choices::key),
        mismatch_label_keys: choices.list(2, Choices::key),
    }
}
