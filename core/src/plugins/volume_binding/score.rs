//! How well the volumes that a pod gets on a node use what is there, by the configured shape.
//!
//! Mirrors `Score` of `volume_binding.go` and `scorer.go`.

use super::find;
use crate::cycle::{Attempt, Column, Scratch, VolumeScratch, volumes};
use crate::decision::AttemptError;
use crate::intern::Word;
use crate::kernel::naive;
use crate::plugins::Plugin;
use crate::table::Table;

/// Full use of a class, in percent.
const FULL: i64 = 100;

pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Result<Column, AttemptError> {
    let is_filtered = attempt.plan.filters.contains(&Plugin::VolumeBinding);
    let runs = is_filtered && scratch.volumes.runs(Plugin::VolumeBinding);
    if !runs || scratch.volumes.delayed.is_empty() {
        return Ok(Column::Constant(0));
    }
    let mut own = core::mem::take(&mut scratch.volumes);
    let list = core::mem::take(&mut scratch.list);
    let column = scratch.column_mut(Plugin::VolumeBinding);
    let result = list.iter().try_for_each(|row| {
        let score = score_of(attempt, &mut own, *row)?;
        let valid = u8::try_from(score)
            .ok()
            .filter(|score| i64::from(*score) <= FULL);
        column.set(
            *row,
            valid.ok_or(AttemptError::InvalidScore {
                plugin: Plugin::VolumeBinding,
                score,
            })?,
        );
        Ok(())
    });
    scratch.list = list;
    scratch.volumes = own;
    result.map(|()| Column::Rows)
}

fn score_of(
    attempt: Attempt<'_>,
    scratch: &mut VolumeScratch,
    row: u32,
) -> Result<i64, AttemptError> {
    find(attempt, scratch, row)?;
    let state = &attempt.cluster.volumes;
    scratch.sums.clear();
    let is_static = scratch.chosen.iter().any(|own| own.volume.is_some());
    for chosen in &scratch.chosen {
        let Some(claim) = scratch.delayed.get(chosen.claim as usize) else {
            continue;
        };
        let request = claim.request.unwrap_or(0);
        if is_static {
            // Claims that are provisioned beside volumes that are there do not count.
            let volume = chosen.volume.and_then(|place| state.volume_at(place));
            if let Some(volume) = volume {
                let (requested, capacity) = class(&mut scratch.sums, volume.spec_class)?;
                *requested = requested.saturating_add(request);
                *capacity = capacity.saturating_add(volume.capacity_value);
            }
        } else if let Some(there) = chosen.capacity {
            let (requested, capacity) = class(&mut scratch.sums, claim.spec_class)?;
            *requested = requested.saturating_add(request);
            // Several claims of a class are served from the same room.
            *capacity = there;
        }
    }
    let shape = &attempt.plan.volume_shape;
    let scores = scratch.sums.iter().map(|(_, requested, capacity)| {
        let percent = i128::from(*requested).saturating_mul(i128::from(FULL));
        let used = percent.checked_div(i128::from(*capacity));
        let used = used.filter(|_| requested <= capacity);
        let used = used.and_then(|used| i64::try_from(used).ok());
        naive::broken_linear(shape, used.unwrap_or(FULL))
    });
    let sum = scores.fold(0_i64, i64::saturating_add);
    let count = scratch.sums.len() as i64;
    // Rounded half up; no score is below 0.
    let twice = sum.saturating_mul(2).saturating_add(count);
    Ok(twice.checked_div(count.saturating_mul(2)).unwrap_or(0))
}

/// The sums of a class: requested, and there.
fn class(
    sums: &mut alloc::vec::Vec<(Word, i64, i64)>,
    class: Word,
) -> Result<(&mut i64, &mut i64), AttemptError> {
    let there = sums.iter().position(|(own, ..)| *own == class);
    let place = if let Some(place) = there {
        place
    } else {
        volumes::push(sums, (class, 0, 0))?;
        sums.len().saturating_sub(1)
    };
    match sums.get_mut(place) {
        Some((_, requested, capacity)) => Ok((requested, capacity)),
        None => Err(AttemptError::NoStorageClass),
    }
}
