//! Victims and nominations.

use super::Course;
use berth_core::id::{NodeId, PodId};
use berth_core::{
    BindOutcome, Change, Detail, Hooks, NoHooks, Nomination, Outcome, PostFilter, QueuePart,
    Scheduler, VictimKind,
};
use berth_test_support::generate::cases;
use berth_test_support::sample::{merge, node, pod};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};

pub(super) fn sized(name: &str, cpu: u32, priority: i32) -> Value {
    let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu.to_string()}}});
    pod(
        name,
        json!({"spec": {"containers": [container], "priority": priority,
            "preemptionPolicy": "PreemptLowerPriority"}}),
    )
}

pub(super) fn on(node: &str, mut pod: Value) -> Value {
    pod["spec"]["nodeName"] = json!(node);
    pod
}

pub(super) fn terminating(mut pod: Value) -> Value {
    pod["metadata"]["deletionTimestamp"] = json!("2000-01-01T00:00:00Z");
    pod
}

/// A full node of two pods of two cpus, and a pod that wants all four.
fn full() -> Course {
    Course::new(&[
        ("Node", node("a", json!({}))),
        ("Pod", on("a", sized("one", 2, 0))),
        ("Pod", on("a", sized("two", 2, 1))),
        ("Pod", sized("high", 4, 10)),
    ])
}

fn victims(course: &Course) -> Vec<(PodId, VictimKind)> {
    let victims = course.replay.scheduler.victims().iter();
    victims.map(|victim| (victim.pod, victim.kind)).collect()
}

#[test]
fn a_preemptor_is_held_until_its_last_victim_goes() {
    for graceful in [false, true] {
        let mut course = full();
        let (one, two, high) = (course.id("one"), course.id("two"), course.id("high"));
        let decision = course.turn().expect("a pod waits");
        assert_eq!(decision.nomination, Nomination::Node(NodeId(0)));
        let evict = VictimKind::Evict;
        assert_eq!(victims(&course), [(two, evict), (one, evict)]);
        if graceful {
            for name in ["two", "one"] {
                let priority = i32::from(name == "two");
                let going = terminating(on("a", sized(name, 2, priority)));
                course.apply(Change::Modified, "Pod", &going);
            }
        }
        course.replay.remove_pod(&sized("two", 2, 1));
        let part = |course: &Course| course.replay.scheduler.queue_part(high);
        if graceful {
            assert_eq!(part(&course), Some(QueuePart::Backoff));
        } else {
            assert_eq!(part(&course), Some(QueuePart::Gated));
        }
        course.replay.remove_pod(&sized("one", 2, 0));
        assert_eq!(part(&course), Some(QueuePart::Backoff));
        let decision = course.turn().expect("its backoff is cut short");
        assert_eq!(decision.outcome, Outcome::Scheduled(NodeId(0)));
    }
}

#[test]
fn evictions_that_fail_bring_the_preemptor_back_at_once() {
    let mut course = full();
    let high = course.id("high");
    course.turn();
    course.replay.scheduler.preemption_failed(high);
    assert_eq!(
        course.replay.scheduler.queue_part(high),
        Some(QueuePart::Active)
    );
}

#[test]
fn of_equal_candidates_the_first_node_is_taken() {
    let mut course = Course::new(&[
        ("Node", node("b", json!({}))),
        ("Node", node("a", json!({}))),
        ("Pod", on("a", sized("one", 4, 0))),
        ("Pod", on("b", sized("two", 4, 0))),
        ("Pod", sized("high", 4, 10)),
    ]);
    let decision = course.turn().expect("a pod waits");
    let first = course.replay.scheduler.find_node("b").expect("it is there");
    assert_eq!(decision.nomination, Nomination::Node(first));
    let record = course.replay.scheduler.record(&decision, Detail::Reasons);
    assert_eq!(record.victims, ["default/two"]);
    assert_eq!(record.nominated_node.as_deref(), Some("b"));
}

#[test]
fn of_equal_victims_the_first_ones_stay() {
    let allocatable = json!({"status": {"allocatable": {"cpu": "20", "pods": "40"}}});
    let mut course = Course::new(&[("Node", node("a", allocatable))]);
    for at in 0..20 {
        let name = format!("p{at}");
        course.replay.add("Pod", &on("a", sized(&name, 1, 0)));
    }
    course.replay.add("Pod", &sized("high", 2, 10));
    course.turn();
    let last = [course.id("p18"), course.id("p19")];
    let chosen: Vec<PodId> = victims(&course).into_iter().map(|(pod, _)| pod).collect();
    assert_eq!(chosen, last);
}

#[test]
fn the_last_pod_takes_the_place_of_one_that_goes() {
    let mut course = Course::new(&[("Node", node("a", json!({})))]);
    for name in ["p0", "p1", "p2", "p3"] {
        course.replay.add("Pod", &on("a", sized(name, 1, 0)));
    }
    // Upstream's list is p0, p3, p2 then, and p2 the last to be spared.
    course.replay.remove_pod(&sized("p1", 1, 0));
    course.replay.add("Pod", &on("a", sized("top", 1, 100)));
    course.replay.add("Pod", &sized("high", 1, 10));
    course.turn();
    let chosen: Vec<PodId> = victims(&course).into_iter().map(|(pod, _)| pod).collect();
    assert_eq!(chosen, [course.id("p2")]);
}

#[test]
fn so_many_candidates_are_tried_as_configured() {
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "DefaultPreemption", "args": {
            "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "DefaultPreemptionArgs",
            "minCandidateNodesPercentage": 67, "minCandidateNodesAbsolute": 1}}]}],
    });
    // Of three nodes two are tried; the third one's victim would cost less.
    let mut course = Course::with_config(&config);
    for (node_name, priority) in [("a", 3), ("b", 2), ("c", 1)] {
        course.replay.add("Node", &node(node_name, json!({})));
        let name = format!("on-{node_name}");
        course
            .replay
            .add("Pod", &on(node_name, sized(&name, 4, priority)));
    }
    course.replay.add("Pod", &sized("high", 4, 10));
    let decision = course.turn().expect("a pod waits");
    let second = course.replay.scheduler.find_node("b").expect("it is there");
    assert_eq!(decision.nomination, Nomination::Node(second));
}

/// Refuses some victims.
struct Policy(Option<PodId>);

impl Hooks for Policy {
    fn allows_victims(&mut self, _: &Scheduler, _: PodId, _: NodeId, victims: &[PodId]) -> bool {
        !victims.iter().any(|victim| Some(*victim) == self.0)
    }
}

#[test]
fn a_policy_from_outside_can_refuse_victims() {
    let mut course = full();
    let mut policy = Policy(Some(course.id("one")));
    course.now += 1;
    let scheduler = &mut course.replay.scheduler;
    let decision = scheduler.schedule_one_with(course.now, &mut policy);
    let decision = decision.expect("a pod waits");
    assert_eq!(decision.post_filter, PostFilter::Vetoed);
    assert_eq!(decision.nomination, Nomination::Keep);
    let record = scheduler.record(&decision, Detail::Reasons);
    let message = record.message.expect("it was not placed");
    assert!(
        message.ends_with("preemption: no candidate node for preemption"),
        "{message}"
    );
    assert!(course.replay.scheduler.victims().is_empty());
}

/// Has work before each binding.
struct Slow;

impl Hooks for Slow {
    fn has_pre_bind(&mut self, _: &Scheduler, _: PodId, _: NodeId) -> bool {
        true
    }
}

/// B093: the wake-up comes when the preemptor is in the queue again.
#[test]
fn a_victim_that_is_not_bound_yet_goes_back_to_the_queue() {
    for pre_bound in [false, true] {
        let mut course =
            Course::new(&[("Node", node("a", json!({}))), ("Pod", sized("low", 4, 0))]);
        let low = course.id("low");
        course.now += 1;
        let scheduler = &mut course.replay.scheduler;
        scheduler.schedule_one_with(course.now, &mut Slow);
        if pre_bound {
            assert!(scheduler.pre_bound(low));
        }
        course.replay.add("Pod", &sized("high", 4, 10));
        let high = course.id("high");
        let decision = course.turn().expect("a pod waits");
        let record = course.replay.scheduler.record(&decision, Detail::Reasons);
        let message = record.message.expect("it fits nowhere");
        // Also where the victim's place is free by now.
        let reasons = "0/1 nodes are available: 1 Insufficient cpu. preemption: ";
        assert!(message.starts_with(reasons), "{message}");
        let rejected = record.rejected.expect("reasons are asked for");
        assert_eq!(rejected["a"], ["NodeResourcesFit", "Insufficient cpu"]);
        let part = |course: &Course, pod| course.replay.scheduler.queue_part(pod);
        if pre_bound {
            assert_eq!(victims(&course), [(low, VictimKind::Evict)]);
            assert_eq!(part(&course, low), Some(QueuePart::Binding));
            continue;
        }
        assert_eq!(victims(&course), [(low, VictimKind::InMemory)]);
        assert_eq!(part(&course, low), Some(QueuePart::Backoff));
        assert_eq!(part(&course, high), Some(QueuePart::Active));
        let scheduler = &mut course.replay.scheduler;
        assert!(!scheduler.pre_bound(low));
        assert!(!scheduler.bound(low, BindOutcome::Bound, course.now));
        let decision = course.turn().expect("the preemptor is active");
        assert_eq!(decision.outcome, Outcome::Scheduled(NodeId(0)));
    }
}

/// A random cluster of a few nodes that are nearly full.
#[derive(Clone, Debug)]
struct World {
    nodes: u32,
    /// Node, cpus, priority, label, host port, wants to be apart from its label.
    pods: Vec<(u32, u32, i32, u32, u32, bool)>,
    /// Label, allowed disruptions.
    budgets: Vec<(u32, i32)>,
    /// Cpus, label, host port, wants to be apart from its label.
    high: (u32, u32, u32, bool),
}

fn worlds() -> impl Strategy<Value = World> {
    let some = (
        0..4_u32,
        1..4_u32,
        0..3_i32,
        0..3_u32,
        0..4_u32,
        any::<bool>(),
    );
    let budgets = prop::collection::vec((0..3_u32, 0..2_i32), 0..3);
    let high = (1..5_u32, 0..3_u32, 0..4_u32, any::<bool>());
    (1..5_u32, prop::collection::vec(some, 0..12), budgets, high).prop_map(
        |(nodes, pods, budgets, high)| World {
            nodes,
            pods,
            budgets,
            high,
        },
    )
}

impl World {
    fn pod(name: &str, cpu: u32, priority: i32, (label, port, apart): (u32, u32, bool)) -> Value {
        let mut json = sized(name, cpu, priority);
        let label = format!("l{label}");
        json["metadata"]["labels"] = json!({"app": label});
        if port > 0 {
            json["spec"]["containers"][0]["ports"] = json!([{"hostPort": port}]);
        }
        if apart {
            let term = json!({"topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app": label}}});
            merge(
                &mut json,
                json!({"spec": {"affinity": {"podAntiAffinity":
                    {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}}),
            );
        }
        json
    }

    /// The cluster without the pods named `gone`, and the pod that preempts.
    fn build(&self, gone: &[String]) -> Course {
        let mut course = Course::new(&[]);
        for at in 0..self.nodes {
            course
                .replay
                .add("Node", &node(&format!("n{at}"), json!({})));
        }
        for (at, (label, allowed)) in self.budgets.iter().enumerate() {
            let budget = json!({"metadata": {"name": format!("b{at}"), "namespace": "default"},
                "spec": {"selector": {"matchLabels": {"app": format!("l{label}")}}},
                "status": {"disruptionsAllowed": allowed}});
            course.replay.add("PodDisruptionBudget", &budget);
        }
        for (at, (node, cpu, priority, label, port, apart)) in self.pods.iter().enumerate() {
            let name = format!("p{at}");
            if gone.contains(&name) {
                continue;
            }
            let json = Self::pod(&name, *cpu, *priority, (*label, *port, *apart));
            let node = format!("n{}", node % self.nodes);
            course.replay.add("Pod", &on(&node, json));
        }
        course.replay.add("Pod", &self.high());
        course
    }

    fn high(&self) -> Value {
        let (cpu, label, port, apart) = self.high;
        Self::pod("high", cpu, 5, (label, port, apart))
    }

    /// Whether the pod fits the node in the cluster without `gone`.
    fn fits(&self, gone: &[String], node: &str) -> bool {
        let mut course = self.build(gone);
        let high = course.id("high");
        let decision = course.replay.scheduler.evaluate(high);
        let node = course.replay.scheduler.find_node(node);
        let mut feasible = course.replay.scheduler.feasible(&decision);
        feasible.any(|(own, _)| Some(own) == node)
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(300),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/loop.regressions",
        ))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_preemption_leaves_the_state_as_it_was_and_takes_only_what_it_must(world in worlds()) {
        let mut course = world.build(&[]);
        let before = course.replay.scheduler.state_hash();
        course.now += 1;
        let decision = course.replay.scheduler.schedule_one_with(course.now, &mut NoHooks);
        let decision = decision.expect("a pod waits");
        if decision.outcome != Outcome::Unschedulable {
            return Ok(());
        }
        prop_assert_eq!(course.replay.scheduler.state_hash(), before);
        let record = course.replay.scheduler.record(&decision, Detail::Reasons);
        let names: Vec<String> = record
            .victims
            .iter()
            .map(|name| name.trim_start_matches("default/").to_owned())
            .collect();
        let PostFilter::Placed { node, .. } = decision.post_filter else {
            prop_assert!(names.is_empty());
            return Ok(());
        };
        let on = course.replay.scheduler.node(node).name.to_owned();
        for name in &names {
            let victim = course.id(name);
            prop_assert!(course.replay.scheduler.priority(victim) < 5);
            prop_assert_eq!(course.replay.scheduler.node_of(victim), Some(node));
            // With this one still there it would not fit.
            let others: Vec<String> = names.iter().filter(|own| *own != name).cloned().collect();
            prop_assert!(!world.fits(&others, &on), "{} need not go", name);
        }
        let mut high = world.high();
        high["status"]["nominatedNodeName"] = json!(on);
        course.apply(Change::Modified, "Pod", &high);
        for name in &names {
            course.replay.remove_pod(&pod(name, json!({})));
        }
        if !course.replay.scheduler.has_ready() {
            // As upstream: a pod that was held when the event came which its rejectors read sleeps
            // on when the last victim's is none for them, until it has waited too long.
            course.wait(330 * super::SECOND);
        }
        let decision = course.turn().expect("the preemptor was woken");
        prop_assert_eq!(decision.outcome, Outcome::Scheduled(node));
        prop_assert_eq!((decision.feasible, decision.evaluated), (1, 1));
    }
}

#[test]
fn a_pod_of_equal_priority_does_not_take_a_nominated_place() {
    let mut course = Course::new(&[
        ("Node", node("a", json!({}))),
        ("Pod", on("a", sized("low", 4, 0))),
        ("Pod", sized("high", 4, 10)),
    ]);
    course.turn();
    course.replay.remove_pod(&sized("low", 4, 0));
    // The nominated pod backs off; another one of its priority comes first.
    course.replay.add("Pod", &sized("rival", 4, 10));
    let rival = course.id("rival");
    let decision = course.turn().expect("a pod waits");
    assert_eq!(
        (decision.pod, decision.outcome),
        (rival, Outcome::Unschedulable)
    );
    let decision = course.turn().expect("the nominated pod is next");
    assert_eq!(decision.outcome, Outcome::Scheduled(NodeId(0)));
}

#[test]
fn of_equal_victims_on_a_node_that_came_back_the_first_known_one_stays() {
    let mut course = Course::new(&[
        ("Node", node("a", json!({}))),
        ("Pod", on("a", sized("gone", 2, 0))),
        ("Pod", on("a", sized("one", 2, 0))),
        ("Pod", on("a", sized("two", 2, 0))),
    ]);
    // Where a pod goes the last one takes its place.
    course.replay.remove_pod(&on("a", sized("gone", 2, 0)));
    course.replay.add("Pod", &sized("high", 2, 10));
    for (comes_back, victim) in [(false, "one"), (true, "two")] {
        if comes_back {
            course.apply(Change::Deleted, "Node", &node("a", json!({})));
            course.replay.add("Node", &node("a", json!({})));
            course.wait(2 * super::SECOND);
        }
        course.turn().expect("a pod waits");
        let expected = [(course.id(victim), VictimKind::Evict)];
        assert_eq!(victims(&course), expected, "came back: {comes_back}");
        let high = course.id("high");
        course.replay.scheduler.preemption_failed(high);
    }
}
