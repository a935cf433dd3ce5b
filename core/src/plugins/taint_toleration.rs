//! `TaintToleration`: hard taints refuse pods that do not tolerate them, soft ones cost score.
//!
//! Mirrors `plugins/tainttoleration/taint_toleration.go`. Reason: [`REASON`], unresolvable.

use super::Plugin;
use crate::class::{ClassView, Section};
use crate::cycle::{Attempt, Column, Scratch};
use crate::intern::Word;
use crate::toleration::{effect, taints, tolerated};

/// Given for the first taint that is not tolerated; neither key nor value is told.
pub const REASON: &str = "node(s) had untolerated taint(s)";

/// Whether a taint of effect `NoSchedule` or `NoExecute` is not tolerated.
pub(crate) fn refuses(class: ClassView<'_>, node_taints: &[Word]) -> bool {
    let tolerations = class.section(Section::Tolerations);
    taints(node_taints).any(|taint| {
        matches!(taint.effect, effect::NO_SCHEDULE | effect::NO_EXECUTE)
            && !tolerated(tolerations, taint, |_| true)
    })
}

/// Taints of effect `PreferNoSchedule` that no toleration for that effect tolerates.
pub(crate) fn count(class: ClassView<'_>, node_taints: &[Word]) -> u32 {
    let tolerations = class.section(Section::Tolerations);
    let soft = |effect: Word| matches!(effect, effect::ANY | effect::PREFER_NO_SCHEDULE);
    taints(node_taints)
        .filter(|taint| taint.effect == effect::PREFER_NO_SCHEDULE)
        .filter(|taint| !tolerated(tolerations, *taint, soft))
        .count() as u32
}

/// Fewer such taints are better: the count, scaled by the maximum and reversed.
pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Column {
    if !attempt.live().has_taint_counts {
        return Column::Constant(100);
    }
    let counts = attempt.cluster.live.taint_counts(attempt.slot);
    scratch.copy_raw(counts);
    scratch.normalize(Plugin::TaintToleration, true)
}
