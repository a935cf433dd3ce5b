//! Extenders as the core sees them: what the caller's hooks may do to nodes, totals and candidates.

use super::{Course, SECOND, START};
use berth_core::id::{NodeId, PodId};
use berth_core::{
    AttemptError, Candidates, Change, Decision, Detail, ExtenderNodes, ExtenderTexts, Fidelity,
    Hooks, NodeSearch, Nomination, Options, Outcome, PluginSet, PostFilter, QueuePart, Scheduler,
};
use berth_test_support::replay::Replay;
use berth_test_support::sample::{node, pod};
use serde_json::{Value, json};

/// Answers for all extenders, and notes what it was asked.
#[derive(Default)]
struct Answers {
    /// Nodes that stay, in this order; `None`: all.
    kept: Option<Vec<NodeId>>,
    /// Nodes that go, with a text and whether for good.
    refused: Vec<(NodeId, u32, bool)>,
    scores: Vec<i64>,
    /// What is left of the candidates.
    candidates: Option<Vec<(NodeId, Vec<PodId>, i64)>>,
    fails: bool,
    asked: Vec<Vec<NodeId>>,
    seen: Vec<(NodeId, Vec<PodId>, i64)>,
}

impl Hooks for Answers {
    fn extenders_filter(&mut self, _: &Scheduler, _: PodId, nodes: &mut ExtenderNodes) -> bool {
        self.asked.push(nodes.nodes().to_vec());
        for (node, text, unresolvable) in &self.refused {
            nodes.refuse(*node, *text, *unresolvable);
        }
        if let Some(kept) = &self.kept {
            nodes.keep(kept);
        }
        !self.fails
    }

    fn extenders_score(&mut self, _: &Scheduler, _: PodId, nodes: &[NodeId], totals: &mut [i64]) {
        for (node, total) in nodes.iter().zip(totals) {
            *total += self.scores.get(node.index()).copied().unwrap_or_default();
        }
    }

    fn extenders_preempt(&mut self, _: &Scheduler, _: PodId, candidates: &mut Candidates) -> bool {
        let list = candidates.iter();
        self.seen = list
            .map(|(node, pods, count)| (node, pods.to_vec(), count))
            .collect();
        if let Some(left) = &self.candidates {
            candidates.clear();
            for (node, victims, violations) in left {
                assert!(candidates.push(*node, victims, *violations));
            }
        }
        !self.fails
    }
}

fn config(more: &Value) -> Value {
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{
            "urlPrefix": "http://127.0.0.1", "filterVerb": "filter", "prioritizeVerb": "prioritize",
            "preemptVerb": "preempt", "weight": 1,
        }],
        "profiles": more,
    })
}

/// Nodes `a`, `b`, `c`, and extenders with every verb.
fn course(profiles: &Value) -> Course {
    let options = Options {
        extenders: true,
        ..Options::default()
    };
    let mut replay = Replay::new(Some(&config(profiles)), options, 16, 64);
    replay.scheduler.advance(START);
    for name in ["a", "b", "c"] {
        replay.add("Node", &node(name, json!({})));
    }
    Course { replay, now: START }
}

fn turn(course: &mut Course, answers: &mut Answers) -> Decision {
    course.now += 1_000_000;
    let decision = course
        .replay
        .scheduler
        .schedule_one_with(course.now, answers);
    decision.expect("a pod waits")
}

fn message(course: &Course, decision: &Decision, texts: &[&str], error: &str) -> String {
    let reasons: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let texts = ExtenderTexts {
        reasons: &reasons,
        error,
    };
    let scheduler = &course.replay.scheduler;
    let record = scheduler.record_with(decision, Detail::Reasons, texts);
    record.message.or(record.error).expect("it says why")
}

const NODES: [NodeId; 3] = [NodeId(0), NodeId(1), NodeId(2)];

#[test]
fn nodes_go_with_a_text_or_without_and_the_pod_waits_for_any_event() {
    let mut course = course(&json!([{}]));
    course.replay.add_pod(&pod("p", json!({})));
    let mut answers = Answers {
        kept: Some(vec![]),
        refused: vec![(NODES[0], 1, false), (NODES[2], 0, true)],
        ..Answers::default()
    };
    let decision = turn(&mut course, &mut answers);
    assert_eq!(answers.asked, [NODES]);
    assert_eq!(decision.outcome, Outcome::Unschedulable);
    assert_eq!(decision.rejectors, PluginSet::EXTERNAL);
    // As upstream: a node that went in silence is not among those that were looked at.
    assert_eq!((decision.feasible, decision.evaluated), (0, 2));
    let told = message(&course, &decision, &["too hot", "too far"], "");
    assert!(
        told.starts_with("0/3 nodes are available: 1 too far, 1 too hot."),
        "{told}"
    );
    let texts = ["too hot".to_owned()];
    let texts = ExtenderTexts {
        reasons: &texts,
        error: "",
    };
    let scheduler = &course.replay.scheduler;
    let record = scheduler.record_with(&decision, Detail::Reasons, texts);
    assert_eq!(
        record.rejected.expect("two were")["c"],
        ["Extender", "too hot"]
    );
    assert_eq!(record.unresolvable, ["c"]);
    course.wait(20 * SECOND);
    course.apply(Change::Added, "Node", &node("d", json!({})));
    let scheduler = &course.replay.scheduler;
    assert_eq!(scheduler.queue_part(decision.pod), Some(QueuePart::Active));
}

#[test]
fn extenders_scores_change_the_choice_and_ties_are_broken_as_without() {
    let mut course = course(&json!([{}]));
    for name in ["p", "q"] {
        course
            .replay
            .add_pod(&pod(name, json!({"spec": {"containers": [{"name": "c"}]}})));
    }
    let mut answers = Answers {
        scores: vec![0, 0, 100],
        ..Answers::default()
    };
    let decision = turn(&mut course, &mut answers);
    assert_eq!(decision.outcome, Outcome::Scheduled(NODES[2]));
    // The order is the extender's, and of equal nodes the first one in it is taken.
    let mut answers = Answers {
        kept: Some(vec![NODES[1], NODES[0]]),
        scores: vec![1000, 1000, 1000],
        ..Answers::default()
    };
    let decision = turn(&mut course, &mut answers);
    let record = course.replay.scheduler.record(&decision, Detail::Full);
    assert_eq!(record.ties.expect("two were scored"), ["a", "b"]);
    assert_eq!(decision.outcome, Outcome::Scheduled(NODES[1]));
}

#[test]
fn more_than_one_node_is_wanted_and_no_pod_is_batched() {
    let none = json!([{"plugins": {"score": {"disabled": [{"name": "*"}]}}}]);
    let mut course = course(&none);
    course.replay.scheduler.set_node_search(NodeSearch::Sampled);
    for name in ["p", "q"] {
        course.replay.add_pod(&pod(name, json!({})));
    }
    let mut answers = Answers::default();
    for _ in 0..2 {
        assert_eq!(turn(&mut course, &mut answers).feasible, 3);
    }
    assert_eq!(answers.asked.len(), 2);
    assert!(answers.asked.iter().all(|asked| asked.len() == 3));
}

/// The twin without extenders; its pods are not batched either.
#[test]
fn extenders_that_agree_to_everything_change_no_decision() {
    for fidelity in [Fidelity::Exact, Fidelity::Best] {
        let mut twins = [true, false].map(|extenders| {
            let options = Options {
                fidelity,
                extenders,
                batching: Some(false),
                ..Options::default()
            };
            let config = extenders.then(|| config(&json!([{}])));
            let mut replay = Replay::new(config.as_ref(), options, 16, 64);
            replay.scheduler.advance(START);
            for number in 0..9 {
                let cpu = json!({"status": {"allocatable": {"cpu": (number % 4 + 2).to_string()}}});
                replay.add("Node", &node(&format!("n{number}"), cpu));
            }
            for number in 0..40 {
                let mut more = sized(&format!("p{number}"), number / 10);
                let cpu = format!("{}m", number * 37 % 11 * 100 + 200);
                more["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(cpu);
                replay.add_pod(&more);
            }
            Course { replay, now: START }
        });
        let mut placed = 0;
        for _ in 0..60 {
            let decisions = twins.each_mut().map(|course| {
                course.now += 1_000_000;
                let mut answers = Answers::default();
                let scheduler = &mut course.replay.scheduler;
                let decision = scheduler.schedule_one_with(course.now, &mut answers)?;
                let record = scheduler.record(&decision, Detail::Full);
                Some((decision, record, scheduler.victims().to_vec()))
            });
            assert_eq!(decisions[0], decisions[1]);
            if let Some((decision, ..)) = &decisions[0] {
                placed += usize::from(matches!(decision.outcome, Outcome::Scheduled(_)));
            }
        }
        assert!(placed > 20, "{placed}");
        assert_eq!(
            twins[0].replay.scheduler.loop_hash(),
            twins[1].replay.scheduler.loop_hash()
        );
    }
}

#[test]
fn what_an_extender_may_not_say_is_an_error_of_the_attempt() {
    for (answers, error) in [
        (
            Answers {
                fails: true,
                ..Answers::default()
            },
            AttemptError::Extender,
        ),
        (
            Answers {
                kept: Some(vec![NodeId(7)]),
                ..Answers::default()
            },
            AttemptError::External,
        ),
        (
            Answers {
                kept: Some(vec![NODES[0], NODES[0]]),
                ..Answers::default()
            },
            AttemptError::External,
        ),
    ] {
        let mut course = course(&json!([{}]));
        course.replay.add_pod(&pod("p", json!({})));
        let mut answers = answers;
        let decision = turn(&mut course, &mut answers);
        assert_eq!(decision.outcome, Outcome::Error(error));
        if error == AttemptError::Extender {
            assert_eq!(message(&course, &decision, &[], "it broke"), "it broke");
        }
    }
}

#[test]
fn a_nominated_node_is_asked_about_alone_and_its_refusal_stays() {
    let mut course = course(&json!([{}]));
    let nominated = json!({"status": {"nominatedNodeName": "b"}});
    course.replay.add_pod(&pod("p", nominated));
    let mut answers = Answers {
        kept: Some(vec![]),
        refused: vec![(NODES[1], 0, false)],
        ..Answers::default()
    };
    let decision = turn(&mut course, &mut answers);
    assert_eq!(answers.asked, [vec![NODES[1]], NODES.to_vec()]);
    assert_eq!(decision.evaluated, 1);
    let told = message(&course, &decision, &["busy"], "");
    assert!(
        told.starts_with("0/3 nodes are available: 1 busy."),
        "{told}"
    );
    // Kept, it is the only one that is looked at.
    let nominated = json!({"status": {"nominatedNodeName": "c"}});
    course.replay.add_pod(&pod("q", nominated));
    let mut answers = Answers::default();
    let decision = turn(&mut course, &mut answers);
    assert_eq!(decision.outcome, Outcome::Scheduled(NODES[2]));
    assert_eq!(answers.asked, [[NODES[2]]]);
}

fn sized(name: &str, priority: i32) -> Value {
    pod(
        name,
        json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}],
            "priority": priority, "preemptionPolicy": "PreemptLowerPriority"}}),
    )
}

/// Each node full of one pod, the cheapest on `a`, and a pod that wants a node.
fn full() -> Course {
    let mut course = course(&json!([{}]));
    for (name, priority) in [("a", 1), ("b", 2), ("c", 3)] {
        let mut victim = sized(&format!("on-{name}"), priority);
        victim["spec"]["nodeName"] = json!(name);
        course.replay.add("Pod", &victim);
    }
    course.replay.add_pod(&sized("high", 10));
    course
}

#[test]
fn extenders_choose_among_the_candidates_of_preemption() {
    let mut course = full();
    let victims = ["on-a", "on-b", "on-c"].map(|name| course.id(name));
    let mut answers = Answers {
        candidates: Some(vec![
            (NODES[1], vec![victims[1]], 1),
            (NODES[2], vec![victims[2]], 0),
        ]),
        ..Answers::default()
    };
    let decision = turn(&mut course, &mut answers);
    let seen = [0, 1, 2].map(|at| (NODES[at], vec![victims[at]], 0));
    assert_eq!(answers.seen, seen);
    // Node b's victim is cheaper, but would violate a budget by the extender's count.
    assert_eq!(decision.nomination, Nomination::Node(NODES[2]));
    let going = course.replay.scheduler.victims();
    assert_eq!(going.len(), 1);
    assert_eq!(going[0].pod, victims[2]);
}

#[test]
fn without_candidates_or_with_an_error_nobody_is_evicted() {
    let left = |candidates, fails| Answers {
        candidates,
        fails,
        ..Answers::default()
    };
    let foreign = full().id("on-b");
    for (mut answers, post_filter, text) in [
        (
            left(Some(vec![]), false),
            PostFilter::Vetoed,
            "preemption: no candidate node for preemption",
        ),
        (
            left(Some(vec![(NODES[0], vec![foreign], 0)]), false),
            PostFilter::Vetoed,
            "preemption: no candidate node for preemption",
        ),
        (
            left(None, true),
            PostFilter::ExtenderFailed,
            "preemption: it broke",
        ),
    ] {
        let mut course = full();
        let decision = turn(&mut course, &mut answers);
        assert_eq!(decision.post_filter, post_filter);
        assert_eq!(decision.nomination, Nomination::Keep);
        let told = message(&course, &decision, &[], "it broke");
        assert!(told.ends_with(text), "{told}");
        assert!(course.replay.scheduler.victims().is_empty());
    }
}

#[test]
fn nodes_that_an_extender_refused_for_now_are_candidates_of_preemption() {
    // With its one pod gone the node is as it was for the core, so that the pod may stay: no victim.
    for (unresolvable, expected) in [
        (false, PostFilter::Failed(NODES[1])),
        (true, PostFilter::NoCandidate),
    ] {
        let mut course = course(&json!([{}]));
        let mut low = pod("low", json!({"spec": {"priority": 1}}));
        low["spec"]["nodeName"] = json!("b");
        course.replay.add("Pod", &low);
        let mut high = sized("high", 10);
        high["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
        course.replay.add_pod(&high);
        let mut answers = Answers {
            kept: Some(vec![]),
            refused: NODES.map(|node| (node, 0, unresolvable)).to_vec(),
            ..Answers::default()
        };
        let decision = turn(&mut course, &mut answers);
        assert_eq!(decision.post_filter, expected);
    }
}
