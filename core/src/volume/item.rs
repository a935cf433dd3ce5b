//! The volumes of a pod spec, as items of its class.
//!
//! | item | stands for |
//! | --- | --- |
//! | `[CLAIM, namespace, name]` | a claim |
//! | `[EPHEMERAL, namespace, name, uid]` | the claim of a generic ephemeral volume, the pod's uid |
//! | `[DISK, plugin, id, read-only, handle]` | a disk of an in-tree plugin; handle 0: no driver takes it |
//! | `[ISCSI, iqn, read-only]` | |
//! | `[RBD, read-only, pool, image, monitors..]` | |
//! | `[CSI, driver]` | an in-line volume of a driver |
//!
//! Claims are named: pods that use different claims are placed by different objects, and so are of
//! different classes, as the pods of a StatefulSet are by their labels. A pod with an ephemeral volume
//! is in a class of its own.

use super::migration::{InTree, translate_inline};
use crate::capacity::CapacityExceeded;
use crate::intern::{Texts, Word, Writer};
use crate::object::{Pod, VolumeSource};
use crate::selector::{items, write_item};
use alloc::string::String;

const CLAIM: Word = 0;
const EPHEMERAL: Word = 1;
const DISK: Word = 2;
const ISCSI: Word = 3;
const RBD: Word = 4;
const CSI: Word = 5;

/// A volume of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    Claim(Claim),
    Disk {
        plugin: InTree,
        id: Word,
        read_only: bool,
        /// 0: no driver takes it.
        handle: Word,
    },
    Iscsi {
        iqn: Word,
        read_only: bool,
    },
    Rbd {
        read_only: bool,
        pool: Word,
        image: Word,
        monitors: &'a [Word],
    },
    Csi {
        driver: Word,
    },
}

/// A claim that a pod names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) namespace: Word,
    pub(crate) name: Word,
    /// Of an ephemeral volume: the uid of the pod that must control it, 0 if it has none.
    pub(crate) owner: Option<Word>,
}

impl<'a> Item<'a> {
    pub(crate) fn read(words: &'a [Word]) -> Option<Self> {
        Some(match *words {
            [CLAIM, namespace, name] => Self::Claim(Claim {
                namespace,
                name,
                owner: None,
            }),
            [EPHEMERAL, namespace, name, uid] => Self::Claim(Claim {
                namespace,
                name,
                owner: Some(uid),
            }),
            [DISK, plugin, id, read_only, handle] => Self::Disk {
                plugin: InTree::of_number(plugin)?,
                id,
                read_only: read_only != 0,
                handle,
            },
            [ISCSI, iqn, read_only] => Self::Iscsi {
                iqn,
                read_only: read_only != 0,
            },
            [RBD, read_only, pool, image, ref monitors @ ..] => Self::Rbd {
                read_only: read_only != 0,
                pool,
                image,
                monitors,
            },
            [CSI, driver] => Self::Csi { driver },
            _ => return None,
        })
    }

    /// Whether two pods cannot have these on one node. Mirrors `isVolumeConflict`.
    pub(crate) fn conflicts(self, other: Self) -> bool {
        match (self, other) {
            (
                Self::Disk {
                    plugin,
                    id,
                    read_only,
                    ..
                },
                Self::Disk {
                    plugin: other_plugin,
                    id: other_id,
                    read_only: other_read_only,
                    ..
                },
            ) if plugin == other_plugin && id == other_id => match plugin {
                InTree::GcePd => !(read_only && other_read_only),
                InTree::AwsEbs => true,
                _ => false,
            },
            (
                Self::Iscsi { iqn, read_only },
                Self::Iscsi {
                    iqn: other_iqn,
                    read_only: other_read_only,
                },
            ) => iqn == other_iqn && !(read_only && other_read_only),
            (
                Self::Rbd {
                    read_only,
                    pool,
                    image,
                    monitors,
                },
                Self::Rbd {
                    read_only: other_read_only,
                    pool: other_pool,
                    image: other_image,
                    monitors: other_monitors,
                },
            ) => {
                (pool, image) == (other_pool, other_image)
                    && !(read_only && other_read_only)
                    && monitors.iter().any(|own| other_monitors.contains(own))
            }
            _ => false,
        }
    }

    /// Whether it may be one of two that conflict. Mirrors `needsRestrictionsCheck`.
    pub(crate) const fn is_restricted(self) -> bool {
        matches!(
            self,
            Self::Disk {
                plugin: InTree::GcePd | InTree::AwsEbs,
                ..
            } | Self::Iscsi { .. }
                | Self::Rbd { .. }
        )
    }
}

/// The volumes of a class' section.
pub(crate) fn volumes(section: &[Word]) -> impl Iterator<Item = Item<'_>> + Clone {
    items(section).filter_map(Item::read)
}

/// The claims of a class' section, in the order of the volumes.
pub(crate) fn claims(section: &[Word]) -> impl Iterator<Item = Claim> + Clone + '_ {
    volumes(section).filter_map(|item| match item {
        Item::Claim(claim) => Some(claim),
        _ => None,
    })
}

/// Items that are counted on nodes, as words.
pub(crate) fn counted(section: &[Word]) -> impl Iterator<Item = &[Word]> + Clone {
    items(section).filter(|item| item.first() != Some(&CSI))
}

/// Whether NodeVolumeLimits may fail over an item of another pod: a claim of an ephemeral volume may be
/// foreign, a disk that no driver takes cannot be translated.
pub(crate) const fn is_doubtful(item: &[Word]) -> bool {
    matches!(item, [EPHEMERAL, ..] | [DISK, _, _, _, 0])
}

/// The use of a claim by `persistentVolumeClaim`.
pub(crate) const fn claim_use(claim: Claim) -> [Word; 3] {
    [CLAIM, claim.namespace, claim.name]
}

/// Writes the volumes that rules read; `buffer` is for texts that are put together.
pub(crate) fn write_volumes(
    writer: &mut Writer,
    texts: &mut Texts,
    pod: &Pod,
    buffer: &mut String,
) -> Result<(), CapacityExceeded> {
    for volume in &pod.spec.volumes {
        for (field, source) in &volume.source {
            match field.as_str() {
                "persistentVolumeClaim" => write_item(writer, texts, |writer, texts| {
                    writer.number(CLAIM)?;
                    writer.text(texts, &pod.metadata.namespace)?;
                    writer.text(texts, &source.claim_name)
                })?,
                "ephemeral" => write_item(writer, texts, |writer, texts| {
                    let parts = [pod.metadata.name.as_str(), "-", &volume.name];
                    let length = parts
                        .iter()
                        .fold(0_usize, |sum, part| sum.saturating_add(part.len()));
                    if length > buffer.capacity() {
                        return Err(CapacityExceeded {
                            which: "claim name bytes",
                            limit: buffer.capacity() as u64,
                        });
                    }
                    buffer.clear();
                    for part in parts {
                        buffer.push_str(part);
                    }
                    writer.number(EPHEMERAL)?;
                    writer.text(texts, &pod.metadata.namespace)?;
                    writer.text(texts, buffer)?;
                    write_text(writer, texts, &pod.metadata.uid)
                })?,
                "iscsi" => write_item(writer, texts, |writer, texts| {
                    writer.number(ISCSI)?;
                    writer.text(texts, &source.iqn)?;
                    writer.number(u32::from(source.read_only))
                })?,
                "rbd" => write_item(writer, texts, |writer, texts| {
                    let pool = if source.pool.is_empty() {
                        "rbd"
                    } else {
                        &source.pool
                    };
                    writer.number(RBD)?;
                    writer.number(u32::from(source.read_only))?;
                    writer.text(texts, pool)?;
                    writer.text(texts, &source.image)?;
                    let mut monitors = source.monitors.iter();
                    monitors.try_for_each(|monitor| writer.text(texts, monitor))
                })?,
                "csi" => write_item(writer, texts, |writer, texts| {
                    writer.number(CSI)?;
                    writer.text(texts, &source.driver)
                })?,
                field => {
                    if let Some(plugin) = InTree::of_field(field) {
                        write_disk(writer, texts, plugin, source, buffer)?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn write_disk(
    writer: &mut Writer,
    texts: &mut Texts,
    plugin: InTree,
    source: &VolumeSource,
    buffer: &mut String,
) -> Result<(), CapacityExceeded> {
    write_item(writer, texts, |writer, texts| {
        let id = match plugin {
            InTree::GcePd => &source.pd_name,
            InTree::AzureDisk => &source.disk_uri,
            _ => &source.volume_id,
        };
        writer.number(DISK)?;
        writer.number(plugin.number())?;
        writer.text(texts, id)?;
        writer.number(u32::from(source.read_only))?;
        match translate_inline(plugin, source, buffer) {
            Ok(()) if plugin.is_migrated() => writer.text(texts, buffer),
            _ => writer.number(0),
        }
    })
}

fn write_text(writer: &mut Writer, texts: &mut Texts, text: &str) -> Result<(), CapacityExceeded> {
    if text.is_empty() {
        writer.number(0)
    } else {
        writer.text(texts, text)
    }
}
