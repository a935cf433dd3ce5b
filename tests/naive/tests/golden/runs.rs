//! Whole runs: the choice among equals, node order, sampling and rotation.
//!
//! Attempts are made in the order in which upstream made them. Where none fails, that order is the
//! queue's first one, and is checked.

use crate::config::Profiles;
use crate::files;
use berth_core::Change;
use berth_core::object::{Node, Object, Pod};
use berth_naive::{Cluster, Options};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Deserialize)]
struct Run {
    scenario: u32,
    config: Option<Value>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Step {
    op: String,
    kind: String,
    namespace: String,
    name: String,
    objects: Vec<Value>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: u32,
    steps: Vec<StepOutcome>,
}

#[derive(Deserialize)]
struct StepOutcome {
    #[serde(default)]
    attempts: Vec<Attempt>,
}

/// Upstream's attempt at one pod.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Attempt {
    pod: String,
    node: Option<String>,
    evaluated: u32,
    feasible: u32,
    message: Option<String>,
}

#[test]
fn ties_are_broken_as_upstream_breaks_them() {
    assert_eq!(runs("runs-ties"), (2_154, 2_003));
}

#[test]
fn nodes_are_sampled_as_upstream_samples_them() {
    assert_eq!(runs("runs-sampling"), (1_126, 1_017));
}

/// Attempts compared, and how many of them found a place.
fn runs(name: &str) -> (usize, usize) {
    let inputs: Vec<Run> = files::lines(&format!("{name}.inputs.jsonl"));
    let outcomes: Vec<Outcome> = files::lines(&format!("{name}.golden.jsonl"));
    assert_eq!(inputs.len(), outcomes.len());
    let mut sum = (0, 0);
    for (run, outcome) in inputs.iter().zip(&outcomes) {
        assert_eq!(run.scenario, outcome.scenario);
        let (compared, placed) = replay(name, run, outcome);
        sum.0 += compared;
        sum.1 += placed;
    }
    sum
}

fn replay(name: &str, run: &Run, outcome: &Outcome) -> (usize, usize) {
    let profiles = Profiles::new(run.config.as_ref(), None);
    let mut attempts = outcome.steps.iter().flat_map(|step| &step.attempts);
    let nobody_fails = attempts.all(|attempt| attempt.node.is_some());
    let mut cluster = Cluster::default();
    let mut pending: Vec<Pod> = Vec::new();
    let mut tally = (0, 0);
    for (number, (step, outcome)) in run.steps.iter().zip(&outcome.steps).enumerate() {
        match step.op.as_str() {
            "add" => add(&mut cluster, &mut pending, step),
            "delete" => delete(&mut cluster, &mut pending, step),
            "settle" => {}
            other => panic!("{name}: step {other}"),
        }
        for expected in &outcome.attempts {
            let place = format!("{name}, scenario {}, step {number}", run.scenario);
            let pod = pop(&place, &mut pending, expected, nobody_fails);
            let profile = profiles.of(&pod);
            let record = cluster.decide(&pod, profile, Options::default());
            tally.0 += 1;
            let Some(node) = &record.node else {
                let message = record.message.unwrap_or_default();
                let upstream = expected.message.as_deref().unwrap_or_default();
                assert!(
                    upstream.starts_with(&format!("{message} preemption: ")),
                    "{place}: {message} is not {upstream}"
                );
                assert_eq!(expected.node, None, "{place}: {}", expected.pod);
                pending.push(pod);
                continue;
            };
            let actual = Attempt {
                pod: record.pod.clone(),
                node: record.node.clone(),
                evaluated: record.evaluated.unwrap_or(0),
                feasible: record.feasible.unwrap_or(0),
                message: None,
            };
            assert_eq!(*expected, actual, "{place}");
            tally.1 += 1;
            cluster.assume(&pod, node);
        }
    }
    tally
}

/// The pod that upstream tried. `first`: it must be the one of the highest priority, and of those
/// the one that came first.
fn pop(place: &str, pending: &mut Vec<Pod>, expected: &Attempt, first: bool) -> Pod {
    let index = pending
        .iter()
        .position(|pod| key(pod) == expected.pod)
        .unwrap_or_else(|| panic!("{place}: {} is not pending", expected.pod));
    if first {
        let priority = |pod: &Pod| pod.spec.priority.unwrap_or(0);
        let top = pending.iter().map(priority).max();
        let next = pending.iter().position(|pod| Some(priority(pod)) == top);
        assert_eq!(next, Some(index), "{place}: {}", expected.pod);
    }
    pending.remove(index)
}

fn add(cluster: &mut Cluster, pending: &mut Vec<Pod>, step: &Step) {
    for object in &step.objects {
        match step.kind.as_str() {
            "Node" => {
                let node: Node = read(object);
                cluster.apply(Change::Added, &Object::Node(Box::new(node)));
            }
            "Pod" => {
                let pod: Pod = read(object);
                if pod.spec.node_name.is_empty() {
                    pending.push(pod);
                } else {
                    cluster.add_pod(pod);
                }
            }
            other => panic!("kind {other}"),
        }
    }
}

fn delete(cluster: &mut Cluster, pending: &mut Vec<Pod>, step: &Step) {
    match step.kind.as_str() {
        "Node" => cluster.remove_node(&step.name),
        "Pod" => {
            let gone = format!("{}/{}", step.namespace, step.name);
            pending.retain(|pod| key(pod) != gone);
            cluster.remove_pod(&step.namespace, &step.name);
        }
        other => panic!("kind {other}"),
    }
}

fn key(pod: &Pod) -> String {
    format!("{}/{}", pod.metadata.namespace, pod.metadata.name)
}

fn read<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).expect("as the API has it")
}
