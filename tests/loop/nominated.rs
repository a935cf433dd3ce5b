//! Nodes with nominated pods, against the plain rule: a node must take the pod with those of at least
//! its priority on it, and without them.

use super::Course;
use berth_core::{Nomination, Outcome};
use berth_test_support::generate::cases;
use berth_test_support::sample::{merge, node, pod};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const NODES: u32 = 4;

/// A pod by cpus, priority, label, host port.
type Recipe = (u32, i32, u32, u32);

#[derive(Clone, Debug)]
struct World {
    /// With the node that each is on.
    there: Vec<(u32, Recipe)>,
    /// With the node that each is nominated to.
    nominated: Vec<(u32, Recipe)>,
    high: Recipe,
    /// The pod keeps apart from its label.
    apart: bool,
}

fn recipe() -> impl Strategy<Value = Recipe> {
    (0..4_u32, 0..4_i32, 0..2_u32, 0..3_u32)
}

fn worlds() -> impl Strategy<Value = World> {
    let some = |count| prop::collection::vec((0..NODES, recipe()), 0..count);
    (some(6), some(5), recipe(), any::<bool>()).prop_map(|(there, nominated, high, apart)| World {
        there,
        nominated,
        high,
        apart,
    })
}

fn made(name: &str, (cpu, priority, label, port): Recipe) -> Value {
    let mut container = json!({"name": "c", "resources": {"requests": {"cpu": cpu.to_string()}}});
    if port > 0 {
        container["ports"] = json!([{"hostPort": port}]);
    }
    pod(
        name,
        json!({"metadata": {"labels": {"app": format!("l{label}")}},
            "spec": {"containers": [container], "priority": priority}}),
    )
}

impl World {
    fn high(&self) -> Value {
        let mut json = made("high", self.high);
        if self.apart {
            let labels = json!({"app": format!("l{}", self.high.2)});
            let term = json!({"topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": labels}});
            merge(
                &mut json,
                json!({"spec": {"affinity": {"podAntiAffinity":
                    {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}}),
            );
        }
        json
    }

    /// Nodes and the pods on them.
    fn cluster(&self) -> Course {
        let mut course = Course::new(&[]);
        for at in 0..NODES {
            course
                .replay
                .add("Node", &node(&format!("n{at}"), json!({})));
        }
        for (at, (node, recipe)) in self.there.iter().enumerate() {
            let mut json = made(&format!("t{at}"), *recipe);
            json["spec"]["nodeName"] = json!(format!("n{node}"));
            course.replay.add("Pod", &json);
        }
        course
    }

    /// Nodes that take the pod when those nominated to `on` are on it.
    fn takes(&self, on: Option<u32>) -> BTreeSet<String> {
        let mut course = self.cluster();
        for (at, (node, recipe)) in self.nominated.iter().enumerate() {
            if Some(*node) == on && recipe.1 >= self.high.1 {
                let mut json = made(&format!("x{at}"), *recipe);
                json["spec"]["nodeName"] = json!(format!("n{node}"));
                course.replay.add("Pod", &json);
            }
        }
        let id = course.replay.add_pod(&self.high());
        let scheduler = &mut course.replay.scheduler;
        let decision = scheduler.evaluate(id);
        let feasible = scheduler.feasible(&decision);
        feasible
            .map(|(node, _)| scheduler.node(node).name.to_owned())
            .collect()
    }

    fn expected(&self) -> BTreeSet<String> {
        let plain = self.takes(None);
        let name = |at: u32| format!("n{at}");
        let both = (0..NODES).filter(|at| plain.contains(&name(*at)));
        both.filter(|at| self.takes(Some(*at)).contains(&name(*at)))
            .map(name)
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(150),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/loop.regressions",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn nominated_places_are_kept_as_the_plain_rule_says(world in worlds()) {
        let mut course = world.cluster();
        for (at, (node, recipe)) in world.nominated.iter().enumerate() {
            let mut json = made(&format!("x{at}"), *recipe);
            // Held at its gate, it keeps its nomination and is not tried.
            merge(&mut json, json!({"spec": {"schedulingGates": [{"name": "g"}]},
                "status": {"nominatedNodeName": format!("n{node}")}}));
            course.replay.add("Pod", &json);
        }
        let before = course.replay.scheduler.state_hash();
        course.replay.add("Pod", &world.high());
        let decision = course.turn().expect("one pod is not gated");
        let scheduler = &course.replay.scheduler;
        let feasible = scheduler.feasible(&decision);
        let ours: BTreeSet<String> =
            feasible.map(|(node, _)| scheduler.node(node).name.to_owned()).collect();
        prop_assert_eq!(&ours, &world.expected());
        prop_assert_eq!(decision.evaluated, NODES);
        if let Outcome::Scheduled(node) = decision.outcome {
            prop_assert!(ours.contains(scheduler.node(node).name));
        } else {
            prop_assert_eq!(decision.nomination, Nomination::Keep);
        }
        course.replay.remove_pod(&world.high());
        prop_assert_eq!(course.replay.scheduler.state_hash(), before);
    }
}
