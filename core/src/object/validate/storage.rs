//! Volumes, claims and the kinds of storage.
//!
//! Mirrors the parts of `pkg/apis/core/validation/validation.go` and
//! `pkg/apis/storage/validation/validation.go` that bear on where a pod goes.

use super::{Problems, name};
use crate::object::path::{Path, Quoted};
use crate::object::{
    CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeClaimSpec, ResourceList, StorageClass, Volume, VolumeAttachment,
};
use crate::quantity::Quantity;
use alloc::collections::BTreeSet;
use alloc::string::String;

/// What volumes and claims are measured in.
const STORAGE: &str = "storage";

impl Problems {
    pub(super) fn persistent_volume(&mut self, volume: &PersistentVolume) {
        let spec = Path::root("spec");
        self.storage(&spec.key("capacity"), &volume.spec.capacity);
        self.access_modes(&spec.key("accessModes"), &volume.spec.access_modes);
        self.volume_mode(&spec.key("volumeMode"), volume.spec.volume_mode.as_deref());
        if let Some(claim) = &volume.spec.claim_ref
            && (claim.name.is_empty() || claim.namespace.is_empty())
        {
            self.add(&spec.key("claimRef"), "needs namespace and name");
        }
        if let Some(required) = &volume.spec.node_affinity.required {
            let field = spec.key("nodeAffinity");
            self.node_selector(&field.key("required"), required);
        }
        if let Some(csi) = &volume.spec.csi {
            let field = spec.key("csi");
            self.required(&field.key("driver"), &csi.driver);
            self.required(&field.key("volumeHandle"), &csi.volume_handle);
        }
    }

    pub(super) fn persistent_volume_claim(&mut self, claim: &PersistentVolumeClaim) {
        self.claim_spec(&Path::root("spec"), &claim.spec);
    }

    pub(super) fn claim_spec(&mut self, field: &Path<'_>, spec: &PersistentVolumeClaimSpec) {
        self.access_modes(&field.key("accessModes"), &spec.access_modes);
        if let Some(selector) = &spec.selector {
            self.label_selector(&field.key("selector"), selector);
        }
        let resources = field.key("resources");
        self.storage(&resources.key("requests"), &spec.resources.requests);
        if let Some(class) = spec.storage_class_name.as_deref()
            && !class.is_empty()
        {
            let form = name::dns_subdomain(class);
            self.form(&field.key("storageClassName"), class, form);
        }
        self.volume_mode(&field.key("volumeMode"), spec.volume_mode.as_deref());
    }

    pub(super) fn storage_class(&mut self, class: &StorageClass) {
        self.required(&Path::root("provisioner"), &class.provisioner);
        if let Some(mode) = class.volume_binding_mode.as_deref()
            && !matches!(mode, "Immediate" | "WaitForFirstConsumer")
        {
            let mode = Quoted(mode);
            self.add(
                &Path::root("volumeBindingMode"),
                format_args!("{mode} must be Immediate or WaitForFirstConsumer"),
            );
        }
        let field = Path::root("allowedTopologies");
        for (index, term) in class.allowed_topologies.iter().enumerate() {
            let field = field.index(index);
            let expressions = field.key("matchLabelExpressions");
            let mut seen = BTreeSet::new();
            for (index, expression) in term.match_label_expressions.iter().enumerate() {
                let field = expressions.index(index);
                let key = expression.key.as_str();
                self.form(&field.key("key"), key, name::label_key(key));
                if expression.values.is_empty() {
                    self.add(&field.key("values"), "must have at least one value");
                }
                if !seen.insert(key) {
                    self.add(&field.key("key"), "stands twice in the term");
                }
            }
        }
    }

    pub(super) fn csi_node(&mut self, node: &CsiNode) {
        let spec = Path::root("spec");
        let drivers = spec.key("drivers");
        let mut seen = BTreeSet::new();
        for (index, driver) in node.spec.drivers.iter().enumerate() {
            let field = drivers.index(index);
            self.required(&field.key("name"), &driver.name);
            if !seen.insert(&driver.name) {
                self.add(&field.key("name"), "stands twice");
            }
            let allocatable = field.key("allocatable");
            self.not_negative(&allocatable.key("count"), driver.allocatable.count);
        }
    }

    pub(super) fn csi_storage_capacity(&mut self, capacity: &CsiStorageCapacity) {
        let class = Path::root("storageClassName");
        self.required(&class, &capacity.storage_class_name);
        if let Some(topology) = &capacity.node_topology {
            self.label_selector(&Path::root("nodeTopology"), topology);
        }
        for (field, amount) in [
            ("capacity", capacity.capacity),
            ("maximumVolumeSize", capacity.maximum_volume_size),
        ] {
            if amount.is_some_and(Quantity::is_negative) {
                self.add(&Path::root(field), "must not be negative");
            }
        }
    }

    pub(super) fn volume_attachment(&mut self, attachment: &VolumeAttachment) {
        let spec = Path::root("spec");
        self.required(&spec.key("attacher"), &attachment.spec.attacher);
        self.required(&spec.key("nodeName"), &attachment.spec.node_name);
    }

    pub(super) fn volumes(&mut self, field: &Path<'_>, volumes: &[Volume]) {
        let mut seen = BTreeSet::new();
        for (index, volume) in volumes.iter().enumerate() {
            let field = field.index(index);
            if !seen.insert(volume.name.as_str()) {
                let name = Quoted(&volume.name);
                let problem = format_args!("{name} is the name of another volume too");
                self.add(&field.key("name"), problem);
            }
            if let Some(claim) = volume.source.get("persistentVolumeClaim") {
                let field = field.key("persistentVolumeClaim");
                self.required(&field.key("claimName"), &claim.claim_name);
            }
            if let Some(ephemeral) = volume.source.get("ephemeral") {
                let field = field.key("ephemeral");
                let field = field.key("volumeClaimTemplate");
                match &ephemeral.volume_claim_template {
                    Some(template) => self.claim_spec(&field.key("spec"), &template.spec),
                    None => self.add(&field, "is missing"),
                }
            }
        }
    }

    fn required(&mut self, field: &Path<'_>, text: &str) {
        if text.is_empty() {
            self.add(field, "is missing");
        }
    }

    fn storage(&mut self, field: &Path<'_>, amounts: &ResourceList) {
        self.amounts(field, amounts);
        match amounts.get(STORAGE) {
            None => self.add(&field.key(STORAGE), "is missing"),
            Some(amount) if amount.is_zero() => {
                self.add(&field.key(STORAGE), "must be more than 0");
            }
            Some(_) => {}
        }
    }

    fn access_modes(&mut self, field: &Path<'_>, modes: &[String]) {
        if modes.is_empty() {
            self.add(field, "must have at least one mode");
        }
        for (index, mode) in modes.iter().enumerate() {
            let known = matches!(
                mode.as_str(),
                "ReadWriteOnce" | "ReadOnlyMany" | "ReadWriteMany" | "ReadWriteOncePod"
            );
            if !known {
                let mode = Quoted(mode);
                self.add(
                    &field.index(index),
                    format_args!(
                        "{mode} must be ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod"
                    ),
                );
            }
        }
        if modes.len() > 1 && modes.iter().any(|mode| mode == "ReadWriteOncePod") {
            self.add(field, "may hold no other mode beside ReadWriteOncePod");
        }
    }

    fn volume_mode(&mut self, field: &Path<'_>, mode: Option<&str>) {
        if let Some(mode) = mode
            && !matches!(mode, "Filesystem" | "Block")
        {
            let mode = Quoted(mode);
            self.add(field, format_args!("{mode} must be Filesystem or Block"));
        }
    }
}
