//! External plugins: what they are asked, and what their answers do.

use super::{Course, SECOND, START};
use berth_core::id::{ClassId, NodeId};
use berth_core::{
    AttemptError, Change, Detail, EXTERNAL_PLUGINS_MAX, Hooks, Outcome, PluginSet, QueuePart,
};
use berth_test_support::sample::{bound, node, pod};
use serde_json::json;

/// Refuses nodes by number and scores the others by number, and notes what it was asked.
#[derive(Default)]
struct Rules {
    refused: u64,
    /// What is added to the answer that must not be there.
    stray: u64,
    score: i64,
    fails: bool,
    /// Nodes about which it fails.
    fails_on: u64,
    asked: Vec<(&'static str, ClassId, u64)>,
}

impl Hooks for Rules {
    fn filter(
        &mut self,
        filter: usize,
        class: ClassId,
        feasible: &[u64],
        kept: &mut [u64],
    ) -> bool {
        assert_eq!((filter, feasible), (0, &*kept));
        self.asked.push(("filter", class, feasible[0]));
        kept[0] = kept[0] & !self.refused | self.stray;
        !self.fails && feasible[0] & self.fails_on == 0
    }

    fn score(
        &mut self,
        score: usize,
        class: ClassId,
        feasible: &[u64],
        scores: &mut [i64],
    ) -> bool {
        assert_eq!(score, 0);
        assert!(scores.iter().all(|score| *score == 0));
        self.asked.push(("score", class, feasible[0]));
        scores[2] = self.score;
        !self.fails
    }
}

/// Three equal nodes, a pod, and one plugin of each kind.
fn course() -> Course {
    let nodes = ["a", "b", "c"].map(|name| ("Node", node(name, json!({}))));
    let mut course = Course::new(&nodes);
    let scheduler = &mut course.replay.scheduler;
    scheduler
        .add_filter("Licence", "node(s) had no licence")
        .expect("room");
    scheduler.add_score("Nearness", 3).expect("room");
    course.replay.add_pod(&pod("p", json!({})));
    course
}

#[test]
fn each_plugin_is_asked_once_about_all_nodes() {
    let mut course = course();
    let mut rules = Rules {
        refused: 0b001,
        score: 100,
        ..Rules::default()
    };
    let scheduler = &mut course.replay.scheduler;
    let decision = scheduler
        .schedule_one_with(START, &mut rules)
        .expect("a pod");
    assert_eq!(decision.outcome, Outcome::Scheduled(NodeId(2)));
    let class = scheduler.class_of(decision.pod).expect("a class");
    assert_eq!(
        rules.asked,
        [("filter", class, 0b111), ("score", class, 0b110)]
    );
    let record = scheduler.record(&decision, Detail::Full);
    let rejected = record.rejected.expect("one was refused");
    assert_eq!(rejected["a"], ["Licence", "node(s) had no licence"]);
    let scores = record.scores.expect("two were scored");
    assert_eq!(scores[1].plugins["Nearness"], 300);
    assert_eq!(scores[0].plugins["Nearness"], 0);
    assert_eq!(scores[1].total, scores[0].total + 300);
    assert_eq!(record.ties.as_deref(), Some(&["c".to_owned()][..]));
}

#[test]
fn a_pod_that_an_external_plugin_refuses_everywhere_waits_for_any_event() {
    let mut course = course();
    let mut rules = Rules {
        refused: 0b111,
        ..Rules::default()
    };
    let scheduler = &mut course.replay.scheduler;
    let decision = scheduler
        .schedule_one_with(START, &mut rules)
        .expect("a pod");
    assert_eq!(decision.outcome, Outcome::Unschedulable);
    assert_eq!(decision.rejectors, PluginSet::EXTERNAL);
    let message = scheduler.record(&decision, Detail::Reasons).message;
    let message = message.expect("it says why");
    assert!(
        message.starts_with("0/3 nodes are available: 3 node(s) had no licence."),
        "{message}"
    );
    assert_eq!(
        scheduler.queue_part(decision.pod),
        Some(QueuePart::Unschedulable)
    );
    course.wait(20 * SECOND);
    course.apply(Change::Added, "Node", &node("d", json!({})));
    assert_eq!(
        course.replay.scheduler.queue_part(decision.pod),
        Some(QueuePart::Active)
    );
}

#[test]
fn what_no_plugin_may_say_is_an_error_of_the_attempt() {
    for rules in [
        Rules {
            stray: 1 << 3,
            ..Rules::default()
        },
        Rules {
            score: 101,
            ..Rules::default()
        },
        Rules {
            score: -1,
            ..Rules::default()
        },
        Rules {
            fails: true,
            ..Rules::default()
        },
    ] {
        let (mut course, mut rules) = (course(), rules);
        let scheduler = &mut course.replay.scheduler;
        let before = scheduler.state_hash();
        let id = scheduler.find_pod("default", "p").expect("the pod");
        let failed = Outcome::Error(AttemptError::External);
        assert_eq!(scheduler.evaluate_with(id, &mut rules).outcome, failed);
        assert_eq!(scheduler.schedule_with(id, &mut rules).outcome, failed);
        let decision = scheduler
            .schedule_one_with(START, &mut rules)
            .expect("a pod");
        assert_eq!(decision.outcome, failed);
        assert_eq!(scheduler.state_hash(), before);
        assert_eq!(scheduler.queue_part(id), Some(QueuePart::Backoff));
    }
}

/// Two full nodes, and a pod for which whoever is on either has to go.
fn full() -> Course {
    let full = json!({"spec": {
        "preemptionPolicy": "PreemptLowerPriority",
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}],
    }});
    let mut course = Course::new(&[
        ("Node", node("a", json!({}))),
        ("Node", node("b", json!({}))),
        ("Pod", bound("low-a", "a", full.clone())),
        ("Pod", bound("low-b", "b", full.clone())),
    ]);
    let scheduler = &mut course.replay.scheduler;
    scheduler
        .add_filter("Licence", "node(s) had no licence")
        .expect("room");
    let mut high = pod("high", full);
    high["spec"]["priority"] = json!(10);
    course.replay.add_pod(&high);
    course
}

/// Who is evicted for the pod of [`full`] where.
fn evicts(rules: &mut Rules, chosen: Option<NodeId>) {
    let mut course = full();
    let scheduler = &mut course.replay.scheduler;
    let decision = scheduler.schedule_one_with(START, rules).expect("a pod");
    assert_eq!(decision.outcome, Outcome::Unschedulable);
    assert_eq!(scheduler.nominated_node(decision.pod), chosen);
    assert_eq!(scheduler.victims().len(), usize::from(chosen.is_some()));
}

#[test]
fn b086_b087_nobody_is_evicted_for_a_node_that_an_external_plugin_refuses() {
    for (refused, chosen) in [(0, Some(NodeId(0))), (0b01, Some(NodeId(1))), (0b11, None)] {
        let mut rules = Rules {
            refused,
            ..Rules::default()
        };
        evicts(&mut rules, chosen);
    }
}

#[test]
fn b088_a_candidate_about_which_a_plugin_fails_is_left_out() {
    for (fails_on, chosen) in [
        (0b01, Some(NodeId(1))),
        (0b10, Some(NodeId(0))),
        (0b11, None),
    ] {
        let mut rules = Rules {
            fails_on,
            ..Rules::default()
        };
        evicts(&mut rules, chosen);
    }
}

#[test]
fn there_is_room_for_so_many_external_plugins() {
    let mut course = Course::new(&[]);
    let scheduler = &mut course.replay.scheduler;
    for _ in 0..EXTERNAL_PLUGINS_MAX {
        assert_eq!(scheduler.add_filter("F", "no"), Ok(()));
        assert_eq!(scheduler.add_score("S", 1), Ok(()));
    }
    let full = scheduler.add_filter("F", "no").expect_err("no room");
    assert_eq!(full.which, "external_plugins");
    assert!(scheduler.add_score("S", 1).is_err());
}
