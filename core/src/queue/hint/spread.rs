//! Hints of PodTopologySpread, which read the hard constraints of the waiting pods.
//!
//! Mirrors `plugins/podtopologyspread/plugin.go`.

use super::Target;
use crate::class::{ClassView, SPREAD_HARD, SPREAD_HONOR_TAINTS, Section};
use crate::intern::Word;
use crate::queue::event::{Event, NodeSide, PodSide, Resource};
use crate::selector::{items, selects};

/// A hard constraint.
#[derive(Clone, Copy)]
struct Hard<'a> {
    key: Word,
    honors_taints: bool,
    /// `None`: the default selector of the pod's Services and owner.
    selector: Option<&'a [Word]>,
}

impl<'a> Target<'a> {
    /// Own hard constraints, or the profile's where the pod has none of either kind; those count
    /// only for pods that a Service or an owner selects.
    fn hard(self) -> impl Iterator<Item = Hard<'a>> {
        let own = self.class.section(Section::Spread);
        let words = if own.is_empty() {
            self.cluster.default_constraints(self.class)
        } else {
            own
        };
        let is_default = own.is_empty();
        let objects = &self.cluster.objects;
        let counts = !is_default
            || objects
                .default_selector_selects(self.class, self.class.labels(), &self.cluster.texts)
                .is_some();
        items(words)
            .filter(move |_| counts)
            .filter_map(move |item| match item {
                [_, key, flags, _, selector @ ..] if flags & SPREAD_HARD != 0 => Some(Hard {
                    key: *key,
                    honors_taints: flags & SPREAD_HONOR_TAINTS != 0,
                    selector: if is_default { None } else { selector.get(1..) },
                }),
                _ => None,
            })
    }

    fn selects(self, constraint: Hard<'_>, pod: ClassView<'_>) -> bool {
        let texts = &self.cluster.texts;
        match constraint.selector {
            Some(selector) => selects(selector, pod.labels(), texts),
            None => self
                .cluster
                .objects
                .default_selector_selects(self.class, pod.labels(), texts)
                .unwrap_or(false),
        }
    }

    fn verdict_flips(self, old: ClassView<'_>, new: ClassView<'_>) -> bool {
        old.section(Section::Labels) != new.section(Section::Labels)
            && self
                .hard()
                .any(|constraint| self.selects(constraint, old) != self.selects(constraint, new))
    }

    fn has_all_keys(self, node: NodeSide<'_>) -> bool {
        self.hard()
            .all(|constraint| node.labels.value(constraint.key).is_some())
    }
}

/// A pod of the namespace that a constraint selects came or went, or is selected differently; or
/// the waiting pod tolerates or is selected differently.
pub(super) fn pod(target: Target<'_>, event: &Event<'_>) -> bool {
    let (old, new) = event.pods();
    let class = |pod: PodSide| target.class_of(pod);
    if event.resource == Resource::TargetPod {
        let (Some(old), Some(new)) = (old.map(class), new.map(class)) else {
            return false;
        };
        let tolerates = old.section(Section::Tolerations) != new.section(Section::Tolerations);
        return tolerates && target.hard().any(|constraint| constraint.honors_taints)
            || target.verdict_flips(old, new);
    }
    let is_foreign =
        |pod: PodSide| !pod.is_placed || class(pod).class.namespace != target.class.class.namespace;
    if old.is_some_and(is_foreign) || new.is_some_and(is_foreign) {
        return false;
    }
    match (old.map(class), new.map(class)) {
        (Some(old), Some(new)) => target.verdict_flips(old, new),
        (Some(pod), None) | (None, Some(pod)) => {
            let mut hard = target.hard();
            hard.any(|constraint| target.selects(constraint, pod))
        }
        (None, None) => false,
    }
}

/// A node with all keys came or went, began or ceased to have them, or moved or changed its taints.
pub(super) fn node(target: Target<'_>, event: &Event<'_>) -> bool {
    match event.nodes() {
        (Some(old), Some(new)) => {
            let has = target.has_all_keys(new);
            if has != target.has_all_keys(old) {
                return true;
            }
            let moved = |constraint: Hard<'_>| {
                old.labels.value(constraint.key) != new.labels.value(constraint.key)
            };
            has && (target.hard().any(moved) || old.taints != new.taints)
        }
        (Some(node), None) | (None, Some(node)) => target.has_all_keys(node),
        (None, None) => false,
    }
}
