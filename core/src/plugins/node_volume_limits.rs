//! `NodeVolumeLimits`: a node takes as many volumes of a CSI driver as its CSINode says.
//!
//! Mirrors `plugins/nodevolumelimits/csi.go` with the gate VolumeLimitScaling, which is on: volumes
//! of pods on the node and those attached to it are counted once each; a driver that asks for it
//! must be on the node. Reasons: [`REASON`], the driver that is missing, a claim that is not there.
//!
//! Differs from kube-scheduler: of several missing drivers the first in the order of the pod's
//! volumes is named, not any.

use crate::class::Section;
use crate::cycle::{Attempt, Prepared, Refusal, Scratch, Unique, VolumeScratch, volumes};
use crate::decision::AttemptError;
use crate::intern::{Word, word_text};
use crate::plugins::Plugin;
use crate::selector;
use crate::volume::item::{self, Item};
use crate::volume::migration::InTree;
use crate::volume::record::VolumeView;
use crate::volume::storage::CsiNodeView;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Given where the volumes would be more than the node takes.
pub const REASON: &str = "node(s) exceed max volume count";

/// Which reason refused a row.
const TOO_MANY: u8 = 0;
const NO_DRIVER: u8 = 1;
pub(crate) const NO_CLAIM: u8 = 2;
/// The attempt fails if the search gets here.
pub(crate) const FAILURE: u8 = 3;

pub(crate) fn pre_filter(
    attempt: Attempt<'_>,
    scratch: &mut VolumeScratch,
) -> Result<Prepared, AttemptError> {
    let section = attempt.class.section(Section::Volumes);
    let counts = |item| matches!(item, Item::Claim(_) | Item::Disk { .. });
    if !item::volumes(section).any(counts) {
        return Ok(Prepared::Skips);
    }
    if missing_claim(attempt).is_some() {
        return Ok(Prepared::Runs);
    }
    let lists = scratch.fresh.iter_mut().zip(&mut scratch.fails);
    for ((list, fails), has_csi_node) in lists.zip([false, true]) {
        for item in item::volumes(section) {
            match unique(attempt, item, has_csi_node) {
                Ok(None) => {}
                Ok(Some(own)) if list.contains(&own) => {}
                Ok(Some(own)) => volumes::push(list, own)?,
                Err(error) => *fails = Some(error),
            }
        }
    }
    Ok(Prepared::Runs)
}

/// The first claim of the pod that is not there.
fn missing_claim(attempt: Attempt<'_>) -> Option<item::Claim> {
    let mut claims = item::claims(attempt.class.section(Section::Volumes));
    claims.find(|claim| {
        let state = &attempt.cluster.volumes;
        state.claim(claim.namespace, claim.name).is_none()
    })
}

/// Driver and handle of a volume; `None` where it is not counted. Mirrors `filterAttachableVolumes`.
fn unique(
    attempt: Attempt<'_>,
    item: Item<'_>,
    has_csi_node: bool,
) -> Result<Option<Unique>, AttemptError> {
    let (state, texts) = (&attempt.cluster.volumes, &attempt.cluster.texts);
    match item {
        Item::Claim(claim) => {
            let Some(view) = state.claim(claim.namespace, claim.name) else {
                return Ok(None);
            };
            if claim.owner.is_some_and(|uid| !view.is_controlled_by(uid)) {
                return Err(AttemptError::ForeignClaim);
            }
            if let Some(volume) = state.volume(view.volume) {
                let counts = volume.is_csi()
                    || has_csi_node && volume.plugin.is_some_and(InTree::is_migrated);
                let known = counts && volume.driver != 0 && volume.handle != 0;
                return Ok(known.then_some([volume.driver, volume.handle, 0]));
            }
            let Some(class) = state.class(view.class) else {
                return Ok(None);
            };
            let driver = match class.plugin {
                None => class.provisioner,
                Some(plugin) if has_csi_node && plugin.is_migrated() => {
                    selector::word_of(texts, plugin.driver()).unwrap_or(0)
                }
                Some(_) => 0,
            };
            Ok((driver != 0).then_some([driver, claim.namespace, claim.name]))
        }
        Item::Disk { plugin, handle, .. } if has_csi_node && plugin.is_migrated() => {
            if handle == 0 {
                return Err(AttemptError::Untranslatable);
            }
            let driver = selector::word_of(texts, plugin.driver());
            Ok(driver.map(|driver| [driver, handle, 0]))
        }
        _ => Ok(None),
    }
}

pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    if !scratch.volumes.runs(Plugin::NodeVolumeLimits) {
        return;
    }
    let has_claims = missing_claim(attempt).is_none();
    scratch.refuse_rows(Refusal::NodeVolumeLimits, |volumes, row| {
        if has_claims {
            ask(attempt, volumes, row)
        } else {
            Some(NO_CLAIM)
        }
    });
}

/// Why a row is refused.
fn ask(attempt: Attempt<'_>, scratch: &mut VolumeScratch, row: u32) -> Option<u8> {
    let state = &attempt.cluster.volumes;
    let name = attempt.cluster.name_of(row);
    let csi_node = state.csi_node(name);
    let (fresh, fails) = fresh(scratch, csi_node.is_some());
    if let Some(error) = fails {
        scratch.failure = Some(error);
        return Some(FAILURE);
    }
    if fresh.is_empty() {
        return None;
    }
    if missing_driver(attempt, fresh, csi_node).is_some() {
        return Some(NO_DRIVER);
    }
    let csi_node = csi_node.filter(|node| node.limits().next().is_some())?;
    if surely_fits(attempt, fresh, csi_node, row) {
        return None;
    }
    if let Err(error) = read_attached(attempt, &mut scratch.attached, row) {
        scratch.failure = Some(error);
        return Some(FAILURE);
    }
    let of_pods = scratch.attached.len();
    for [driver, volume] in state.attachments(name) {
        let volume = state.volume(volume).filter(VolumeView::is_csi);
        let own = volume.map(|volume| [driver, volume.handle, 0]);
        let (there, _) = scratch.attached.split_at(of_pods);
        if let Some(own) = own.filter(|own| driver != 0 && there.binary_search(own).is_err()) {
            scratch.attached.push(own);
        }
    }
    let [_, with] = &scratch.fresh;
    let (there, beside) = scratch.attached.split_at_mut(of_pods);
    beside.sort_unstable();
    let beside = beside.chunk_by(|one, other| one == other);
    let exceeds = csi_node.limits().any(|(driver, limit)| {
        let of_driver = |volume: &&Unique| volume.first() == Some(&driver);
        let fresh = with.iter().filter(of_driver);
        let fresh = fresh.filter(|own| there.binary_search(own).is_err());
        let fresh = fresh.count();
        let attached = there.iter().chain(beside.clone().filter_map(<[_]>::first));
        let attached = attached.filter(of_driver).count();
        fresh > 0 && attached.saturating_add(fresh) > limit as usize
    });
    exceeds.then_some(TOO_MANY)
}

/// Whether all volumes fit on a node even if each that is named or attached there is another.
fn surely_fits(
    attempt: Attempt<'_>,
    fresh: &[Unique],
    csi_node: CsiNodeView<'_>,
    row: u32,
) -> bool {
    let state = &attempt.cluster.volumes;
    let Some(named) = state.most_used_on(row) else {
        return false;
    };
    let attached = state.attachment_count(attempt.cluster.name_of(row));
    let there = (named as usize).saturating_add(attached as usize);
    let most = there.saturating_add(fresh.len());
    let mut limits = csi_node.limits();
    limits.all(|(driver, limit)| {
        most <= limit as usize || fresh.iter().all(|[own, ..]| *own != driver)
    })
}

/// Finds the volumes of the pods on a row, in order.
fn read_attached(
    attempt: Attempt<'_>,
    attached: &mut Vec<Unique>,
    row: u32,
) -> Result<(), AttemptError> {
    attached.clear();
    for item in attempt.cluster.volumes.used_on(row).filter_map(Item::read) {
        attached.extend(unique(attempt, item, true)?);
    }
    attached.sort_unstable();
    attached.dedup();
    Ok(())
}

/// The pod's volumes on a node with or without a CSINode, or why they cannot be told.
fn fresh(scratch: &VolumeScratch, has_csi_node: bool) -> (&[Unique], Option<AttemptError>) {
    let ([without, with], [fails_without, fails_with]) = (&scratch.fresh, scratch.fails);
    if has_csi_node {
        (with, fails_with)
    } else {
        (without, fails_without)
    }
}

/// The first driver that must be on the node and is not. Mirrors `checkCSIDriverOnNode`.
fn missing_driver(
    attempt: Attempt<'_>,
    fresh: &[Unique],
    csi_node: Option<CsiNodeView<'_>>,
) -> Option<Word> {
    let drivers = fresh.iter().map(|[driver, ..]| *driver);
    drivers.into_iter().find(|driver| {
        let object = attempt.cluster.volumes.csi_driver(*driver);
        object.is_some_and(|driver| driver.prevents_if_missing)
            && !csi_node.is_some_and(|node| node.has_driver(*driver))
    })
}

/// The reasons of a row, found anew.
pub(crate) fn reasons(
    attempt: Attempt<'_>,
    scratch: &VolumeScratch,
    row: u32,
    code: u8,
) -> Vec<String> {
    let texts = &attempt.cluster.texts;
    let text = |word: Word| word_text(word).map_or("", |text| texts.text(text));
    let reason = match code {
        NO_DRIVER => {
            let csi_node = attempt
                .cluster
                .volumes
                .csi_node(attempt.cluster.name_of(row));
            let (fresh, _) = fresh(scratch, csi_node.is_some());
            let driver = missing_driver(attempt, fresh, csi_node).unwrap_or(0);
            format!("{} CSI driver is not installed on the node", text(driver))
        }
        NO_CLAIM => match missing_claim(attempt) {
            Some(claim) => {
                let (namespace, name) = (text(claim.namespace), text(claim.name));
                format!(
                    "looking up PVC {namespace}/{name}: persistentvolumeclaim \"{name}\" not found"
                )
            }
            None => String::new(),
        },
        _ => String::from(REASON),
    };
    Vec::from([reason])
}
