//! What an attempt knows of its pod's volumes: found once at PreFilter, read node by node.

use super::Attempt;
use crate::capacity::{Capacities, CapacityExceeded, bytes_of, sum};
use crate::class::Section;
use crate::decision::AttemptError;
use crate::fixed_vec::FixedVec;
use crate::intern::Word;
use crate::plugins::{
    Plugin, node_volume_limits, volume_binding, volume_restrictions, volume_zone,
};
use crate::table::Table;
use crate::volume::Reservation;
use crate::volume::item::Claim;
use alloc::vec;
use alloc::vec::Vec;

/// Why PreFilter of a volume plugin refuses every node; the words are texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NoClaim(Word),
    /// The claim of an ephemeral volume is not made yet.
    Waits(Word),
    /// Claim, volume.
    Lost(Word, Word),
    Deleting(Word),
    /// Namespace and name of the claim, which the pod does not control.
    Foreign(Word, Word),
    /// Some claim should be bound already.
    Unbound,
    NoVolume(Word),
    NoClass(Word),
    NoClassName,
    NoMode(Word),
    NoVolumeName,
}

/// A claim that is bound when the pod is placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delayed {
    pub(crate) claim: Claim,
    pub(crate) class: Word,
    /// The class by which scores are summed.
    pub(crate) spec_class: Word,
    /// Absent: it asks for no storage.
    pub(crate) request: Option<i64>,
    /// In 10^-9.
    pub(crate) exact: i128,
    /// The node that was selected for it before.
    pub(crate) selected: Option<Word>,
}

/// A volume that delayed claims may get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Place in the table.
    pub(crate) place: u32,
    pub(crate) name: Word,
    pub(crate) capacity: i128,
    /// Delayed claims that it is fit for, by their places, as bits.
    pub(crate) fits: u128,
    /// Of these, claims that it is kept for.
    pub(crate) kept: u128,
}

/// What a claim gets on a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    /// Place among the delayed claims.
    pub(crate) claim: u32,
    /// Place of the volume; absent: one is provisioned.
    pub(crate) volume: Option<u32>,
    /// Of the capacity object that has room for it.
    pub(crate) capacity: Option<i64>,
}

/// A volume as drivers know it: driver, and what tells it from others of the driver.
pub(crate) type Unique = [Word; 3];

/// Zones or regions in which a bound volume is: place of the volume, and of the label among its own.
pub(crate) type Zone = (u32, u32);

/// Room for one attempt, taken once. Most pods have no volumes and leave all of it alone.
#[derive(Clone, Default)]
pub(crate) struct VolumeScratch {
    /// The plugins that did not skip themselves.
    pub(crate) runs: [bool; 4],
    /// VolumeRestrictions: names of claims that one pod alone may use.
    pub(crate) exclusive: FixedVec<Word>,
    /// How often pods use them.
    pub(crate) conflicts: i64,
    /// NodeVolumeLimits: the pod's volumes on a node without and with a CSINode.
    pub(crate) fresh: [FixedVec<Unique>; 2],
    /// Volumes on the row that is asked about.
    pub(crate) attached: FixedVec<Unique>,
    /// VolumeBinding: names of the volumes of bound claims.
    pub(crate) bound: FixedVec<Word>,
    pub(crate) delayed: FixedVec<Delayed>,
    /// Of these, those without a selected node, the smallest first.
    pub(crate) by_size: FixedVec<u32>,
    /// The smallest first.
    pub(crate) candidates: FixedVec<Candidate>,
    /// On the row that is asked about.
    pub(crate) chosen: FixedVec<Chosen>,
    /// Requested and there, by class.
    pub(crate) sums: FixedVec<(Word, i64, i64)>,
    pub(crate) reservations: FixedVec<Reservation>,
    /// VolumeZone: where the volumes of bound claims are.
    pub(crate) zones: FixedVec<Zone>,
    /// By row: which of its reasons the plugin gave that refused it.
    pub(crate) reasons: Vec<u8>,
    /// What NodeVolumeLimits fails with on a node without and with a CSINode.
    pub(crate) fails: [Option<AttemptError>; 2],
    /// What a plugin failed with on some row.
    pub(crate) failure: Option<AttemptError>,
}

/// The volume plugins, by their place in [`VolumeScratch::runs`].
pub(crate) const PLUGINS: [Plugin; 4] = [
    Plugin::VolumeRestrictions,
    Plugin::NodeVolumeLimits,
    Plugin::VolumeBinding,
    Plugin::VolumeZone,
];

impl VolumeScratch {
    pub(crate) fn new(c: &Capacities, rows: usize) -> Self {
        let (volumes, uses) = (c.volumes as usize, c.volume_uses as usize);
        let reasons = vec![0; if uses == 0 { 0 } else { rows }];
        let on_row = (c.volume_use_counts as usize).saturating_add(volumes);
        Self {
            runs: [false; 4],
            exclusive: FixedVec::with_capacity(uses),
            conflicts: 0,
            fresh: [(); 2].map(|()| FixedVec::with_capacity(uses)),
            attached: FixedVec::with_capacity(on_row),
            bound: FixedVec::with_capacity(uses),
            delayed: FixedVec::with_capacity(uses),
            by_size: FixedVec::with_capacity(uses),
            candidates: FixedVec::with_capacity(volumes),
            chosen: FixedVec::with_capacity(uses),
            sums: FixedVec::with_capacity(uses),
            reservations: FixedVec::with_capacity(uses),
            zones: FixedVec::with_capacity(uses.saturating_mul(4)),
            reasons,
            fails: [None; 2],
            failure: None,
        }
    }

    pub(crate) const fn bytes(c: &Capacities, rows: u64) -> u64 {
        let (volumes, uses) = (c.volumes as u64, c.volume_uses as u64);
        sum(&[
            bytes_of::<[Word; 3]>(uses),
            bytes_of::<[Unique; 2]>(uses),
            bytes_of::<Unique>(volumes),
            bytes_of::<Unique>(c.volume_use_counts as u64),
            bytes_of::<Delayed>(uses),
            bytes_of::<Candidate>(volumes),
            bytes_of::<Chosen>(uses),
            bytes_of::<(Word, i64, i64)>(uses),
            bytes_of::<Reservation>(uses),
            bytes_of::<[Zone; 4]>(uses),
            if uses == 0 { 0 } else { rows },
        ])
    }

    /// Forgets the last attempt.
    pub(crate) fn clear(&mut self) {
        self.runs = [false; 4];
        self.failure = None;
        self.fails = [None; 2];
        self.conflicts = 0;
        for list in [&mut self.exclusive, &mut self.bound] {
            list.clear();
        }
        self.fresh.iter_mut().for_each(|list| list.clear());
        self.delayed.clear();
        self.by_size.clear();
        self.candidates.clear();
        self.zones.clear();
    }

    /// Takes over what another scratch found at PreFilter.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.clear();
        self.runs = other.runs;
        self.fails = other.fails;
        self.conflicts = other.conflicts;
        self.exclusive.extend_from_slice(&other.exclusive);
        self.bound.extend_from_slice(&other.bound);
        for (own, other) in self.fresh.iter_mut().zip(&other.fresh) {
            own.extend_from_slice(other);
        }
        self.delayed.extend_from_slice(&other.delayed);
        self.by_size.extend_from_slice(&other.by_size);
        self.candidates.extend_from_slice(&other.candidates);
        self.zones.extend_from_slice(&other.zones);
    }

    pub(crate) fn runs(&self, plugin: Plugin) -> bool {
        let place = PLUGINS.iter().position(|own| *own == plugin);
        place.is_some_and(|place| *self.runs.at(place))
    }

    /// Which of the plugin's reasons refused a row.
    pub(crate) fn reason(&self, row: u32) -> u8 {
        self.reasons.get(row as usize).copied().unwrap_or(0)
    }

    pub(crate) fn set_reason(&mut self, row: u32, reason: u8) {
        if let Some(own) = self.reasons.get_mut(row as usize) {
            *own = reason;
        }
    }
}

/// Appends to a list that must not grow.
pub(crate) fn push<T>(list: &mut Vec<T>, entry: T) -> Result<(), AttemptError> {
    if list.len() >= list.capacity() {
        return Err(AttemptError::Capacity(CapacityExceeded {
            which: "volume_uses",
            limit: list.capacity() as u64,
        }));
    }
    list.push(entry);
    Ok(())
}

/// What PreFilter of a plugin came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prepared {
    Runs,
    Skips,
    Refuses(Fault),
}

/// Runs PreFilter of a volume plugin; the fault if it refuses every node.
pub(crate) fn pre_filter(
    attempt: Attempt<'_>,
    plugin: Plugin,
    volumes: &mut VolumeScratch,
) -> Result<Option<Fault>, AttemptError> {
    if !has_volumes(attempt) {
        return Ok(None);
    }
    let prepared = match plugin {
        Plugin::VolumeRestrictions => volume_restrictions::pre_filter(attempt, volumes)?,
        Plugin::NodeVolumeLimits => node_volume_limits::pre_filter(attempt, volumes)?,
        Plugin::VolumeBinding => volume_binding::pre_filter(attempt, volumes)?,
        Plugin::VolumeZone => volume_zone::pre_filter(attempt, volumes)?,
        _ => Prepared::Skips,
    };
    if let Some(place) = PLUGINS.iter().position(|own| *own == plugin) {
        volumes.runs.set(place, prepared == Prepared::Runs);
    }
    Ok(match prepared {
        Prepared::Refuses(fault) => Some(fault),
        Prepared::Runs | Prepared::Skips => None,
    })
}

/// Whether the pod has volumes that the plugins read.
pub(crate) fn has_volumes(attempt: Attempt<'_>) -> bool {
    !attempt.class.section(Section::Volumes).is_empty()
}
