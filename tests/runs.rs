//! Whole runs of kube-scheduler, replayed with exact fidelity: which node was taken, how many were
//! looked at and how many of them were feasible, attempt by attempt. This is what fixes node
//! order, sampling, rotation and the choice among equal scores.
//!
//! The attempts are made in the recorded order. In runs in which every attempt found a node, that
//! order must also be the one that priority and time of entry give.

use berth_core::{Change, Decision, Options, Outcome};
use berth_test_support::golden::full_name;
use berth_test_support::object::{object, pod};
use berth_test_support::replay::Replay;
use berth_test_support::run::{Attempt, Run, Step, runs};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A cluster as the steps of a run have left it.
struct Course {
    replay: Replay,
    /// What was added and is not deleted, by kind and full name.
    objects: BTreeMap<(String, String), Value>,
    /// Pods that wait, in the order in which they came or last failed.
    waiting: Vec<Value>,
}

impl Course {
    fn new(run: &Run) -> Self {
        let (mut nodes, mut pods) = (0, 0);
        for (step, _) in &run.steps {
            match step {
                Step::Add { kind, objects } if kind == "Node" => nodes += objects.len(),
                Step::Add { objects, .. } => pods += objects.len(),
                _ => {}
            }
        }
        Self {
            replay: Replay::new(run.config.as_ref(), Options::default(), nodes, pods),
            objects: BTreeMap::new(),
            waiting: Vec::new(),
        }
    }

    /// Does what a step says to the cluster.
    fn take(&mut self, step: &Step) {
        match step {
            Step::Add { kind, objects } => {
                for json in objects {
                    self.add(kind, json);
                }
            }
            Step::Delete {
                kind,
                namespace,
                name,
            } => self.delete(kind, format!("{namespace}/{name}")),
            Step::Settle => {}
        }
    }

    fn add(&mut self, kind: &str, json: &Value) {
        self.replay.add(kind, json);
        let key = (kind.to_owned(), full_name(json));
        assert_eq!(self.objects.insert(key, json.clone()), None);
        if kind == "Pod" && pod(json).spec.node_name.is_empty() {
            self.waiting.push(json.clone());
        }
    }

    fn delete(&mut self, kind: &str, name: String) {
        self.waiting.retain(|pod| full_name(pod) != name);
        let key = (kind.to_owned(), name);
        let json = self.objects.remove(&key).expect("it was added");
        self.replay.apply(Change::Deleted, &object(kind, &json));
    }

    /// One attempt at a waiting pod, which then waits no more, or behind the others.
    fn attempt(&mut self, name: &str) -> Decision {
        let mut waiting = self.waiting.iter();
        let place = waiting.position(|pod| full_name(pod) == name);
        let json = self.waiting.remove(place.expect("the pod waits"));
        let (namespace, name) = name.split_once('/').expect("a full name");
        let id = self.replay.scheduler.find_pod(namespace, name);
        let decision = self.replay.scheduler.schedule(id.expect("a known pod"));
        if !matches!(decision.outcome, Outcome::Scheduled(_)) {
            self.waiting.push(json);
        }
        decision
    }

    /// The waiting pods by priority, then by time of entry.
    fn queue(&self) -> Vec<String> {
        let mut waiting: Vec<&Value> = self.waiting.iter().collect();
        waiting.sort_by_key(|json| Reverse(pod(json).spec.priority));
        waiting.into_iter().map(full_name).collect()
    }

    /// Panics when the attempt that `decision` ends differs from the recorded one.
    fn compare(&self, what: &str, decision: &Decision, golden: &Attempt) {
        let answer = self.replay.answer(decision);
        assert_eq!(answer.node, golden.node, "{what}: node");
        if golden.node.is_some() {
            assert_eq!(answer.evaluated, golden.evaluated, "{what}: evaluated");
            assert_eq!(answer.feasible, golden.feasible, "{what}: feasible");
        } else {
            let recorded = golden.message.as_deref().and_then(before_preemption);
            assert_eq!(answer.message.as_deref(), recorded, "{what}: message");
        }
    }
}

/// A failure's text without what preemption added to it.
fn before_preemption(text: &str) -> Option<&str> {
    text.split_once(" preemption: ").map(|(text, _)| text)
}

fn replay(set: &str, whole: (usize, usize)) {
    let (mut attempts, mut ordered) = (0, 0);
    for run in runs(set) {
        let mut course = Course::new(&run);
        let places_all = run.places_all();
        for (number, (step, recorded)) in run.steps.iter().enumerate() {
            course.take(step);
            if places_all && matches!(step, Step::Settle) {
                let order = recorded.iter().map(|attempt| &attempt.pod);
                let queue = course.queue();
                assert!(order.eq(&queue), "{} step {number}: {queue:?}", run.name);
            }
            for golden in recorded {
                let what = format!("{} step {number} {}", run.name, golden.pod);
                let decision = course.attempt(&golden.pod);
                course.compare(&what, &decision, golden);
                attempts += 1;
            }
        }
        ordered += usize::from(places_all);
    }
    println!("{set}: {attempts} attempts equal, {ordered} runs in the order of the queue");
    assert_eq!((attempts, ordered), whole, "the set {set} is not whole");
}

#[test]
fn ties_fall_as_in_kube_scheduler() {
    replay("runs-ties", (2154, 30));
}

#[test]
fn nodes_are_sampled_as_in_kube_scheduler() {
    replay("runs-sampling", (1126, 4));
}
