//! What is placed, and on what.

use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Node, Object, Pod};
use berth_core::{Capacities, Change, Detail, Fidelity, Options, Outcome, Scheduler};
use serde_json::{Value, json};
use stats_alloc::{Region, StatsAlloc};
use std::alloc::System;
use std::time::Instant;

/// Zones of every cluster.
const ZONES: u32 = 3;
/// Decisions before those that are timed.
const WARM_UP: u32 = 64;

/// A kind of pods.
pub struct Shape {
    pub name: &'static str,
    /// Different pod specs that take turns.
    classes: u32,
    /// Whether the pods fit nowhere.
    fails: bool,
    /// Fields of the pod.
    pod: fn(u32) -> Value,
    /// Pods a node before, of the same kind.
    before: u32,
}

const fn shape(name: &'static str, pod: fn(u32) -> Value) -> Shape {
    Shape {
        name,
        classes: 1,
        fails: false,
        pod,
        before: 0,
    }
}

pub static SHAPES: [Shape; 13] = [
    shape("plain", |_| json!({})),
    Shape {
        before: 10,
        ..shape("plain, 10 pods a node", |_| json!({}))
    },
    Shape {
        classes: 16,
        ..shape("16 classes", |_| json!({}))
    },
    Shape {
        classes: 256,
        ..shape("256 classes", |_| json!({}))
    },
    shape("node-affinity", |_| {
        let terms = json!([{"matchExpressions": [{
            "key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-1", "zone-2"]}]}]);
        json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
    }),
    shape("hard-spreading", |_| spread("DoNotSchedule", 5)),
    shape("soft-spreading", |_| spread("ScheduleAnyway", 5)),
    shape("pod-affinity", |_| {
        affinity("podAffinity", "topology.kubernetes.io/zone")
    }),
    shape("pod-anti-affinity", |_| {
        affinity("podAntiAffinity", "kubernetes.io/hostname")
    }),
    shape("preferred-affinity", |_| {
        let term = json!({"labelSelector": {"matchLabels": {"app": "a"}},
            "topologyKey": "kubernetes.io/hostname"});
        json!({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
            [{"weight": 1, "podAffinityTerm": term}]}}})
    }),
    shape("preferred-anti-affinity", |_| {
        let term = json!({"labelSelector": {"matchLabels": {"app": "a"}},
            "topologyKey": "kubernetes.io/hostname"});
        json!({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
            [{"weight": 1, "podAffinityTerm": term}]}}})
    }),
    shape("daemonset", |number| {
        let terms = json!([{"matchFields": [{
            "key": "metadata.name", "operator": "In", "values": [format!("node-{number}")]}]}]);
        json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
    }),
    Shape {
        fails: true,
        ..shape(
            "fits-nowhere",
            |_| json!({"nodeSelector": {"none": "such"}}),
        )
    },
];

fn spread(when: &str, skew: u32) -> Value {
    json!({"topologySpreadConstraints": [{
        "maxSkew": skew, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": "a"}}}]})
}

fn affinity(kind: &str, key: &str) -> Value {
    let term = json!({"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": key});
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

/// Decisions that are timed.
pub fn rounds(nodes: u32) -> u32 {
    (20_000_000 / nodes).clamp(200, nodes.min(4_000))
}

impl Shape {
    /// Decisions before those that count.
    fn warm_up(&self, nodes: u32) -> u32 {
        WARM_UP.max(self.classes * 2).min(nodes / 2)
    }

    /// Pods that are placed on a small cluster.
    pub fn places(&self, nodes: u32) -> u32 {
        if self.fails {
            0
        } else {
            self.warm_up(nodes) + 1
        }
    }

    /// A pod, on a node or waiting.
    pub fn object(&self, number: u32, node: Option<u32>) -> Object {
        let class = number % self.classes;
        let requests = json!({"cpu": format!("{}m", 100 + class), "memory": "500Mi"});
        let mut spec = (self.pod)(number);
        spec["containers"] = json!([{"name": "main", "resources": {"requests": requests}}]);
        if let Some(node) = node {
            spec["nodeName"] = json!(format!("node-{node}"));
        }
        let name = node.map_or(format!("pod-{number}"), |node| {
            format!("old-{number}-{node}")
        });
        let pod = json!({"metadata": {"name": name, "namespace": "default", "labels": {"app": "a"}},
            "spec": spec});
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        Object::Pod(Box::new(pod))
    }
}

/// A node.
pub fn node(number: u32) -> Object {
    let node = json!({
        "metadata": {"name": format!("node-{number}"), "labels": {
            "kubernetes.io/hostname": format!("node-{number}"),
            "topology.kubernetes.io/zone": format!("zone-{}", number % ZONES)}},
        "status": {"allocatable": {"cpu": "4", "memory": "32Gi", "pods": "110"}},
    });
    let node: Node = serde_json::from_value(node).expect("a node");
    Object::Node(Box::new(node))
}

/// What placing the pods of a shape came to.
pub struct Course {
    /// Nanoseconds a timed decision.
    pub mean: f64,
    /// Pods placed, warm-up included.
    pub placed: u32,
    /// Allocations in the timed part.
    pub allocations: usize,
}

/// A scheduler and its pods.
pub struct Cluster {
    pub scheduler: Scheduler,
    shape: &'static Shape,
    /// Decisions before those that count.
    warm_up: u32,
}

impl Cluster {
    /// A cluster whose queue has pods for so many decisions after the warm-up, with room for as many more.
    pub fn new(shape: &'static Shape, nodes: u32, rounds: u32, options: Options) -> Self {
        let warm_up = shape.warm_up(nodes);
        let pods = warm_up + rounds;
        let capacities = Capacities {
            classes: 512,
            live_classes: 256.min(shape.classes + 1),
            images: 16,
            image_words: 4 * u64::from(nodes) + 64,
            image_counts: 16,
            term_counts: pods + nodes * (1 + shape.before) + 64,
            text_bytes: u64::from(nodes + pods + rounds + nodes * shape.before) * 64 + (1 << 16),
            objects: 64,
            record_words: 1 << 12,
            ..Capacities::for_size(nodes, pods + rounds + nodes * shape.before)
        };
        let config = KubeSchedulerConfiguration::default();
        let scheduler = Scheduler::new(&config, options, capacities).expect("a scheduler");
        let mut cluster = Self {
            scheduler,
            shape,
            warm_up,
        };
        (0..nodes).for_each(|number| cluster.apply(Change::Added, &node(number)));
        for number in 0..nodes * shape.before {
            cluster.apply(Change::Added, &shape.object(number, Some(number % nodes)));
        }
        (0..pods).for_each(|number| cluster.apply(Change::Added, &shape.object(number, None)));
        cluster
    }

    pub fn apply(&mut self, change: Change, object: &Object) {
        let applied = self.scheduler.apply(change, object);
        applied.unwrap_or_else(|error| panic!("{}: {error}", self.shape.name));
    }

    /// Pods that so many decisions placed.
    pub fn decide(&mut self, count: u32) -> u32 {
        (0..count)
            .map(|_| {
                let decision = self.scheduler.schedule_one(1).expect("a pod");
                u32::from(matches!(decision.outcome, Outcome::Scheduled(_)))
            })
            .sum()
    }

    /// The decisions that do not count.
    pub fn warm_up(&mut self) -> u32 {
        self.decide(self.warm_up)
    }
}

/// Best fidelity, and no details.
pub fn best() -> Options {
    Options {
        fidelity: Fidelity::Best,
        preemption: Some(false),
        detail: Some(Detail::None),
        ..Options::default()
    }
}

impl Course {
    pub fn of(
        shape: &'static Shape,
        nodes: u32,
        rounds: u32,
        allocator: &StatsAlloc<System>,
    ) -> Self {
        let mut cluster = Cluster::new(shape, nodes, rounds, best());
        let before = cluster.warm_up();
        let region = Region::new(allocator);
        let begin = Instant::now();
        let placed = cluster.decide(rounds);
        let taken = begin.elapsed();
        Self {
            mean: taken.as_secs_f64() * 1e9 / f64::from(rounds),
            placed: before + placed,
            allocations: region.change().allocations,
        }
    }
}
