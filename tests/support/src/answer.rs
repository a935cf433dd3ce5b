//! One answer of Berth, and how it differs from a golden verdict.

use crate::golden::{BoundClaim, Verdict};
use berth_core::DecisionRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{Debug, Write};

/// Scores of the feasible nodes, sorted by node.
pub type Scores = Vec<NodeScore>;

/// A feasible node's scores.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct NodeScore {
    pub node: String,
    pub total: i64,
    /// Normalised score times weight, by plugin.
    pub plugins: BTreeMap<String, i64>,
}

/// A decision record, whichever face it came from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Answer {
    pub pod: String,
    pub result: String,
    pub node: Option<String>,
    pub field: Option<String>,
    pub error: Option<String>,
    pub feasible: Option<u32>,
    pub evaluated: Option<u32>,
    pub ties: Option<Vec<String>>,
    pub scores: Option<Scores>,
    pub rejected: BTreeMap<String, Vec<String>>,
    /// Not part of a record's JSON; absent when the answer came as such.
    pub unresolvable: Option<Vec<String>>,
    pub message: Option<String>,
    /// What was bound for the pod, where the answer's source tells.
    pub volumes: Option<Vec<BoundClaim>>,
}

impl Answer {
    /// From a record of the core.
    pub fn from_record(record: &DecisionRecord) -> Self {
        let mut json = serde_json::to_value(record).expect("a record is JSON");
        // What is provisioned has no name yet, and a question binds nothing.
        json.as_object_mut().map(|record| record.remove("volumes"));
        let mut answer: Self = serde_json::from_value(json).expect("the record's shape");
        let mut unresolvable = record.unresolvable.clone();
        unresolvable.sort();
        answer.unresolvable = Some(unresolvable);
        answer
    }

    /// From one line of `-o jsonl`.
    pub fn from_line(line: &str) -> Self {
        let mut answer: Self =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        answer.volumes.get_or_insert_default();
        answer
    }

    /// Everything in which this answer differs from `golden`, one line each; empty when equal.
    pub fn differences(&self, golden: &Verdict) -> String {
        let mut text = String::new();
        let mut compare = |what: &str, ours: &dyn Debug, upstream: &dyn Debug| {
            let (ours, upstream) = (format!("{ours:?}"), format!("{upstream:?}"));
            if ours != upstream {
                writeln!(text, "    {what}: {ours}, upstream {upstream}").expect("write to text");
            }
        };
        compare("pod", &self.pod, &golden.pod);
        compare("node", &self.node, &golden.chosen);
        compare("unsupported field", &self.field, &None::<String>);
        compare("gated", &(self.result == "gated"), &golden.gated);
        if golden.gated || golden.error.is_some() {
            // The core's errors are values; their texts are its own.
            let failed = golden.error.is_some();
            compare("an error", &(self.result == "error"), &failed);
            return text;
        }
        compare("error", &self.error, &golden.error);
        if let Some(volumes) = &self.volumes {
            compare("volumes", volumes, &golden.volumes);
        }
        compare("feasible", &self.feasible, &Some(golden.feasible));
        compare("message", &self.message, &golden.message);
        if let Some(count) = golden.ties_count {
            compare(
                "number of ties",
                &self.ties.as_ref().map(Vec::len),
                &Some(count),
            );
        } else {
            compare("ties", &self.ties, &golden.ties);
        }
        if golden.brief {
            compare("best total", &self.best_total(), &golden.best_total);
            return text;
        }
        for (node, ours, upstream) in pairs(&self.rejected, &golden.rejected) {
            compare(&format!("refusal of {node}"), &ours, &upstream);
        }
        compare(
            "scored nodes",
            &self.scores.as_ref().map(node_names),
            &golden.scores.as_ref().map(node_names),
        );
        let mut ours = by_node(self.scores.as_ref());
        let mut upstream = by_node(golden.scores.as_ref());
        if golden.overhead_twice {
            without_balance(&mut ours);
            without_balance(&mut upstream);
        }
        for (node, ours, upstream) in pairs(&ours, &upstream) {
            compare(&format!("scores of {node}"), &ours, &upstream);
        }
        if let Some(unresolvable) = &self.unresolvable {
            compare("unresolvable", unresolvable, &golden.unresolvable);
        }
        text
    }

    /// The message that the refusals add up to: each reason with the number of nodes that gave it.
    pub fn message_of_refusals(&self) -> String {
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        for reason in self.rejected.values().flat_map(|refusal| &refusal[1..]) {
            *counts.entry(reason).or_default() += 1;
        }
        let mut parts: Vec<String> = counts
            .into_iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        parts.sort();
        let nodes = self.rejected.len();
        format!("0/{nodes} nodes are available: {}.", parts.join(", "))
    }

    fn best_total(&self) -> Option<i64> {
        self.scores.as_ref()?.iter().map(|score| score.total).max()
    }
}

fn node_names(scores: &Scores) -> Vec<&str> {
    scores.iter().map(|score| score.node.as_str()).collect()
}

fn by_node(scores: Option<&Scores>) -> BTreeMap<String, (i64, BTreeMap<String, i64>)> {
    scores
        .into_iter()
        .flatten()
        .map(|score| (score.node.clone(), (score.total, score.plugins.clone())))
        .collect()
}

fn without_balance(scores: &mut BTreeMap<String, (i64, BTreeMap<String, i64>)>) {
    for (total, plugins) in scores.values_mut() {
        *total -= plugins
            .remove("NodeResourcesBalancedAllocation")
            .unwrap_or(0);
    }
}

/// The two maps side by side.
fn pairs<'a, V>(
    left: &'a BTreeMap<String, V>,
    right: &'a BTreeMap<String, V>,
) -> impl Iterator<Item = (&'a str, Option<&'a V>, Option<&'a V>)> {
    let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    keys.into_iter()
        .map(|key| (key.as_str(), left.get(key), right.get(key)))
}
