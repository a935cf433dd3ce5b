//! Records of the kinds of storage: how they are written and read.

use super::migration::InTree;
use super::record::{WHOLE, Written, write_text};
use crate::intern::{Texts, Word, Writer, amount};
use crate::object::{
    CsiDriver, CsiNode, CsiStorageCapacity, MIGRATED_PLUGINS, StorageClass, VolumeAttachment,
    WAIT_FOR_FIRST_CONSUMER,
};
use crate::selector::{self, LabelsView, write_bare_selector, write_in_term};

/// When the volumes of a class are bound.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BindingMode {
    /// The object does not say.
    Unset,
    Immediate,
    WaitForFirstConsumer,
}

/// A StorageClass.
#[derive(Clone, Copy)]
pub(crate) struct StorageClassView<'a> {
    pub(crate) mode: BindingMode,
    pub(crate) provisioner: Word,
    /// The in-tree plugin that provisions.
    pub(crate) plugin: Option<InTree>,
    pub(crate) provisions: bool,
    /// Of one for claims that name none: when it came.
    pub(crate) default_since: Option<i64>,
    /// Terms of `allowedTopologies`.
    pub(crate) topologies: &'a [Word],
}

impl<'a> StorageClassView<'a> {
    pub(crate) fn read(words: &'a [Word]) -> Option<Self> {
        let [mode, provisioner, plugin, flags, rest @ ..] = words else {
            return None;
        };
        let is_default = flags & class_flag::DEFAULT != 0;
        let since = if is_default { WHOLE } else { 0 };
        let (since, topologies) = rest.split_at_checked(since)?;
        Some(Self {
            mode: match mode {
                0 => BindingMode::Unset,
                1 => BindingMode::Immediate,
                _ => BindingMode::WaitForFirstConsumer,
            },
            provisioner: *provisioner,
            plugin: InTree::of_number(*plugin),
            provisions: flags & class_flag::PROVISIONS != 0,
            default_since: is_default.then(|| amount(since)),
            topologies,
        })
    }

    /// Mirrors `MatchTopologySelectorTerms`.
    pub(crate) fn allows(&self, labels: LabelsView<'_>, texts: &Texts) -> bool {
        self.topologies.is_empty()
            || selector::items(self.topologies).any(|term| match term.split_first() {
                Some((1, requirements)) => selector::all_hold(requirements, labels, texts),
                _ => false,
            })
    }
}

/// Bits of a class' flags.
mod class_flag {
    pub(super) const PROVISIONS: u32 = 1;
    /// For claims that name none; the time since when follows.
    pub(super) const DEFAULT: u32 = 1 << 1;
}

/// Provisioner of classes whose volumes are made by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

pub(super) fn write_class(writer: &mut Writer, texts: &mut Texts, class: &StorageClass) -> Written {
    let mode = class.volume_binding_mode.as_deref();
    writer.number(match mode {
        None => 0,
        Some(WAIT_FOR_FIRST_CONSUMER) => 2,
        Some(_) => 1,
    })?;
    let provisioner = class.provisioner.as_str();
    write_text(writer, texts, provisioner)?;
    let plugin = InTree::of_provisioner(provisioner);
    writer.number(plugin.map_or(0, InTree::number))?;
    let provisions = !provisioner.is_empty() && provisioner != NO_PROVISIONER;
    let since = class.default_since();
    let default = since.map_or(0, |_| class_flag::DEFAULT);
    writer.number(
        default
            | if provisions {
                class_flag::PROVISIONS
            } else {
                0
            },
    )?;
    if let Some(since) = since {
        writer.amount(since)?;
    }
    for term in &class.allowed_topologies {
        let terms = term.match_label_expressions.iter();
        let pairs = terms.map(|own| (own.key.as_str(), own.values.as_slice()));
        write_in_term(writer, texts, pairs)?;
    }
    Ok(())
}

/// A CSINode.
#[derive(Clone, Copy)]
pub(crate) struct CsiNodeView<'a> {
    migrated: u32,
    /// `[name, whether it has a limit, limit]`.
    drivers: &'a [[Word; 3]],
}

impl<'a> CsiNodeView<'a> {
    pub(crate) fn read(words: &'a [Word]) -> Option<Self> {
        let (migrated, drivers) = words.split_first()?;
        Some(Self {
            migrated: *migrated,
            drivers: drivers.as_chunks::<3>().0,
        })
    }

    /// Whether CSI drivers stand in for the plugin there.
    pub(crate) const fn is_migrated(&self, plugin: InTree) -> bool {
        plugin.is_migrated() && self.migrated & plugin.bit() != 0
    }

    pub(crate) fn has_driver(&self, driver: Word) -> bool {
        self.drivers.iter().any(|[name, ..]| *name == driver)
    }

    /// Drivers with a limit, and their limits.
    pub(crate) fn limits(&self) -> impl Iterator<Item = (Word, u32)> + use<'a> {
        let limited = self.drivers.iter().filter(|[_, has, _]| *has != 0);
        limited.map(|[name, _, limit]| (*name, *limit))
    }

    /// Whether a driver takes more than before; one without a limit counts as 0.
    pub(crate) fn grew(&self, old: &Self) -> bool {
        self.drivers.iter().any(|[name, _, limit]| {
            let mut before = old.drivers.iter();
            let before = before.find(|[own, ..]| own == name);
            *limit > before.map_or(0, |[_, _, limit]| *limit)
        })
    }

    pub(crate) const fn same_migration(&self, old: &Self) -> bool {
        self.migrated == old.migrated
    }
}

pub(super) fn write_node(writer: &mut Writer, texts: &mut Texts, node: &CsiNode) -> Written {
    let migrated = node.metadata.annotations.get(MIGRATED_PLUGINS);
    let plugins = migrated.iter().flat_map(|own| own.split(','));
    let plugins = plugins.filter_map(InTree::of_provisioner);
    writer.number(plugins.fold(0, |bits, plugin| bits | plugin.bit()))?;
    for driver in &node.spec.drivers {
        writer.text(texts, &driver.name)?;
        let count = driver.allocatable.count;
        writer.number(u32::from(count.is_some()))?;
        writer.number(count.unwrap_or(0).max(0).cast_unsigned())?;
    }
    Ok(())
}

/// A CSIDriver.
#[derive(Clone, Copy)]
pub(crate) struct CsiDriverView {
    pub(crate) storage_capacity: bool,
    pub(crate) prevents_if_missing: bool,
}

impl CsiDriverView {
    pub(crate) const fn read(words: &[Word]) -> Option<Self> {
        let [capacity, prevents] = words else {
            return None;
        };
        Some(Self {
            storage_capacity: *capacity != 0,
            prevents_if_missing: *prevents != 0,
        })
    }
}

pub(super) fn write_driver(writer: &mut Writer, driver: &CsiDriver) -> Written {
    writer.number(u32::from(driver.spec.storage_capacity))?;
    writer.number(u32::from(driver.spec.prevent_pod_scheduling_if_missing))
}

/// A CSIStorageCapacity.
#[derive(Clone, Copy)]
pub(crate) struct CapacityView<'a> {
    pub(crate) class: Word,
    /// What one volume may take; absent: nothing.
    pub(crate) limit: Option<i64>,
    /// What there is, 0 where the object does not say.
    pub(crate) capacity: i64,
    topology: &'a [Word],
}

impl<'a> CapacityView<'a> {
    pub(crate) fn read(words: &'a [Word]) -> Option<Self> {
        let [class, has_limit, rest @ ..] = words else {
            return None;
        };
        let (limit, rest) = rest.split_at_checked(WHOLE)?;
        let (capacity, topology) = rest.split_at_checked(WHOLE)?;
        Some(Self {
            class: *class,
            limit: (*has_limit != 0).then(|| amount(limit)),
            capacity: amount(capacity),
            topology,
        })
    }

    pub(crate) fn is_accessible(&self, labels: LabelsView<'_>, texts: &Texts) -> bool {
        selector::selects(self.topology, labels, texts)
    }
}

pub(super) fn write_capacity(
    writer: &mut Writer,
    texts: &mut Texts,
    capacity: &CsiStorageCapacity,
) -> Written {
    write_text(writer, texts, &capacity.storage_class_name)?;
    let limit = capacity.maximum_volume_size.or(capacity.capacity);
    writer.number(u32::from(limit.is_some()))?;
    writer.amount(limit.unwrap_or_default().value())?;
    writer.amount(capacity.capacity.unwrap_or_default().value())?;
    // A topology that does not parse is that of no node.
    let topology = capacity.node_topology.as_ref();
    let topology = topology.filter(|topology| selector::is_valid(topology));
    write_bare_selector(writer, texts, topology, core::iter::empty())
}

/// Attacher, node and volume (0: none) of a VolumeAttachment.
pub(crate) const fn read_attachment(words: &[Word]) -> Option<[Word; 3]> {
    match words {
        [attacher, node, volume] => Some([*attacher, *node, *volume]),
        _ => None,
    }
}

pub(super) fn write_attachment(
    writer: &mut Writer,
    texts: &mut Texts,
    attachment: &VolumeAttachment,
) -> Written {
    let spec = &attachment.spec;
    write_text(writer, texts, &spec.attacher)?;
    write_text(writer, texts, &spec.node_name)?;
    let volume = spec.source.persistent_volume_name.as_deref();
    write_text(writer, texts, volume.unwrap_or(""))
}
