//! Records of volumes and claims: how they are written and read.

use super::migration::{self, InTree};
use crate::capacity::CapacityExceeded;
use crate::intern::{Texts, Word, Writer, amount};
use crate::object::{
    BIND_COMPLETED, PersistentVolume, PersistentVolumeClaim, ResourceList, SELECTED_NODE,
};
use crate::quantity::Quantity;
use crate::selector::{
    self, LabelsView, split_item, write_bare_selector, write_item, write_labels, write_term,
};
use alloc::string::String;

pub(super) type Written = Result<(), CapacityExceeded>;

/// Words of an exact amount.
const EXACT: usize = 5;
/// Words of an amount in whole units.
pub(super) const WHOLE: usize = 3;

/// Bits of a volume's flags.
mod volume_flag {
    pub(super) const AVAILABLE: u32 = 1;
    pub(super) const DELETING: u32 = 1 << 1;
    pub(super) const HAS_CLAIM: u32 = 1 << 2;
    pub(super) const HAS_AFFINITY: u32 = 1 << 3;
    /// Has an affinity of its own where its plugin is migrated.
    pub(super) const TRANSLATED: u32 = 1 << 4;
    /// Cannot be translated where its plugin is migrated.
    pub(super) const UNTRANSLATABLE: u32 = 1 << 5;
    /// Of a CSI driver by itself.
    pub(super) const CSI: u32 = 1 << 6;
}

/// Bits of a claim's flags.
mod claim_flag {
    pub(super) const LOST: u32 = 1;
    pub(super) const DELETING: u32 = 1 << 1;
    pub(super) const BIND_COMPLETED: u32 = 1 << 2;
    pub(super) const HAS_REQUEST: u32 = 1 << 3;
    pub(super) const HAS_SELECTED_NODE: u32 = 1 << 4;
    pub(super) const HAS_CONTROLLER: u32 = 1 << 5;
    /// No API server has seen it: it has no phase.
    pub(super) const NEW: u32 = 1 << 6;
}

/// Access modes, each with the bit of its place.
const ACCESS_MODES: [&str; 4] = [
    "ReadWriteOnce",
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOncePod",
];

/// Access mode of claims that one pod alone may use.
pub(crate) const READ_WRITE_ONCE_POD: u32 = 1 << 3;

/// The claim that a volume is bound to or kept for: namespace, name, uid (0: any).
pub(crate) type ClaimRef = [Word; 3];

/// A PersistentVolume.
#[derive(Clone, Copy)]
pub(crate) struct VolumeView<'a> {
    flags: u32,
    pub(crate) labels: LabelsView<'a>,
    /// 0: none.
    pub(crate) class: Word,
    /// `spec.storageClassName` alone, by which scores are summed.
    pub(crate) spec_class: Word,
    pub(crate) mode: Word,
    pub(crate) attributes_class: Word,
    pub(crate) access_modes: u32,
    /// Its in-tree plugin.
    pub(crate) plugin: Option<InTree>,
    /// Driver and handle, of a migrated plugin those that it is translated to; 0: none.
    pub(crate) driver: Word,
    pub(crate) handle: Word,
    claim: ClaimRef,
    /// In 10^-9.
    pub(crate) capacity: i128,
    /// In whole units.
    pub(crate) capacity_value: i64,
    /// `[place of the label, count, values..]`.
    pub(crate) zones: &'a [Word],
    affinity: &'a [Word],
    translated: &'a [Word],
}

impl<'a> VolumeView<'a> {
    pub(crate) fn read(words: &'a [Word]) -> Option<Self> {
        let (labels, rest) = split_item(words)?;
        let [
            flags,
            class,
            spec_class,
            mode,
            attributes_class,
            access_modes,
            plugin,
            driver,
            handle,
            namespace,
            name,
            uid,
            rest @ ..,
        ] = rest
        else {
            return None;
        };
        let (exact, rest) = rest.split_at_checked(EXACT)?;
        let (whole, rest) = rest.split_at_checked(WHOLE)?;
        let (zones, rest) = split_item(rest)?;
        let (affinity, rest) = split_item(rest)?;
        let (translated, _) = split_item(rest)?;
        Some(Self {
            flags: *flags,
            labels: LabelsView(labels),
            class: *class,
            spec_class: *spec_class,
            mode: *mode,
            attributes_class: *attributes_class,
            access_modes: *access_modes,
            plugin: InTree::of_number(*plugin),
            driver: *driver,
            handle: *handle,
            claim: [*namespace, *name, *uid],
            capacity: read_exact(exact),
            capacity_value: amount(whole),
            zones,
            affinity,
            translated,
        })
    }

    const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(crate) const fn is_available(&self) -> bool {
        self.has(volume_flag::AVAILABLE)
    }

    pub(crate) const fn is_deleting(&self) -> bool {
        self.has(volume_flag::DELETING)
    }

    pub(crate) const fn is_csi(&self) -> bool {
        self.has(volume_flag::CSI)
    }

    pub(crate) fn claim(&self) -> Option<ClaimRef> {
        self.has(volume_flag::HAS_CLAIM).then_some(self.claim)
    }

    /// Whether it may be bound to a claim as far as neither class nor node matters; `is_kept`: it is
    /// kept for that. Mirrors `FindMatchingVolume` of component-helpers.
    pub(crate) fn fits(&self, claim: &ClaimView<'_>, is_kept: bool, texts: &Texts) -> bool {
        let same = self.mode == claim.mode && self.attributes_class == claim.attributes_class;
        let large = self.capacity >= claim.request;
        let free =
            || self.is_available() && claim.selects(self.labels, texts) && self.has_modes_of(claim);
        same && large && !self.is_deleting() && (is_kept || free())
    }

    /// Whether it has all access modes that a claim asks for.
    pub(crate) const fn has_modes_of(&self, claim: &ClaimView<'_>) -> bool {
        claim.access_modes & !self.access_modes == 0
    }

    /// Whether it cannot be made one of a CSI driver.
    pub(crate) const fn is_untranslatable(&self) -> bool {
        self.has(volume_flag::UNTRANSLATABLE)
    }

    /// Whether a node of these labels reaches it; `migrated`: as one of a CSI driver.
    ///
    /// Mirrors `CheckNodeAffinity`, which does not tell a node's name.
    pub(crate) fn is_reachable(
        &self,
        labels: LabelsView<'_>,
        migrated: bool,
        texts: &Texts,
    ) -> bool {
        let (is_limited, terms) = if migrated && self.has(volume_flag::TRANSLATED) {
            (true, self.translated)
        } else {
            (self.has(volume_flag::HAS_AFFINITY), self.affinity)
        };
        let node = selector::NodeFacts { name: 0, labels };
        !is_limited || selector::items(terms).any(|term| selector::term_matches(term, node, texts))
    }
}

/// Labels of volumes that VolumeZone reads, in its order, and the label that nodes may have instead.
pub(crate) const ZONE_LABELS: [(&str, &str); 4] = [
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    (
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
];

/// Writes the record of a volume; `buffer` is for handles that are put together.
pub(super) fn write_volume(
    writer: &mut Writer,
    texts: &mut Texts,
    volume: &PersistentVolume,
    buffer: &mut String,
) -> Written {
    let spec = &volume.spec;
    write_item(writer, texts, |writer, texts| {
        write_labels(writer, texts, &volume.metadata.labels)
    })?;
    let source = migration::source_of(spec);
    let translation =
        source.map(|(plugin, source)| migration::translate(plugin, source, volume, buffer));
    let translates = source.is_some_and(|(plugin, _)| plugin.is_migrated());
    let fails = translates && translation == Some(Err(migration::Untranslatable));
    let flags = [
        (volume_flag::AVAILABLE, volume.status.phase == "Available"),
        (
            volume_flag::DELETING,
            volume.metadata.deletion_timestamp.is_some(),
        ),
        (volume_flag::HAS_CLAIM, spec.claim_ref.is_some()),
        (
            volume_flag::HAS_AFFINITY,
            spec.node_affinity.required.is_some(),
        ),
        (volume_flag::TRANSLATED, migration::has_terms(volume)),
        (volume_flag::UNTRANSLATABLE, fails),
        (volume_flag::CSI, spec.csi.is_some()),
    ];
    writer.number(bits(&flags))?;
    write_text(writer, texts, volume.class())?;
    write_text(writer, texts, &spec.storage_class_name)?;
    write_mode(writer, texts, spec.volume_mode.as_deref())?;
    write_text(
        writer,
        texts,
        spec.volume_attributes_class_name.as_deref().unwrap_or(""),
    )?;
    writer.number(access_modes(&spec.access_modes))?;
    writer.number(source.map_or(0, |(plugin, _)| plugin.number()))?;
    match (&spec.csi, source) {
        (Some(csi), _) => {
            write_text(writer, texts, &csi.driver)?;
            write_text(writer, texts, &csi.volume_handle)?;
        }
        (None, Some((plugin, _))) if translates && !fails => {
            write_text(writer, texts, plugin.driver())?;
            write_text(writer, texts, buffer)?;
        }
        _ => {
            writer.number(0)?;
            writer.number(0)?;
        }
    }
    match &spec.claim_ref {
        Some(claim) => {
            writer.text(texts, &claim.namespace)?;
            writer.text(texts, &claim.name)?;
            write_text(writer, texts, &claim.uid)?;
        }
        None => {
            for _ in 0..3 {
                writer.number(0)?;
            }
        }
    }
    let capacity = storage(&spec.capacity).unwrap_or_default();
    write_exact(writer, capacity)?;
    writer.amount(capacity.value())?;
    write_item(writer, texts, |writer, texts| {
        write_zones(writer, texts, volume)
    })?;
    write_item(writer, texts, |writer, texts| {
        let mut terms = spec
            .node_affinity
            .required
            .iter()
            .flat_map(|required| &required.node_selector_terms);
        terms.try_for_each(|term| write_term(writer, texts, term, false))
    })?;
    write_item(writer, texts, |writer, texts| {
        migration::write_terms(writer, texts, volume)
    })
}

/// Mirrors `getPVTopologies`: a label with an empty part is passed over.
fn write_zones(writer: &mut Writer, texts: &mut Texts, volume: &PersistentVolume) -> Written {
    for ((key, _), place) in ZONE_LABELS.iter().zip(0_u32..) {
        let Some(value) = volume.metadata.labels.get(*key) else {
            continue;
        };
        let zones = || value.split(migration::ZONE_DELIMITER).map(str::trim);
        if zones().any(str::is_empty) {
            continue;
        }
        writer.number(place)?;
        writer.number(zones().count() as u32)?;
        for zone in zones() {
            writer.text(texts, zone)?;
        }
    }
    Ok(())
}

/// A PersistentVolumeClaim.
#[derive(Clone, Copy)]
pub(crate) struct ClaimView<'a> {
    flags: u32,
    pub(crate) class: Word,
    /// `spec.storageClassName`, or the annotation's where it is absent.
    pub(crate) spec_class: Word,
    pub(crate) mode: Word,
    pub(crate) attributes_class: Word,
    pub(crate) access_modes: u32,
    /// `spec.volumeName`; 0: none.
    pub(crate) volume: Word,
    selected_node: Word,
    controller: Word,
    /// 0: none.
    pub(crate) uid: Word,
    /// What it asks for, in 10^-9.
    pub(crate) request: i128,
    /// The same in whole units.
    pub(crate) request_value: i64,
    selector: &'a [Word],
}

impl<'a> ClaimView<'a> {
    pub(crate) fn read(words: &'a [Word]) -> Option<Self> {
        let [
            flags,
            class,
            spec_class,
            mode,
            attributes_class,
            access_modes,
            volume,
            selected_node,
            controller,
            uid,
            rest @ ..,
        ] = words
        else {
            return None;
        };
        let (exact, rest) = rest.split_at_checked(EXACT)?;
        let (whole, selector) = rest.split_at_checked(WHOLE)?;
        Some(Self {
            flags: *flags,
            class: *class,
            spec_class: *spec_class,
            mode: *mode,
            attributes_class: *attributes_class,
            access_modes: *access_modes,
            volume: *volume,
            selected_node: *selected_node,
            controller: *controller,
            uid: *uid,
            request: read_exact(exact),
            request_value: amount(whole),
            selector,
        })
    }

    const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    pub(crate) const fn is_lost(&self) -> bool {
        self.has(claim_flag::LOST)
    }

    pub(crate) const fn is_deleting(&self) -> bool {
        self.has(claim_flag::DELETING)
    }

    pub(crate) const fn has_request(&self) -> bool {
        self.has(claim_flag::HAS_REQUEST)
    }

    /// Mirrors `isPVCFullyBound`.
    pub(crate) const fn is_bound(&self) -> bool {
        self.volume != 0 && self.has(claim_flag::BIND_COMPLETED)
    }

    /// The node that its volume is to be provisioned for, as the object says.
    pub(crate) fn selected_node(&self) -> Option<Word> {
        self.has(claim_flag::HAS_SELECTED_NODE)
            .then_some(self.selected_node)
    }

    /// Whether the pod of this uid (0: none) controls it. Mirrors `VolumeIsForPod`.
    pub(crate) const fn is_controlled_by(&self, uid: Word) -> bool {
        self.has(claim_flag::HAS_CONTROLLER) && self.controller == uid
    }

    /// Whether it waits for a volume, and no API server has seen it yet.
    pub(crate) const fn is_open(&self) -> bool {
        self.has(claim_flag::NEW) && !self.is_bound() && !self.is_deleting()
    }

    /// Names of the access modes that it asks for.
    pub(crate) fn access_mode_names(&self) -> impl Iterator<Item = &'static str> {
        let modes = ACCESS_MODES.into_iter().zip(0_u32..);
        let own = self.access_modes;
        modes
            .filter(move |(_, place)| own >> place & 1 != 0)
            .map(|(name, _)| name)
    }

    /// Whether a volume of these labels is one that it selects.
    pub(crate) fn selects(&self, labels: LabelsView<'_>, texts: &Texts) -> bool {
        self.selector.is_empty() || selector::selects(self.selector, labels, texts)
    }
}

pub(super) fn write_claim(
    writer: &mut Writer,
    texts: &mut Texts,
    claim: &PersistentVolumeClaim,
) -> Written {
    let (metadata, spec) = (&claim.metadata, &claim.spec);
    let request = storage(&spec.resources.requests);
    let selected_node = metadata.annotations.get(SELECTED_NODE);
    let controller = metadata.controller();
    let flags = [
        (claim_flag::LOST, claim.status.phase == "Lost"),
        (claim_flag::DELETING, metadata.deletion_timestamp.is_some()),
        (
            claim_flag::BIND_COMPLETED,
            metadata.annotations.contains_key(BIND_COMPLETED),
        ),
        (claim_flag::HAS_REQUEST, request.is_some()),
        (claim_flag::HAS_SELECTED_NODE, selected_node.is_some()),
        (claim_flag::HAS_CONTROLLER, controller.is_some()),
        (claim_flag::NEW, claim.status.phase.is_empty()),
    ];
    writer.number(bits(&flags))?;
    write_text(writer, texts, claim.class())?;
    let spec_class = spec.storage_class_name.as_deref();
    write_text(writer, texts, spec_class.unwrap_or(claim.class()))?;
    write_mode(writer, texts, spec.volume_mode.as_deref())?;
    write_text(
        writer,
        texts,
        spec.volume_attributes_class_name.as_deref().unwrap_or(""),
    )?;
    writer.number(access_modes(&spec.access_modes))?;
    write_text(writer, texts, &spec.volume_name)?;
    write_text(writer, texts, selected_node.map_or("", String::as_str))?;
    write_text(writer, texts, controller.map_or("", |owner| &owner.uid))?;
    write_text(writer, texts, &metadata.uid)?;
    let request = request.unwrap_or_default();
    write_exact(writer, request)?;
    writer.amount(request.value())?;
    match &spec.selector {
        Some(selector) => write_bare_selector(writer, texts, Some(selector), core::iter::empty()),
        None => Ok(()),
    }
}

pub(super) fn is_open_claim(words: &[Word]) -> bool {
    ClaimView::read(words).is_some_and(|claim| claim.is_open())
}

/// Words of a volume's record between its labels and those of its claim.
const BEFORE_CLAIM: usize = 9;
/// Places in a claim's record.
const CLAIM_VOLUME: usize = 6;
const CLAIM_SELECTED_NODE: usize = 7;

/// Writes the record of a volume once more, as it is when it is bound to a claim.
pub(super) fn write_bound_volume(
    writer: &mut Writer,
    texts: &mut Texts,
    words: &[Word],
    claim: ClaimRef,
) -> Written {
    let Some((labels, [flags, ..])) = split_item(words) else {
        return Ok(());
    };
    writer.copy(texts, words)?;
    let at = labels.len().saturating_add(1);
    let flags = flags & !volume_flag::AVAILABLE | volume_flag::HAS_CLAIM;
    writer.set(at, flags);
    let at = at.saturating_add(BEFORE_CLAIM);
    for (place, word) in claim.into_iter().enumerate() {
        writer.replace(texts, at.saturating_add(place), word);
    }
    Ok(())
}

/// Writes the record of a claim once more, as it is when it is bound to a volume; `node` is the one
/// that the volume was provisioned for, 0: it was not for any.
pub(super) fn write_bound_claim(
    writer: &mut Writer,
    texts: &mut Texts,
    words: &[Word],
    volume: Word,
    node: Word,
) -> Written {
    writer.copy(texts, words)?;
    let before = words.first().copied().unwrap_or(0);
    let mut flags = before & !(claim_flag::LOST | claim_flag::NEW) | claim_flag::BIND_COMPLETED;
    writer.replace(texts, CLAIM_VOLUME, volume);
    if node != 0 {
        flags |= claim_flag::HAS_SELECTED_NODE;
        writer.replace(texts, CLAIM_SELECTED_NODE, node);
    }
    writer.set(0, flags);
    Ok(())
}

/// 0 for an empty text.
pub(super) fn write_text(writer: &mut Writer, texts: &mut Texts, text: &str) -> Written {
    if text.is_empty() {
        writer.number(0)
    } else {
        writer.text(texts, text)
    }
}

fn write_mode(writer: &mut Writer, texts: &mut Texts, mode: Option<&str>) -> Written {
    writer.text(texts, mode.unwrap_or("Filesystem"))
}

fn bits(flags: &[(u32, bool)]) -> u32 {
    let set = flags.iter().filter(|(_, set)| *set);
    set.fold(0, |bits, (bit, _)| bits | bit)
}

fn access_modes(modes: &[String]) -> u32 {
    let bit = |mode: &String| {
        let place = ACCESS_MODES.iter().position(|own| own == mode);
        1 << place.unwrap_or(ACCESS_MODES.len())
    };
    modes.iter().fold(0, |bits, mode| bits | bit(mode))
}

/// The amount of storage in a list.
fn storage(list: &ResourceList) -> Option<Quantity> {
    list.get("storage").copied()
}

/// An amount below zero counts as 0.
fn write_exact(writer: &mut Writer, amount: Quantity) -> Written {
    let nanos = amount.nanos().max(0).cast_unsigned();
    for shift in [124_u32, 93, 62, 31, 0] {
        writer.number((nanos >> shift) as u32)?;
    }
    Ok(())
}

fn read_exact(words: &[Word]) -> i128 {
    let nanos = words
        .iter()
        .fold(0_u128, |nanos, word| nanos << 31 | u128::from(*word));
    nanos.cast_signed()
}
