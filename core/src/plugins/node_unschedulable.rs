//! `NodeUnschedulable`: a cordoned node takes no pod that does not tolerate it.
//!
//! Mirrors `plugins/nodeunschedulable/node_unschedulable.go`. Reason: [`REASON`], unresolvable.

use crate::class::{ClassView, Section};
use crate::cluster::Known;
use crate::toleration::{TaintView, effect, tolerated};

/// Given for a cordoned node.
pub const REASON: &str = "node(s) were unschedulable";

pub(crate) fn refuses(class: ClassView<'_>, unschedulable: bool, known: &Known) -> bool {
    let taint = TaintView {
        key: known.unschedulable,
        value: known.empty,
        effect: effect::NO_SCHEDULE,
    };
    unschedulable && !tolerated(class.section(Section::Tolerations), taint, |_| true)
}
