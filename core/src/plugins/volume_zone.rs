//! `VolumeZone`: a bound volume with zone or region labels is used in its zone.
//!
//! Mirrors `plugins/volumezone/volume_zone.go`. Reason: [`REASON`]; PreFilter refuses where a claim,
//! its class or its volume is not there. Generic ephemeral volumes are not looked at.

use crate::class::Section;
use crate::cycle::{Attempt, Fault, Prepared, Refusal, Scratch, VolumeScratch, volumes};
use crate::decision::AttemptError;
use crate::intern::Word;
use crate::plugins::Plugin;
use crate::selector::{self, LabelsView};
use crate::volume::item;
use crate::volume::record::ZONE_LABELS;
use crate::volume::storage::BindingMode;

/// Given where the node's label is none of the volume's.
pub const REASON: &str = "node(s) had no available volume zone";

pub(crate) fn pre_filter(
    attempt: Attempt<'_>,
    scratch: &mut VolumeScratch,
) -> Result<Prepared, AttemptError> {
    let state = &attempt.cluster.volumes;
    let claims = item::claims(attempt.class.section(Section::Volumes));
    for claim in claims.filter(|claim| claim.owner.is_none()) {
        let Some(view) = state.claim(claim.namespace, claim.name) else {
            return Ok(Prepared::Refuses(Fault::NoClaim(claim.name)));
        };
        if view.volume == 0 {
            if view.class == 0 {
                return Ok(Prepared::Refuses(Fault::NoClassName));
            }
            let Some(class) = state.class(view.class) else {
                return Ok(Prepared::Refuses(Fault::NoClass(view.class)));
            };
            match class.mode {
                BindingMode::WaitForFirstConsumer => continue,
                BindingMode::Unset => {
                    return Ok(Prepared::Refuses(Fault::NoMode(view.class)));
                }
                BindingMode::Immediate => {
                    return Ok(Prepared::Refuses(Fault::NoVolumeName));
                }
            }
        }
        let place = state.find_volume(view.volume);
        let Some((place, volume)) = place.and_then(|at| Some((at, state.volume_at(at)?))) else {
            return Ok(Prepared::Refuses(Fault::NoVolume(view.volume)));
        };
        for (number, _) in (0..).zip(zones(volume.zones)) {
            volumes::push(&mut scratch.zones, (place, number))?;
        }
    }
    Ok(if scratch.zones.is_empty() {
        Prepared::Skips
    } else {
        Prepared::Runs
    })
}

/// Place of the label, and its values.
fn zones(words: &[Word]) -> impl Iterator<Item = (u32, &[Word])> {
    let mut rest = words;
    core::iter::from_fn(move || {
        let (label, after) = rest.split_first()?;
        let (values, after) = selector::split_item(after)?;
        rest = after;
        Some((*label, values))
    })
}

pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    if !scratch.volumes.runs(Plugin::VolumeZone) {
        return;
    }
    let texts = &attempt.cluster.texts;
    let keys =
        ZONE_LABELS.map(|(key, stable)| [key, stable].map(|key| selector::word_of(texts, key)));
    scratch.refuse_rows(Refusal::VolumeZone, |volumes, row| {
        let labels = attempt.cluster.labels_of(row);
        let mismatch = refuses(attempt, volumes, labels, &keys);
        mismatch.then_some(0)
    });
}

fn refuses(
    attempt: Attempt<'_>,
    scratch: &VolumeScratch,
    labels: LabelsView<'_>,
    keys: &[[Option<Word>; 2]; 4],
) -> bool {
    let value = |key: Option<Word>| labels.value(key?);
    if keys.iter().all(|[key, _]| value(*key).is_none()) {
        return false;
    }
    scratch.zones.iter().any(|(place, number)| {
        let volume = attempt.cluster.volumes.volume_at(*place);
        let words = volume.map_or(&[][..], |volume| volume.zones);
        let zone = zones(words).nth(*number as usize);
        zone.is_some_and(|(label, values)| {
            let [key, stable] = keys.get(label as usize).copied().unwrap_or_default();
            let own = value(key).or_else(|| value(stable));
            !own.is_some_and(|own| values.contains(&own))
        })
    })
}
