//! The recorded runs of a whole kube-scheduler: steps in, attempts out.

use crate::golden::{parse, whole_configuration};
use crate::read;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// One run.
#[derive(Debug)]
pub struct Run {
    pub name: String,
    /// A whole KubeSchedulerConfiguration, when the defaults were not used.
    pub config: Option<Value>,
    /// Evicted pods stay until they are deleted.
    pub graceful_deletion: bool,
    /// Gates that differ from their defaults.
    pub feature_gates: BTreeMap<String, bool>,
    /// What was done, with the attempts that followed.
    pub steps: Vec<(Step, Vec<Attempt>)>,
    /// What was recorded of each step, whole.
    pub recorded: Vec<Value>,
}

/// Something that was done to the cluster, or a pause in which the scheduler worked.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Step {
    Add {
        kind: String,
        objects: Vec<Value>,
    },
    Delete {
        kind: String,
        #[serde(default)]
        namespace: String,
        name: String,
    },
    /// Replaces objects; what the step does not say of a pod's uid, node and status stays.
    Update {
        kind: String,
        objects: Vec<Value>,
    },
    /// Attempts until nothing waits that could be tried.
    Settle,
    /// The same, again at every tenth of a second until the time is over.
    Advance {
        seconds: f64,
    },
}

/// One attempt at a pod.
#[derive(Clone, Debug, Deserialize)]
pub struct Attempt {
    pub pod: String,
    /// Absent when the attempt failed.
    pub node: Option<String>,
    pub evaluated: Option<u32>,
    pub feasible: Option<u32>,
    /// Of a failed attempt: the event's text, which is cut at 1,024 bytes.
    pub message: Option<String>,
    /// `Unschedulable` or `SchedulerError`, of a failed attempt.
    pub reason: Option<String>,
}

impl Run {
    /// Whether every attempt found a node.
    pub fn places_all(&self) -> bool {
        let mut attempts = self.steps.iter().flat_map(|(_, attempts)| attempts);
        attempts.all(|attempt| attempt.node.is_some())
    }
}

/// The runs of a set.
pub fn runs(set: &str) -> Vec<Run> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InputLine {
        scenario: u64,
        config: Option<Value>,
        #[serde(default)]
        graceful_deletion: bool,
        #[serde(default)]
        feature_gates: BTreeMap<String, bool>,
        steps: Vec<Step>,
    }
    #[derive(Deserialize)]
    struct GoldenLine {
        scenario: u64,
        steps: Vec<Value>,
    }
    #[derive(Deserialize)]
    struct GoldenStep {
        #[serde(default)]
        attempts: Vec<Attempt>,
    }
    let inputs = read(&format!("golden/{set}.inputs.jsonl"));
    let golden = read(&format!("golden/{set}.golden.jsonl"));
    assert_eq!(inputs.lines().count(), golden.lines().count(), "{set}");
    inputs
        .lines()
        .zip(golden.lines())
        .map(|(input, golden)| {
            let input: InputLine = parse(input);
            let golden: GoldenLine = parse(golden);
            assert_eq!(input.scenario, golden.scenario, "{set}");
            assert_eq!(input.steps.len(), golden.steps.len(), "{set}");
            let attempts = golden.steps.iter().map(|step| {
                let step: GoldenStep = serde_json::from_value(step.clone()).expect("a step");
                step.attempts
            });
            Run {
                name: format!("{set}/{}", input.scenario),
                config: input.config.map(whole_configuration),
                graceful_deletion: input.graceful_deletion,
                feature_gates: input.feature_gates,
                steps: input.steps.into_iter().zip(attempts).collect(),
                recorded: golden.steps,
            }
        })
        .collect()
}
