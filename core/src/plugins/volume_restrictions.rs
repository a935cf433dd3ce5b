//! `VolumeRestrictions`: a disk that one node alone can have is not given to two pods, and a claim
//! with access mode ReadWriteOncePod is used by one pod.
//!
//! Mirrors `plugins/volumerestrictions/volume_restrictions.go`. Reasons: [`REASON_DISK`],
//! [`REASON_CLAIM`]; PreFilter refuses where a claim is not there.

use crate::class::{ClassView, Section};
use crate::cycle::{Attempt, Fault, Prepared, Refusal, Scratch, VolumeScratch, volumes};
use crate::decision::AttemptError;
use crate::intern::Word;
use crate::planted::{self, Bug};
use crate::plugins::Plugin;
use crate::volume::item::{self, Item};
use crate::volume::record::READ_WRITE_ONCE_POD;

/// Given where a pod on the node has the disk.
pub const REASON_DISK: &str = "node(s) had no available disk";
/// Given on every node if a pod anywhere uses the claim.
pub const REASON_CLAIM: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

/// Place of [`REASON_DISK`] among the reasons.
const DISK: u8 = 0;
const CLAIM: u8 = 1;

pub(crate) const fn reason(code: u8) -> &'static str {
    match code {
        DISK => REASON_DISK,
        _ => REASON_CLAIM,
    }
}

pub(crate) fn pre_filter(
    attempt: Attempt<'_>,
    scratch: &mut VolumeScratch,
) -> Result<Prepared, AttemptError> {
    let state = &attempt.cluster.volumes;
    let section = attempt.class.section(Section::Volumes);
    for claim in item::claims(section).filter(|claim| claim.owner.is_none()) {
        let Some(view) = state.claim(claim.namespace, claim.name) else {
            return Ok(Prepared::Refuses(Fault::NoClaim(claim.name)));
        };
        let is_exclusive =
            view.access_modes & READ_WRITE_ONCE_POD != 0 && !planted::is(Bug::ExclusiveIgnored);
        if is_exclusive && !scratch.exclusive.contains(&claim.name) {
            volumes::push(&mut scratch.exclusive, claim.name)?;
            scratch.conflicts = scratch
                .conflicts
                .saturating_add(i64::from(state.is_used(&item::claim_use(claim))));
        }
    }
    let has_disk = item::volumes(section).any(Item::is_restricted);
    Ok(if has_disk || scratch.conflicts > 0 {
        Prepared::Runs
    } else {
        Prepared::Skips
    })
}

/// Counts a pod that is there only for a question, or not there only for it.
///
/// Mirrors `AddPod` and `RemovePod`, which compare names alone.
pub(crate) fn count(scratch: &mut VolumeScratch, other: ClassView<'_>, add: bool) {
    if scratch.exclusive.is_empty() || !scratch.runs(Plugin::VolumeRestrictions) {
        return;
    }
    let claims = item::claims(other.section(Section::Volumes));
    let used =
        claims.filter(|claim| claim.owner.is_none() && scratch.exclusive.contains(&claim.name));
    let used = used.count() as i64;
    scratch.conflicts = if add {
        scratch.conflicts.saturating_add(used)
    } else {
        scratch.conflicts.saturating_sub(used)
    };
}

pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    if !scratch.volumes.runs(Plugin::VolumeRestrictions) {
        return;
    }
    let in_use = scratch.volumes.conflicts > 0;
    let section = attempt.class.section(Section::Volumes);
    let has_disk = item::volumes(section).any(Item::is_restricted);
    scratch.refuse_rows(Refusal::VolumeRestrictions, |_, row| {
        if has_disk && conflicts(attempt, section, row) {
            Some(DISK)
        } else {
            in_use.then_some(CLAIM)
        }
    });
}

fn conflicts(attempt: Attempt<'_>, section: &[Word], row: u32) -> bool {
    let there = || attempt.cluster.volumes.used_on(row).filter_map(Item::read);
    item::volumes(section)
        .filter(|own| own.is_restricted())
        .any(|own| there().any(|other| own.conflicts(other)))
}

/// Whether a pod of one class has a disk or a claim that keeps those of the other away. Mirrors
/// `isSchedulableAfterAssignedPodDeleted`.
pub(crate) fn meets(own: ClassView<'_>, other: ClassView<'_>) -> bool {
    let (own, other) = (
        own.section(Section::Volumes),
        other.section(Section::Volumes),
    );
    let disks =
        item::volumes(own).any(|own| item::volumes(other).any(|other| own.conflicts(other)));
    let claims = |section| item::claims(section).filter(|claim| claim.owner.is_none());
    disks || claims(own).any(|own| claims(other).any(|other| own == other))
}
