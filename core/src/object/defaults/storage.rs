//! What is set in volumes, claims and storage classes.
//!
//! Mirrors `pkg/apis/storage/v1/defaults.go`, the plugin `DefaultStorageClass` of
//! `plugin/pkg/admission`, and what the volume controller writes at once of a new volume.

use super::Defaults;
use crate::object::{DEFAULT_CLASS, Object, PersistentVolume, PersistentVolumeClaim, StorageClass};
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

impl Defaults {
    /// Of several classes marked as the default one, the first by name counts.
    pub(super) fn add_storage_class(&mut self, class: &StorageClass) {
        let mark = class.metadata.annotations.get(DEFAULT_CLASS);
        let name = &class.metadata.name;
        let is_first = |own: &String| name < own;
        if mark.is_some_and(|mark| mark == "true")
            && self.storage_class.as_ref().is_none_or(is_first)
        {
            self.storage_class = Some(name.clone());
        }
    }

    /// Gives a claim that names no class the default one; one that an API server has admitted stays.
    pub fn apply_to_claim(&self, claim: &mut PersistentVolumeClaim) {
        let names_one = claim.spec.storage_class_name.is_some() || !claim.class().is_empty();
        if !names_one && claim.status.phase.is_empty() && claim.spec.volume_name.is_empty() {
            claim
                .spec
                .storage_class_name
                .clone_from(&self.storage_class);
        }
    }
}
