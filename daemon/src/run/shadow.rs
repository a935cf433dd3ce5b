//! `--berth-shadow`: what another scheduler binds, judged.
//!
//! Nothing is written. When a pod that waited turns up with a node, it is evaluated on the state as it
//! was seen until then: is the node feasible, and does it have the best score?

use super::model::Model;
use berth_core::id::PodId;
use berth_core::{DecisionRecord, Detail};

/// What another scheduler's choice comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The node has the best score, or is the only feasible one.
    Best,
    /// Another feasible node has a better score.
    Worse,
    /// The node is refused.
    Infeasible,
    /// The pod or the node cannot be judged.
    Unknown,
}

impl Verdict {
    /// As the metric's label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Worse => "worse",
            Self::Infeasible => "infeasible",
            Self::Unknown => "unknown",
        }
    }
}

/// A judged choice.
#[derive(Clone, Debug)]
pub struct Judged {
    pub pod: String,
    pub node: String,
    pub verdict: Verdict,
    /// Why it is not the best.
    pub why: String,
}

impl Model {
    /// Judges that a waiting pod was bound to this node.
    pub fn judge(&mut self, pod: PodId, node: &str) -> Judged {
        let (namespace, name) = self.scheduler().pod_name(pod);
        let name = format!("{namespace}/{name}");
        let is_there = self.scheduler().find_node(node).is_some();
        let (_, record) = self.intake.explain(pod, Detail::Full);
        let (verdict, why) = if is_there {
            verdict(&record, node)
        } else {
            (Verdict::Unknown, "the node is not known".to_owned())
        };
        Judged {
            pod: name,
            node: node.to_owned(),
            verdict,
            why,
        }
    }
}

fn verdict(record: &DecisionRecord, node: &str) -> (Verdict, String) {
    let refused = record
        .rejected
        .as_ref()
        .and_then(|refused| refused.get(node));
    if let Some(reasons) = refused {
        return (Verdict::Infeasible, reasons.join(": "));
    }
    if let Some(message) = record.error.as_ref().or(record.field.as_ref()) {
        return (Verdict::Unknown, message.clone());
    }
    let Some(scores) = &record.scores else {
        // One feasible node alone is not scored.
        return match &record.node {
            Some(own) if own == node => (Verdict::Best, String::new()),
            _ => (
                Verdict::Infeasible,
                record.message.clone().unwrap_or_default(),
            ),
        };
    };
    let total = |name: &str| {
        let entry = scores.iter().find(|entry| entry.node == name);
        entry.map(|entry| entry.total)
    };
    let best = scores.iter().map(|entry| entry.total).max();
    match (total(node), best) {
        (Some(own), Some(best)) if own == best => (Verdict::Best, String::new()),
        (Some(own), Some(best)) => {
            let chosen = record.node.as_deref().unwrap_or_default();
            let why = format!("its score is {own}, that of {chosen} {best}");
            (Verdict::Worse, why)
        }
        _ => (
            Verdict::Infeasible,
            "it is not among the feasible nodes".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, verdict};
    use berth_core::{DecisionRecord, NodeScore};

    fn record(scores: &[(&str, i64)]) -> DecisionRecord {
        let entry = |(node, total): &(&str, i64)| NodeScore {
            node: (*node).to_owned(),
            total: *total,
            ..NodeScore::default()
        };
        DecisionRecord {
            node: scores.first().map(|(node, _)| (*node).to_owned()),
            scores: (scores.len() > 1).then(|| scores.iter().map(entry).collect()),
            rejected: Some([("n9".to_owned(), vec!["NodePorts".to_owned()])].into()),
            ..DecisionRecord::default()
        }
    }

    #[test]
    fn a_choice_is_best_worse_or_infeasible() {
        let two = record(&[("n1", 300), ("n2", 200), ("n3", 300)]);
        assert_eq!(verdict(&two, "n1").0, Verdict::Best);
        assert_eq!(verdict(&two, "n3").0, Verdict::Best);
        let (worse, why) = verdict(&two, "n2");
        assert_eq!(worse, Verdict::Worse);
        assert_eq!(why, "its score is 200, that of n1 300");
        assert_eq!(
            verdict(&two, "n9"),
            (Verdict::Infeasible, "NodePorts".to_owned())
        );
        assert_eq!(verdict(&two, "n4").0, Verdict::Infeasible);
        let one = record(&[("n1", 0)]);
        assert_eq!(verdict(&one, "n1").0, Verdict::Best);
        assert_eq!(verdict(&one, "n2").0, Verdict::Infeasible);
    }
}
