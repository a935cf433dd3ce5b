//! `VolumeBinding`: bound volumes must be in reach of the node; claims that wait for their pod get the
//! smallest volume that fits, or one is provisioned where the class and its room allow.
//!
//! Mirrors `plugins/volumebinding/{volume_binding,binder,scorer}.go` with the gate
//! StorageCapacityScoring, which is on, and `FindMatchingVolume` of component-helpers. The reasons
//! are [`REASONS`], several of them together; PreFilter refuses where a claim is not usable.
//!
//! Differs from kube-scheduler: of equal volumes, and of several capacity objects with room, the
//! first by name is taken, not any.

mod find;
mod score;

pub(crate) use find::find;
pub(crate) use score::score;

use crate::capacity::CapacityExceeded;
use crate::class::Section;
use crate::cycle::{
    Attempt, Candidate, Delayed, Fault, Prepared, Refusal, Scratch, VolumeScratch, volumes,
};
use crate::decision::AttemptError;
use crate::intern::word_text;
use crate::plugins::Plugin;
use crate::volume::Reservation;
use crate::volume::item::{self, Claim};
use crate::volume::storage::BindingMode;
use core::iter;

/// Reasons in their order; a row's reason has a bit for each that holds.
pub const REASONS: [&str; 4] = [
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
];

const NODE_CONFLICT: u8 = 1;
const BIND_CONFLICT: u8 = 1 << 1;
const NOT_ENOUGH: u8 = 1 << 2;
const NO_VOLUME: u8 = 1 << 3;
/// The attempt fails if the search gets here.
pub(crate) const FAILURE: u8 = 1 << 4;

/// The reasons of a row.
pub(crate) fn reasons(code: u8) -> impl Iterator<Item = &'static str> {
    let bits = REASONS.into_iter().zip(0_u8..);
    bits.filter(move |(_, bit)| code >> bit & 1 != 0)
        .map(|(reason, _)| reason)
}

pub(crate) fn pre_filter(
    attempt: Attempt<'_>,
    scratch: &mut VolumeScratch,
) -> Result<Prepared, AttemptError> {
    let state = &attempt.cluster.volumes;
    let claims = item::claims(attempt.class.section(Section::Volumes));
    if claims.clone().next().is_none() {
        return Ok(Prepared::Skips);
    }
    for claim in claims.clone() {
        if let Some(fault) = fault(attempt, claim) {
            return Ok(Prepared::Refuses(fault));
        }
    }
    let mut is_unbound = false;
    for claim in claims {
        let Some(view) = state.claim(claim.namespace, claim.name) else {
            continue;
        };
        if view.is_bound() {
            volumes::push(&mut scratch.bound, view.volume)?;
            continue;
        }
        let class = state.class(view.class).filter(|_| view.class != 0);
        match class.map(|class| class.mode) {
            Some(BindingMode::Unset) => return Err(AttemptError::NoBindingMode),
            Some(BindingMode::WaitForFirstConsumer) if view.volume == 0 => {
                let delayed = Delayed {
                    claim,
                    class: view.class,
                    spec_class: view.spec_class,
                    request: view.has_request().then_some(view.request_value),
                    exact: view.request,
                    selected: state.selected_node(claim.namespace, claim.name, &view),
                };
                volumes::push(&mut scratch.delayed, delayed)?;
            }
            _ => is_unbound = true,
        }
    }
    if is_unbound {
        return Ok(Prepared::Refuses(Fault::Unbound));
    }
    list_candidates(attempt, scratch)?;
    Ok(Prepared::Runs)
}

/// Mirrors `podHasPVCs`.
fn fault(attempt: Attempt<'_>, claim: Claim) -> Option<Fault> {
    let name = claim.name;
    let Some(view) = attempt.cluster.volumes.claim(claim.namespace, name) else {
        return Some(match claim.owner {
            Some(_) => Fault::Waits(name),
            None => Fault::NoClaim(name),
        });
    };
    if view.is_lost() {
        return Some(Fault::Lost(name, view.volume));
    }
    if view.is_deleting() {
        return Some(Fault::Deleting(name));
    }
    let owner = claim.owner?;
    (!view.is_controlled_by(owner)).then_some(Fault::Foreign(claim.namespace, name))
}

/// Orders the claims that need a volume, and lists the volumes that are fit for any of them.
fn list_candidates(attempt: Attempt<'_>, scratch: &mut VolumeScratch) -> Result<(), AttemptError> {
    let (state, texts) = (&attempt.cluster.volumes, &attempt.cluster.texts);
    if scratch.delayed.len() > u128::BITS as usize {
        return Err(AttemptError::Capacity(CapacityExceeded {
            which: "claims of a pod to be bound",
            limit: u64::from(u128::BITS),
        }));
    }
    let delayed = &scratch.delayed;
    let open = (0_u32..).zip(delayed);
    let open = open.filter(|(_, claim)| claim.selected.is_none());
    scratch.by_size.extend(open.map(|(place, _)| place));
    let size = |place: &u32| delayed.get(*place as usize).map(|claim| claim.exact);
    scratch
        .by_size
        .sort_unstable_by_key(|place| (size(place), *place));
    if scratch.by_size.is_empty() {
        return Ok(());
    }
    let claims = scratch.by_size.iter().filter_map(|at| {
        let own = delayed.get(*at as usize)?;
        Some([own.claim.namespace, own.claim.name])
    });
    let free_or_kept = iter::once(None).chain(claims.map(Some));
    for (place, volume) in free_or_kept.flat_map(|claim| state.volumes_for(claim)) {
        // A pod may name a claim twice.
        let is_listed = |own: &Candidate| own.place == place;
        if volume.claim().is_some() && scratch.candidates.iter().any(is_listed) {
            continue;
        }
        let kept_for = state.claim_of(place, &volume);
        let mut candidate = Candidate {
            place,
            name: state.table.key(place)[2],
            capacity: volume.capacity,
            fits: 0,
            kept: 0,
        };
        for at in &scratch.by_size {
            let Some(own) = delayed
                .get(*at as usize)
                .filter(|own| own.class == volume.class)
            else {
                continue;
            };
            let Some(view) = state.claim(own.claim.namespace, own.claim.name) else {
                continue;
            };
            let is_kept = kept_for.map(|[namespace, name, uid]| {
                [namespace, name] == [own.claim.namespace, own.claim.name]
                    && (uid == 0 || uid == view.uid)
            });
            if is_kept == Some(false) || !volume.fits(&view, is_kept.is_some(), texts) {
                continue;
            }
            candidate.fits |= 1 << at;
            if is_kept.is_some() {
                candidate.kept |= 1 << at;
            }
        }
        if candidate.fits != 0 {
            volumes::push(&mut scratch.candidates, candidate)?;
        }
    }
    let text = |candidate: &Candidate| word_text(candidate.name).map(|name| texts.text(name));
    scratch.candidates.sort_unstable_by(|a, b| {
        let by_size = a.capacity.cmp(&b.capacity);
        by_size.then_with(|| text(a).cmp(&text(b)))
    });
    Ok(())
}

pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    if !scratch.volumes.runs(Plugin::VolumeBinding) {
        return;
    }
    scratch.refuse_rows(Refusal::VolumeBinding, |volumes, row| {
        match find(attempt, volumes, row) {
            Ok(0) => None,
            Ok(reasons) => Some(reasons),
            Err(error) => {
                volumes.failure = Some(error);
                Some(FAILURE)
            }
        }
    });
}

/// Lists what is to be reserved for the pod on a row that it passed: volumes, then claims to be
/// provisioned. Mirrors `AssumePodVolumes`.
pub(crate) fn list_reservations(
    attempt: Attempt<'_>,
    scratch: &mut VolumeScratch,
    row: u32,
) -> Result<(), AttemptError> {
    scratch.reservations.clear();
    if !scratch.runs(Plugin::VolumeBinding) || scratch.delayed.is_empty() {
        return Ok(());
    }
    find(attempt, scratch, row)?;
    for is_static in [true, false] {
        for chosen in scratch
            .chosen
            .iter()
            .filter(|own| own.volume.is_some() == is_static)
        {
            let Some(own) = scratch.delayed.get(chosen.claim as usize) else {
                continue;
            };
            let key = chosen
                .volume
                .map(|place| attempt.cluster.volumes.table.key(place));
            let reservation = Reservation {
                claim: [own.claim.namespace, own.claim.name],
                volume: key.map_or(0, |[.., name]| name),
            };
            volumes::push(&mut scratch.reservations, reservation)?;
        }
    }
    Ok(())
}
