//! `NodeAffinity`: node selector and node affinity of the pod, and affinity added by configuration.
//!
//! Mirrors `plugins/nodeaffinity/node_affinity.go`. Reasons: [`REASON`], [`REASON_ADDED`],
//! [`REASON_CONFLICT`], all unresolvable. Names in required terms narrow the search beforehand.

use super::Plugin;
use crate::class::{ClassView, Section, flag};
use crate::cluster::live::Static;
use crate::cycle::{Attempt, Column, Refusal, Scratch};
use crate::decision::AttemptError;
use crate::intern::{Texts, Word};
use crate::selector::{NodeFacts, items, pairs_hold, term_is_valid, term_matches, term_names_node};

/// The pod's selector or required affinity does not match.
pub const REASON: &str = "node(s) didn't match Pod's node affinity/selector";
/// The profile's `addedAffinity` does not match.
pub const REASON_ADDED: &str = "node(s) didn't match scheduler-enforced node affinity";
/// The names in the required terms leave no node.
pub const REASON_CONFLICT: &str = "pod affinity terms conflict";

/// Whether node selector or required affinity refuse the node. The pod's pin is not asked here.
pub(crate) fn refuses(class: ClassView<'_>, node: NodeFacts<'_>, texts: &Texts) -> bool {
    !pairs_hold(class.section(Section::NodeSelector), node.labels)
        || class.class.has(flag::HAS_REQUIRED_NODE_AFFINITY)
            && !any_term(class.section(Section::RequiredNodeAffinity), node, texts)
}

/// Whether one of the terms matches the node.
pub(crate) fn any_term(terms: &[Word], node: NodeFacts<'_>, texts: &Texts) -> bool {
    items(terms).any(|term| term_matches(term, node, texts))
}

/// Whether a required term names the node by `metadata.name`.
pub(crate) fn names(class: ClassView<'_>, name: Word) -> bool {
    items(class.section(Section::RequiredNodeAffinity)).any(|term| term_names_node(term, name))
}

/// Sum of the weights of preferred terms that match: the pod's, then the profile's (`added`).
pub(crate) fn preferred(
    class: ClassView<'_>,
    added: &[Word],
    node: NodeFacts<'_>,
    texts: &Texts,
) -> u32 {
    let own = items(class.section(Section::PreferredNodeAffinity));
    let matching = own.chain(items(added)).filter_map(|item| {
        let (weight, term) = item.split_first()?;
        term_matches(term.get(1..)?, node, texts).then_some(*weight)
    });
    matching.fold(0, u32::saturating_add)
}

/// Whether a preferred term does not parse, which fails the whole attempt.
pub(crate) fn has_invalid_preferred(class: ClassView<'_>) -> bool {
    items(class.section(Section::PreferredNodeAffinity))
        .any(|item| !item.get(2..).is_some_and(term_is_valid))
}

/// Refuses nodes that the pod's selector, required affinity or pin does not match.
pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    scratch.refuse(Refusal::Affinity, attempt.bits(Static::Affinity));
    if attempt.is_pinned() {
        let row = attempt.pinned_row;
        for block in 0..scratch.alive.words().len() {
            let pin = row
                .filter(|row| *row as usize / 64 == block)
                .map_or(0, |row| 1 << (row % 64));
            scratch.refuse_word(Refusal::Affinity, block, !pin);
        }
    }
}

/// Fails where a preferred term does not parse.
pub(crate) fn pre_score(attempt: Attempt<'_>) -> Result<(), AttemptError> {
    if attempt.live().preferred_invalid {
        return Err(AttemptError::PreferredTerm);
    }
    Ok(())
}

/// Weights of matching preferred terms, scaled by their maximum; skipped without any such list.
pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Result<Column, AttemptError> {
    let added = attempt.plan.has_added_preferred;
    let skips = attempt.plan.pre_scores(Plugin::NodeAffinity);
    if skips && !attempt.class.class.has(flag::HAS_PREFERRED_NODE_AFFINITY) && !added {
        return Ok(Column::Absent);
    }
    pre_score(attempt)?;
    let preferred = attempt.cluster.live.preferred(attempt.slot);
    scratch.copy_raw(preferred);
    Ok(scratch.normalize(Plugin::NodeAffinity, false))
}
