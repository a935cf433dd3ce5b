//! What is set in volumes, claims and storage classes.
//!
//! Mirrors `pkg/apis/storage/v1/defaults.go`, the plugin `DefaultStorageClass` of
//! `plugin/pkg/admission`, and what the volume controller writes at once of a new volume.

use super::Defaults;
use crate::object::{
    BETA_STORAGE_CLASS, BIND_COMPLETED, Object, PersistentVolume, PersistentVolumeClaim,
    StorageClass,
};
use alloc::borrow::ToOwned;
use alloc::string::String;

/// Sets what an API server or the volume controller would set, whatever else there is.
pub(crate) fn complete(object: &mut Object) {
    match object {
        Object::StorageClass(class) => {
            let mode = &mut class.volume_binding_mode;
            mode.get_or_insert_with(|| "Immediate".to_owned());
        }
        Object::PersistentVolume(volume) if volume.status.phase.is_empty() => {
            phase(volume).clone_into(&mut volume.status.phase);
        }
        _ => {}
    }
}

fn phase(volume: &PersistentVolume) -> &'static str {
    match &volume.spec.claim_ref {
        Some(claim) if !claim.uid.is_empty() => "Bound",
        _ => "Available",
    }
}

/// The class of claims that name none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultClass {
    pub name: String,
    /// When it came, in nanoseconds since 1970.
    pub since: i64,
}

impl DefaultClass {
    /// Of several the newest counts, of equally old ones the first by name. Mirrors `GetDefaultClass`
    /// of `pkg/volume/util/storageclass.go`.
    pub(crate) fn precedes(&self, other: &Self) -> bool {
        (other.since, &self.name) < (self.since, &other.name)
    }
}

impl Defaults {
    pub(super) fn add_storage_class(&mut self, class: &StorageClass) {
        let since = class.default_since();
        self.offer_storage_class(since.map(|since| DefaultClass {
            name: class.metadata.name.clone(),
            since,
        }));
    }

    /// Takes into account the default class of a cluster that is there already.
    pub fn offer_storage_class(&mut self, class: Option<DefaultClass>) {
        let Some(class) = class else {
            return;
        };
        let own = self.storage_class.as_ref();
        if own.is_none_or(|own| class.precedes(own)) {
            self.storage_class = Some(class);
        }
    }

    /// Gives a claim that names no class the default one; one that an API server has admitted stays.
    pub fn apply_to_claim(&self, claim: &mut PersistentVolumeClaim) {
        let annotations = &claim.metadata.annotations;
        let names_one =
            claim.spec.storage_class_name.is_some() || annotations.contains_key(BETA_STORAGE_CLASS);
        let admitted = !claim.status.phase.is_empty() || annotations.contains_key(BIND_COMPLETED);
        if !names_one && !admitted {
            let class = self.storage_class.as_ref();
            claim.spec.storage_class_name = class.map(|class| class.name.clone());
        }
    }
}
