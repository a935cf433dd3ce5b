//! Preemptions in rows: what one finds out about nodes and the next one uses is what the next one would find
//! out itself.

use super::Course;
use super::preemption::{on, sized, terminating};
use berth_core::{Change, Decision, DecisionRecord, Detail, PostFilter};
use berth_test_support::generate::tries;
use berth_test_support::sample::{merge, node};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NODES: usize = 5;

/// Something that happens; numbers are taken as places among what is there.
#[derive(Clone, Debug)]
enum Step {
    Bound {
        cpu: u32,
        priority: i32,
        node: usize,
        start: Option<u8>,
        labelled: bool,
    },
    Deleted(usize),
    Started(usize, Option<u8>),
    Raised(usize, i32),
    Terminates(usize),
    Tainted(usize, bool),
    Shrinks(usize, u32),
    /// A budget that allows so many disruptions of labelled pods.
    Budget(Option<u8>),
    /// A pod comes and is tried; what becomes of it then.
    Tried {
        cpu: u32,
        priority: i32,
        ports: bool,
        then: Then,
    },
}

#[derive(Clone, Copy, Debug)]
enum Then {
    Leaves,
    /// It stays in the queue, nominated where it was.
    Waits,
    /// Its victims go and it comes to the node.
    Wins,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (at, start) = (0_usize..64, proptest::option::of(0_u8..3));
    let then = prop_oneof![4 => Just(Then::Leaves), 2 => Just(Then::Waits), 3 => Just(Then::Wins)];
    let bound = (1_u32..4, 0_i32..4, at.clone(), start.clone(), any::<bool>());
    let bound = bound.prop_map(|(cpu, priority, node, start, labelled)| Step::Bound {
        cpu,
        priority,
        node,
        start,
        labelled,
    });
    let tried = (1_u32..6, 2_i32..5, prop::bool::weighted(0.1), then);
    let tried = tried.prop_map(|(cpu, priority, ports, then)| Step::Tried {
        cpu,
        priority,
        ports,
        then,
    });
    let step = prop_oneof![
        6 => bound,
        1 => at.clone().prop_map(Step::Deleted),
        1 => (at.clone(), start).prop_map(|(at, start)| Step::Started(at, start)),
        1 => (at.clone(), 0_i32..4).prop_map(|(at, to)| Step::Raised(at, to)),
        1 => at.clone().prop_map(Step::Terminates),
        1 => (at.clone(), any::<bool>()).prop_map(|(at, on)| Step::Tainted(at, on)),
        1 => (at, 2_u32..5).prop_map(|(at, cpu)| Step::Shrinks(at, cpu)),
        1 => proptest::option::of(0_u8..2).prop_map(Step::Budget),
        14 => tried,
    ];
    prop::collection::vec(step, 1..60)
}

/// Two schedulers with the same history, one of which forgets.
struct Twins {
    keeping: Course,
    forgetting: Course,
    nodes: Vec<Value>,
    /// Pods that are there, by name.
    pods: BTreeMap<String, Value>,
    budget: Option<Value>,
    count: usize,
}

impl Twins {
    fn new() -> Self {
        let nodes: Vec<Value> = (0..NODES)
            .map(|at| node(&format!("n{at}"), json!({})))
            .collect();
        let objects: Vec<(&str, Value)> = nodes.iter().map(|own| ("Node", own.clone())).collect();
        Self {
            keeping: Course::new(&objects),
            forgetting: Course::new(&objects),
            nodes,
            pods: BTreeMap::new(),
            budget: None,
            count: 0,
        }
    }

    fn apply(&mut self, change: Change, kind: &str, json: &Value) {
        self.keeping.apply(change, kind, json);
        self.forgetting.apply(change, kind, json);
        if kind == "Pod" {
            let name = json["metadata"]["name"]
                .as_str()
                .expect("a name")
                .to_owned();
            if change == Change::Deleted {
                self.pods.remove(&name);
            } else {
                self.pods.insert(name, json.clone());
            }
        }
    }

    fn name(&mut self) -> String {
        self.count += 1;
        format!("p{}", self.count)
    }

    /// Some pod that is there, on a node.
    fn placed(&self, at: usize) -> Option<Value> {
        let mut placed = self
            .pods
            .values()
            .filter(|pod| pod["spec"]["nodeName"].is_string());
        let count = placed.clone().count();
        placed.nth(at.checked_rem(count)?).cloned()
    }

    fn change(&mut self, at: usize, more: Value) {
        if let Some(mut pod) = self.placed(at) {
            merge(&mut pod, more);
            self.apply(Change::Modified, "Pod", &pod);
        }
    }

    fn change_node(&mut self, at: usize, more: Value) {
        let at = at % NODES;
        merge(&mut self.nodes[at], more);
        let node = self.nodes[at].clone();
        self.apply(Change::Modified, "Node", &node);
    }

    fn live(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Bound {
                cpu,
                priority,
                node,
                start,
                labelled,
            } => {
                let mut pod = on(
                    &format!("n{}", node % NODES),
                    sized(&self.name(), cpu, priority),
                );
                merge(&mut pod, started(start));
                if labelled {
                    pod["metadata"]["labels"]["app"] = json!("kept");
                }
                // More than a node holds is allowed, but not what the tables hold.
                if self.pods.len() < 40 {
                    self.apply(Change::Added, "Pod", &pod);
                }
            }
            Step::Deleted(at) => {
                if let Some(pod) = self.placed(at) {
                    self.apply(Change::Deleted, "Pod", &pod);
                }
            }
            Step::Started(at, start) => self.change(at, started(start)),
            Step::Raised(at, priority) => self.change(at, json!({"spec": {"priority": priority}})),
            Step::Terminates(at) => {
                if let Some(pod) = self.placed(at) {
                    self.apply(Change::Modified, "Pod", &terminating(pod));
                }
            }
            Step::Tainted(at, tainted) => {
                let taint = json!({"key": "k", "effect": "NoSchedule"});
                let taints = if tainted { vec![taint] } else { vec![] };
                self.change_node(at, json!({"spec": {"taints": taints}}));
            }
            Step::Shrinks(at, cpu) => {
                let cpu = cpu.to_string();
                self.change_node(at, json!({"status": {"allocatable": {"cpu": cpu}}}));
            }
            Step::Budget(allowed) => self.set_budget(allowed),
            Step::Tried {
                cpu,
                priority,
                ports,
                then,
            } => {
                let mut pod = sized(&self.name(), cpu, priority);
                if ports {
                    pod["spec"]["containers"][0]["ports"] = json!([{"hostPort": 80}]);
                }
                return self.try_pod(&pod, then);
            }
        }
        Ok(())
    }

    fn set_budget(&mut self, allowed: Option<u8>) {
        if let Some(old) = self.budget.take() {
            self.apply(Change::Deleted, "PodDisruptionBudget", &old);
        }
        self.budget = allowed.map(|allowed| {
            json!({
                "metadata": {"name": "b", "namespace": "default"},
                "spec": {"selector": {"matchLabels": {"app": "kept"}}},
                "status": {"disruptionsAllowed": allowed},
            })
        });
        if let Some(new) = self.budget.clone() {
            self.apply(Change::Added, "PodDisruptionBudget", &new);
        }
    }

    fn try_pod(&mut self, pod: &Value, then: Then) -> Result<(), TestCaseError> {
        if self.pods.len() >= 40 {
            return Ok(());
        }
        self.apply(Change::Added, "Pod", pod);
        self.forgetting.replay.scheduler.forget_preemptions();
        let told = [&mut self.keeping, &mut self.forgetting].map(|course| {
            let decision = course.turn();
            decision.map(|decision| (record(course, &decision), decision.post_filter))
        });
        let [told, again] = told;
        prop_assert_eq!(&told, &again);
        let Some((told, post_filter)) = told else {
            return Ok(());
        };
        // Which may be one that waited.
        let name = told.pod.trim_start_matches("default/").to_owned();
        let mut pod = self.pods[&name].clone();
        let node = told.node.clone().or_else(|| told.nominated_node.clone());
        match (then, post_filter, node) {
            (_, _, Some(node)) if told.node.is_some() => {
                pod["spec"]["nodeName"] = json!(node);
                self.apply(Change::Modified, "Pod", &pod);
            }
            (Then::Wins, PostFilter::Placed { .. }, Some(node)) => {
                for victim in &told.victims {
                    let victim = self.pods[victim.trim_start_matches("default/")].clone();
                    self.apply(Change::Deleted, "Pod", &victim);
                }
                pod["spec"]["nodeName"] = json!(node);
                self.apply(Change::Modified, "Pod", &pod);
            }
            (Then::Waits, PostFilter::Placed { .. }, Some(node)) => {
                pod["status"]["nominatedNodeName"] = json!(node);
                self.apply(Change::Modified, "Pod", &pod);
            }
            _ => self.apply(Change::Deleted, "Pod", &pod),
        }
        Ok(())
    }
}

fn started(start: Option<u8>) -> Value {
    let time = start.map(|second| format!("2000-01-01T00:00:0{second}Z"));
    json!({"status": {"startTime": time}})
}

fn record(course: &Course, decision: &Decision) -> DecisionRecord {
    course.replay.scheduler.record(decision, Detail::Reasons)
}

proptest! {
    #![proptest_config(tries(300, "loop"))]

    #[test]
    fn what_was_found_out_before_changes_no_preemption(steps in steps()) {
        let mut twins = Twins::new();
        for step in &steps {
            twins.live(step)?;
        }
    }
}
