//! Opportunistic batching: the scores of one pod are used again for the next one like it.
//!
//! Mirrors `framework/runtime/batch.go` and `SignPod` of the plugins in kube-scheduler 1.37.2,
//! because it changes decisions: a hinted node that passes the filters is taken without scoring the
//! others anew. With the default profile no pod takes part, as default spread constraints forbid it.
//!
//! After an attempt that scored, the remaining heap is kept. The next attempt takes the next node of
//! it as a hint if it follows directly, its pod has the same signature, and the heap is at most
//! half a second old. The node taken last is rescored first if it still fits.

use crate::capacity::bytes_of;
use crate::class::{ClassView, Section};
use crate::cycle::plan::Plan;
use crate::fixed_vec::FixedVec;
use crate::id::ClassId;
use crate::intern::Word;
use crate::plugins::{Plugin, Point};
use crate::profile::{DefaultConstraints, Profile};
use alloc::vec::Vec;

/// Nanoseconds for which a heap is used.
pub(crate) const AGE_LONGEST: u64 = 500_000_000;

/// Plugins whose raw scores are kept; all others give every such pod 0.
pub(crate) const KEPT: [Plugin; 6] = [
    Plugin::TaintToleration,
    Plugin::NodeAffinity,
    Plugin::NodeResourcesFit,
    Plugin::InterPodAffinity,
    Plugin::NodeResourcesBalancedAllocation,
    Plugin::ImageLocality,
];

/// A node of the heap.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Scored {
    pub(crate) row: u32,
    pub(crate) total: i64,
    /// By place in [`KEPT`]; 0 where the plugin skipped itself.
    pub(crate) raw: [i64; KEPT.len()],
}

/// Whose scores are kept.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Owner {
    /// Held as long as the heap is kept.
    pub(crate) class: ClassId,
    /// Held too.
    pub(crate) pin: Word,
    pub(crate) profile: usize,
}

/// The kept heap, and what the last attempt that succeeded was.
#[derive(Clone)]
pub(crate) struct Batch {
    pub(crate) enabled: bool,
    pub(crate) owner: Option<Owner>,
    /// In the order of the heap's array.
    pub(crate) heap: FixedVec<Scored>,
    /// When the heap was made.
    pub(crate) created: u64,
    pub(crate) last_cycle: u64,
    pub(crate) last_row: u32,
}

impl Batch {
    pub(crate) fn new(rows: usize, enabled: bool) -> Self {
        Self {
            enabled,
            owner: None,
            heap: FixedVec::with_capacity(rows.saturating_add(1)),
            created: 0,
            last_cycle: 0,
            last_row: 0,
        }
    }

    pub(crate) const fn bytes(rows: u64) -> u64 {
        bytes_of::<Scored>(rows.saturating_add(1))
    }
}

/// Makes a heap of the array, as Go's `heap.Init` does.
pub(crate) fn heapify(heap: &mut [Scored]) {
    for root in (0..heap.len() / 2).rev() {
        down(heap, root);
    }
}

/// Takes the best node off, as Go's `heap.Pop` does.
pub(crate) fn pop(heap: &mut Vec<Scored>) -> Option<Scored> {
    let last = heap.len().checked_sub(1)?;
    heap.swap(0, last);
    let best = heap.pop();
    down(heap, 0);
    best
}

fn down(heap: &mut [Scored], from: usize) {
    let is_better = |heap: &[Scored], a: usize, b: usize| {
        let total = |at: usize| heap.get(at).map(|node| node.total);
        total(a) > total(b)
    };
    let mut parent = from;
    loop {
        let left = parent.saturating_mul(2).saturating_add(1);
        if left >= heap.len() {
            return;
        }
        let right = left.saturating_add(1);
        let child = if right < heap.len() && is_better(heap, right, left) {
            right
        } else {
            left
        };
        if !is_better(heap, child, parent) {
            return;
        }
        heap.swap(parent, child);
        parent = child;
    }
}

/// Points at which a plugin contributes to the signature.
const SIGNING: [Point; 4] = [
    Point::PreFilter,
    Point::Filter,
    Point::PreScore,
    Point::Score,
];

/// Plugins that sign pods of a profile, as bits; `None`: no pod of it is signed.
pub(crate) fn signers(profile: &Profile) -> Option<u32> {
    let mut signers = 0;
    for point in SIGNING {
        for plugin in profile.plugins(point) {
            signers |= 1 << *plugin as u32;
        }
    }
    let spreads = signers & 1 << Plugin::PodTopologySpread as u32 != 0;
    let none = match &profile.args.default_constraints {
        DefaultConstraints::System => false,
        DefaultConstraints::List(list) => list.is_empty(),
    };
    (!spreads || none).then_some(signers)
}

/// Whether the pod takes part.
pub(crate) fn is_signed(plan: &Plan, class: ClassView<'_>) -> bool {
    let Some(signers) = plan.signers else {
        return false;
    };
    let signs = |plugin: Plugin| signers & 1 << plugin as u32 != 0;
    let has = |section| !class.section(section).is_empty();
    let related = [
        Section::Affinity,
        Section::AntiAffinity,
        Section::PreferredAffinity,
        Section::PreferredAntiAffinity,
    ];
    !(signs(Plugin::InterPodAffinity) && related.into_iter().any(has)
        || signs(Plugin::PodTopologySpread) && has(Section::Spread))
}

/// Whether two pods of a profile that take part have the same signature: nothing that its plugins
/// read differs.
pub(crate) fn same_signature(plan: &Plan, a: ClassView<'_>, b: ClassView<'_>) -> bool {
    let signers = plan.signers.unwrap_or(0);
    let signs = |plugin: Plugin| signers & 1 << plugin as u32 != 0;
    let same = |section| a.section(section) == b.section(section);
    let resources =
        signs(Plugin::NodeResourcesFit) || signs(Plugin::NodeResourcesBalancedAllocation);
    let tolerations = signs(Plugin::TaintToleration) || signs(Plugin::NodeUnschedulable);
    let labels = signs(Plugin::InterPodAffinity) && !plan.ignore_preferred_terms_of_existing_pods;
    let asked = |class: ClassView<'_>| class.class.amounts.spec;
    let scalars = || {
        let mut ours = a.scalars().map(|scalar| (scalar.resource, scalar.spec));
        let mut theirs = b.scalars().map(|scalar| (scalar.resource, scalar.spec));
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return true,
                (one, other) if one != other => return false,
                _ => {}
            }
        }
    };
    (!resources || asked(a) == asked(b) && scalars())
        && (!signs(Plugin::NodePorts) || same_ports(a, b))
        && (!signs(Plugin::NodeAffinity)
            || a.class.flags == b.class.flags
                && same(Section::NodeSelector)
                && same(Section::RequiredNodeAffinity)
                && same(Section::PreferredNodeAffinity))
        && (!tolerations
            || same_set(
                a.section(Section::Tolerations),
                b.section(Section::Tolerations),
                4,
            ))
        && (!labels || same(Section::Labels))
        && (!signs(Plugin::ImageLocality)
            || same_set(a.section(Section::Images), b.section(Section::Images), 1))
        && (!signs(Plugin::NodeDeclaredFeatures) || a.class.features == b.class.features)
}

/// Host ports by their number alone, in any order.
fn same_ports(a: ClassView<'_>, b: ClassView<'_>) -> bool {
    let numbers = |class: ClassView<'_>, wanted: Word| {
        let mut ports = class.section(Section::Ports).chunks_exact(3);
        ports.any(|port| port.get(1) == Some(&wanted))
    };
    let within = |one: ClassView<'_>, other: ClassView<'_>| {
        let mut ports = one.section(Section::Ports).chunks_exact(3);
        ports.all(|port| port.get(1).is_some_and(|number| numbers(other, *number)))
    };
    within(a, b) && within(b, a)
}

/// The same items of `size` words, in any order.
fn same_set(a: &[Word], b: &[Word], size: usize) -> bool {
    let within = |one: &[Word], other: &[Word]| {
        one.chunks_exact(size)
            .all(|item| other.chunks_exact(size).any(|own| own == item))
    };
    within(a, b) && within(b, a)
}

/// Scales raw scores of one plugin as its normaliser does; `None`: it has none.
pub(crate) fn normalized(plugin: Plugin, raw: i64, lowest: i64, highest: i64) -> Option<i64> {
    Some(match plugin {
        Plugin::TaintToleration | Plugin::NodeAffinity => {
            let top = highest.max(0);
            let scaled = raw.saturating_mul(100).checked_div(top).unwrap_or(0);
            match plugin {
                Plugin::TaintToleration => 100_i64.saturating_sub(scaled),
                _ => scaled,
            }
        }
        Plugin::InterPodAffinity => {
            let range = highest.saturating_sub(lowest);
            if range > 0 {
                (100.0 * (raw.saturating_sub(lowest) as f64 / range as f64)) as i64
            } else {
                0
            }
        }
        _ => return None,
    })
}
