//! Hints on pods that come, change and go, and on changes of the waiting pod itself.

use super::{Target, is_add};
use crate::class::{ClassView, Section};
use crate::cluster::Cluster;
use crate::cluster::term::AffinityTermView;
use crate::plugins::{node_ports, node_unschedulable};
use crate::queue::event::{Event, PodSide, Resource, action};
use crate::selector::items;

impl<'a> Target<'a> {
    /// Class of a pod in the event.
    pub(super) fn class_of(&self, pod: PodSide) -> ClassView<'a> {
        self.cluster.class(pod.class)
    }

    /// Whether all (or any) of the required terms in a section of `of` match pods of `class`. No
    /// term: not all, and not any.
    fn terms_match(&self, of: ClassView<'_>, section: Section, class: ClassView<'_>) -> bool {
        let mut terms = items(of.section(section)).map(|item| {
            AffinityTermView::read(item)
                .is_some_and(|term| term.matches_without_namespaces(class, &self.cluster.texts))
        });
        if section == Section::Affinity {
            let mut is_any = false;
            terms.all(|matched| {
                is_any = true;
                matched
            }) && is_any
        } else {
            terms.any(|matched| matched)
        }
    }
}

/// The new object tolerates the taint of cordoned nodes. Mirrors NodeUnschedulable.
pub(super) fn tolerates_unschedulable(target: Target<'_>, event: &Event<'_>) -> bool {
    let new = event.pods().1;
    new.is_some_and(|new| {
        !node_unschedulable::refuses(target.class_of(new), true, &target.cluster.known)
    })
}

/// A pod that left held a port that the waiting one wants. Mirrors NodePorts.
pub(super) fn frees_port(target: Target<'_>, event: &Event<'_>) -> bool {
    let Some(old) = event.pods().0.filter(|old| old.is_placed) else {
        return false;
    };
    let held = target.class_of(old).section(Section::Ports);
    let wanted = target.class.section(Section::Ports);
    held.chunks_exact(3)
        .any(|port| node_ports::conflicts(wanted, port, &target.cluster.texts))
}

/// A pod left, or asks for less of something that the waiting pod asks for; or the waiting pod asks
/// for less itself. Mirrors NodeResourcesFit.
pub(super) fn frees_room(target: Target<'_>, event: &Event<'_>) -> bool {
    let (old, new) = event.pods();
    if event.resource == Resource::TargetPod {
        return true;
    }
    let (Some(old), Some(new)) = (old, new) else {
        return old.is_some_and(|old| old.is_placed);
    };
    let (old, new) = (target.class_of(old), target.class_of(new));
    let before = old.class.amounts.status.iter();
    let fell = before.zip(&new.class.amounts.status);
    let main = fell
        .zip(&target.class.class.amounts.status)
        .any(|((before, now), asked)| *asked > 0 && now < before);
    main || target.class.scalars().any(|asked| {
        let of = |class: ClassView<'_>| {
            let mut scalars = class.scalars();
            scalars
                .find(|scalar| scalar.resource == asked.resource)
                .map_or(0, |scalar| scalar.status)
        };
        asked.status > 0 && of(new) < of(old)
    })
}

/// A pod began to match all affinity terms, or ceased to match an anti-affinity term on either
/// side. Mirrors InterPodAffinity, whose hints do not know the labels of namespaces.
pub(super) fn affinity(target: Target<'_>, event: &Event<'_>) -> bool {
    if event.resource == Resource::TargetPod {
        return true;
    }
    let (old, new) = event.pods();
    if old.is_some_and(|old| !old.is_placed) || new.is_some_and(|new| !new.is_placed) {
        return false;
    }
    let near =
        |pod: PodSide| target.terms_match(target.class, Section::Affinity, target.class_of(pod));
    let apart = |pod: PodSide| {
        target.terms_match(target.class, Section::AntiAffinity, target.class_of(pod))
    };
    match (old, new) {
        (Some(old), Some(new)) => !near(old) && near(new) || apart(old) && !apart(new),
        (None, Some(new)) => is_add(event) && near(new),
        (Some(old), None) => {
            apart(old)
                || target.terms_match(target.class_of(old), Section::AntiAffinity, target.class)
        }
        (None, None) => event.action & action::UPDATE != 0,
    }
}

/// The waiting pod needs other features now. Mirrors NodeDeclaredFeatures.
pub(super) fn features(cluster: &Cluster, event: &Event<'_>) -> bool {
    let features = |pod: Option<PodSide>| pod.map(|pod| cluster.class(pod.class).class.features);
    let (old, new) = event.pods();
    features(old) != features(new)
}
