//! One node: are the bound volumes in reach, and which volume does each other claim get?
//!
//! Mirrors `FindPodVolumes` of `plugins/volumebinding/binder.go`.

use super::{BIND_CONFLICT, NO_VOLUME, NODE_CONFLICT, NOT_ENOUGH};
use crate::cycle::{Attempt, Candidate, Chosen, Delayed, VolumeScratch, volumes};
use crate::decision::AttemptError;
use crate::intern::{Texts, Word, word_text};
use crate::selector::LabelsView;

/// Reasons against a row as bits, 0: it passes. What each claim gets is left in `scratch.chosen`,
/// whole if the row passes.
pub(crate) fn find(
    attempt: Attempt<'_>,
    scratch: &mut VolumeScratch,
    row: u32,
) -> Result<u8, AttemptError> {
    scratch.chosen.clear();
    let labels = attempt.cluster.labels_of(row);
    let name = attempt.cluster.name_of(row);
    let mut reasons = check_bound(attempt, scratch, labels, name)?;
    let elsewhere = |claim: &Delayed| claim.selected.is_some_and(|node| node != name);
    if scratch.delayed.iter().any(elsewhere) {
        return Ok(reasons | BIND_CONFLICT);
    }
    match_volumes(attempt, scratch, labels)?;
    reasons |= provision(attempt, scratch, labels)?;
    Ok(reasons)
}

/// Mirrors `checkBoundClaims`, which ends with the first claim that has something against the row.
fn check_bound(
    attempt: Attempt<'_>,
    scratch: &VolumeScratch,
    labels: LabelsView<'_>,
    name: Word,
) -> Result<u8, AttemptError> {
    let (state, texts) = (&attempt.cluster.volumes, &attempt.cluster.texts);
    let csi_node = state.csi_node(name).filter(|_| !scratch.bound.is_empty());
    for volume in &scratch.bound {
        let Some(volume) = state.volume(*volume) else {
            return Ok(NO_VOLUME);
        };
        let migrated = volume
            .plugin
            .is_some_and(|plugin| csi_node.is_some_and(|node| node.is_migrated(plugin)));
        if migrated && volume.is_untranslatable() {
            return Err(AttemptError::Untranslatable);
        }
        if !volume.is_reachable(labels, migrated, texts) {
            return Ok(NODE_CONFLICT);
        }
    }
    Ok(0)
}

/// Gives each claim without a selected node a volume that is there, the smallest claim first and the
/// smallest volume first. Mirrors `findMatchingVolumes`.
fn match_volumes(
    attempt: Attempt<'_>,
    scratch: &mut VolumeScratch,
    labels: LabelsView<'_>,
) -> Result<(), AttemptError> {
    for place in 0..scratch.by_size.len() {
        let Some(claim) = scratch.by_size.get(place).copied() else {
            break;
        };
        let volume = matching(attempt, scratch, claim, labels);
        if volume.is_some() {
            let chosen = Chosen {
                claim,
                volume,
                capacity: None,
            };
            volumes::push(&mut scratch.chosen, chosen)?;
        }
    }
    Ok(())
}

/// The volume for a claim. One that is kept for it is the only one that it may get.
fn matching(
    attempt: Attempt<'_>,
    scratch: &VolumeScratch,
    claim: u32,
    labels: LabelsView<'_>,
) -> Option<u32> {
    let is_chosen = |candidate: &&Candidate| {
        let mut chosen = scratch.chosen.iter();
        !chosen.any(|own| own.volume == Some(candidate.place))
    };
    let fit = || {
        let fit = scratch.candidates.iter();
        fit.filter(move |own| own.fits >> claim & 1 != 0)
            .filter(is_chosen)
    };
    let is_reachable = |candidate: &&Candidate| {
        let volume = attempt.cluster.volumes.volume_at(candidate.place);
        volume.is_some_and(|volume| volume.is_reachable(labels, false, &attempt.cluster.texts))
    };
    let found = match fit().find(|own| own.kept >> claim & 1 != 0) {
        Some(kept) => Some(kept).filter(is_reachable),
        None => fit().find(is_reachable),
    };
    found.map(|candidate| candidate.place)
}

/// Provisions what is left. Mirrors `checkVolumeProvisions`.
fn provision(
    attempt: Attempt<'_>,
    scratch: &mut VolumeScratch,
    labels: LabelsView<'_>,
) -> Result<u8, AttemptError> {
    let state = &attempt.cluster.volumes;
    let matched = scratch.chosen.len();
    // First those whose node was selected before, in the order of the volumes.
    let selected = scratch.delayed.len();
    let total = selected.saturating_add(scratch.by_size.len());
    for step in 0..total {
        let place = if step < selected {
            Some(step as u32)
        } else {
            let at = step.saturating_sub(selected);
            scratch.by_size.get(at).copied()
        };
        let claim = place.and_then(|place| Some((place, *scratch.delayed.get(place as usize)?)));
        let Some((place, claim)) = claim else {
            continue;
        };
        let mut chosen = scratch.chosen.iter().take(matched);
        let is_due = if step < selected {
            claim.selected.is_some()
        } else {
            !chosen.any(|own| own.claim == place)
        };
        if !is_due {
            continue;
        }
        let Some(class) = state.class(claim.class) else {
            return Err(AttemptError::NoStorageClass);
        };
        if !class.provisions || !class.allows(labels, &attempt.cluster.texts) {
            return Ok(BIND_CONFLICT);
        }
        let Some(capacity) = room(attempt, &claim, class.provisioner, labels) else {
            return Ok(NOT_ENOUGH);
        };
        let chosen = Chosen {
            claim: place,
            volume: None,
            capacity,
        };
        volumes::push(&mut scratch.chosen, chosen)?;
    }
    Ok(0)
}

/// Whether there is room for a claim; with the capacity of the object that says so, where any has
/// to. Mirrors `hasEnoughCapacity`.
#[expect(clippy::option_option, reason = "no room, room, room by an object")]
fn room(
    attempt: Attempt<'_>,
    claim: &Delayed,
    provisioner: Word,
    labels: LabelsView<'_>,
) -> Option<Option<i64>> {
    let (state, texts) = (&attempt.cluster.volumes, &attempt.cluster.texts);
    let counts = state
        .csi_driver(provisioner)
        .is_some_and(|driver| driver.storage_capacity);
    let Some(request) = claim.request.filter(|_| counts) else {
        return Some(None);
    };
    let objects = state.capacities(claim.class).filter(|(_, own)| {
        own.limit.is_some_and(|limit| limit >= request) && own.is_accessible(labels, texts)
    });
    let name = |place: u32| {
        let [_, namespace, name] = state.table.key(place);
        [namespace, name].map(|word| text(texts, word))
    };
    let first = objects.min_by(|(a, _), (b, _)| name(*a).cmp(&name(*b)));
    first.map(|(_, own)| Some(own.capacity))
}

fn text(texts: &Texts, word: Word) -> &str {
    word_text(word).map_or("", |text| texts.text(text))
}
