//! Capacities that an input needs.

use super::{Capacities, TOPOLOGY_KEYS_MAX};
use crate::object::{
    LabelSelector, Labels, NodeSelectorTerm, Object, ObjectMeta, Pod, PodAffinityTerm, Requirement,
};
use alloc::collections::{BTreeMap, BTreeSet};
use core::hash::{BuildHasher, Hash, Hasher};
use core::num::Saturating;
use foldhash::fast::FixedState;

/// Live classes at most: each costs some bytes a node.
const LIVE_MAX: u32 = 1024;
/// Bytes that the bits and columns of live classes may take.
const LIVE_BYTES_MAX: u64 = 256 << 20;
/// Resource names, topology keys and images that are there in any case.
const FEW: u32 = 32;

impl Capacities {
    /// Room for these objects and pending pods; equal pods are counted once where only what they
    /// say matters. Estimates where counting exactly would mean interning: where one is too low,
    /// the refusal names it for [`Capacities::grown`]. Linear in the input.
    pub fn for_objects<'a>(
        objects: impl Iterator<Item = &'a Object>,
        pending: impl Iterator<Item = &'a Pod>,
    ) -> Self {
        let mut measure = Measure::default();
        for object in objects {
            match object {
                Object::Pod(pod) => measure.pod(pod),
                other => measure.object(other),
            }
        }
        for pod in pending {
            measure.pod(pod);
        }
        measure.finish()
    }
}

#[derive(Default)]
struct Measure {
    nodes: Saturating<u64>,
    pods: Saturating<u64>,
    /// Hashes of what decides placement, and of texts.
    classes: BTreeSet<u64>,
    texts: BTreeSet<u64>,
    text_bytes: Saturating<u64>,
    class_words: Saturating<u64>,
    terms: Saturating<u64>,
    term_words: Saturating<u64>,
    live_words: Saturating<u64>,
    /// Labels of nodes by key, and the keys that pods name as topology.
    node_labels: BTreeMap<u64, Saturating<u64>>,
    topology_keys: BTreeSet<u64>,
    /// Words of the largest record.
    largest: u64,
    node_words: Saturating<u64>,
    image_names: Saturating<u64>,
    images: BTreeSet<u64>,
    resources: BTreeSet<u64>,
    ports: Saturating<u64>,
    objects: Saturating<u64>,
    object_words: Saturating<u64>,
    volumes: Saturating<u64>,
    volume_words: Saturating<u64>,
    /// Claims and disks, as often as pods name them.
    volume_uses: Saturating<u64>,
    /// Claims that may have to be bound.
    claims: Saturating<u64>,
}

impl Measure {
    fn text(&mut self, text: &str) {
        if self.texts.insert(hash(text)) {
            // Rounded to blocks of a power of two.
            self.text_bytes += blocks(text.len().max(4) as u64);
        }
    }

    fn pairs(&mut self, pairs: &Labels) {
        for (key, value) in pairs {
            self.text(key);
            self.text(value);
        }
    }

    fn requirements(&mut self, requirements: &[Requirement]) {
        for requirement in requirements {
            self.text(&requirement.key);
            requirement.values.iter().for_each(|value| self.text(value));
        }
    }

    fn selector(&mut self, selector: &LabelSelector) {
        self.pairs(&selector.match_labels);
        self.requirements(&selector.match_expressions);
    }

    fn topology_key(&mut self, key: &str) {
        self.topology_keys.insert(hash(key));
        self.text(key);
    }

    fn object(&mut self, object: &Object) {
        let meta = object.metadata();
        match object {
            Object::Node(node) => {
                self.nodes += 1;
                self.text(&meta.name);
                self.pairs(&meta.labels);
                for key in meta.labels.keys() {
                    *self.node_labels.entry(hash(key)).or_default() += 1;
                }
                for taint in &node.spec.taints {
                    self.text(&taint.key);
                    self.text(&taint.value);
                }
                self.node_words += blocks(each(meta.labels.len(), 2).0);
                self.node_words += blocks(each(node.spec.taints.len(), 3).0);
                let names = || node.status.images.iter().flat_map(|image| &image.names);
                for name in names() {
                    self.images.insert(hash(name));
                    self.text(name);
                }
                self.image_names += blocks(names().count() as u64);
                self.largest = self.largest.max(names().count() as u64);
                let lists = node
                    .status
                    .allocatable
                    .iter()
                    .chain([&node.status.capacity]);
                self.resources
                    .extend(lists.flat_map(|list| list.keys()).map(|name| hash(name)));
            }
            Object::Namespace(_)
            | Object::Service(_)
            | Object::ReplicationController(_)
            | Object::ReplicaSet(_)
            | Object::StatefulSet(_) => {
                self.objects += 1;
                self.text(&meta.namespace);
                self.text(&meta.name);
                self.pairs(&meta.labels);
                let selector = match object {
                    Object::Service(own) => pair_words(own.spec.selector.as_ref()),
                    Object::ReplicationController(own) => pair_words(own.spec.selector.as_ref()),
                    Object::ReplicaSet(own) | Object::StatefulSet(own) => {
                        own.spec.selector.as_ref().map_or(Saturating(0), |own| {
                            each(own.match_labels.len(), 4)
                                + requirement_words(&own.match_expressions)
                        })
                    }
                    _ => pair_words(Some(&meta.labels)),
                };
                self.object_words += blocks((selector + Saturating(1)).0);
            }
            Object::PersistentVolume(volume) => {
                self.labelled(meta);
                let required = volume.spec.node_affinity.required.iter();
                let terms = required.flat_map(|own| &own.node_selector_terms);
                let terms = total(terms.map(|term| {
                    self.requirements(&term.match_expressions);
                    self.requirements(&term.match_fields);
                    term_words(term)
                }));
                // Terms stand twice where the plugin is an in-tree one.
                self.volume(
                    Saturating(64) + pair_words(Some(&meta.labels)) + terms * Saturating(2),
                );
                let sources = [volume.class(), &volume.spec.storage_class_name];
                for text in sources {
                    self.text(text);
                }
                if let Some(csi) = &volume.spec.csi {
                    self.text(&csi.driver);
                    self.text(&csi.volume_handle);
                }
            }
            Object::PersistentVolumeClaim(claim) => {
                self.labelled(meta);
                self.claims += 1;
                self.volume(Saturating(32) + optional_words(claim.spec.selector.as_ref()));
                let texts = [claim.class(), &claim.spec.volume_name, &meta.uid];
                for text in texts {
                    self.text(text);
                }
            }
            Object::StorageClass(class) => {
                self.labelled(meta);
                self.text(&class.provisioner);
                let terms = class.allowed_topologies.iter();
                let pairs = terms.flat_map(|term| &term.match_label_expressions);
                let words = total(pairs.map(|own| {
                    self.text(&own.key);
                    own.values.iter().for_each(|value| self.text(value));
                    Saturating(5) + each(own.values.len(), 1)
                }));
                self.volume(Saturating(8) + words);
            }
            Object::CsiNode(node) => {
                self.labelled(meta);
                for driver in &node.spec.drivers {
                    self.text(&driver.name);
                }
                self.volume(Saturating(2) + each(node.spec.drivers.len(), 3));
            }
            Object::CsiStorageCapacity(capacity) => {
                self.labelled(meta);
                self.text(&capacity.storage_class_name);
                let topology = capacity.node_topology.as_ref();
                if let Some(own) = topology {
                    self.selector(own);
                }
                self.volume(Saturating(16) + optional_words(topology));
            }
            Object::CsiDriver(_) => {
                self.labelled(meta);
                self.volume(Saturating(4));
            }
            Object::VolumeAttachment(attachment) => {
                let spec = &attachment.spec;
                self.labelled(meta);
                self.text(&spec.attacher);
                self.text(&spec.node_name);
                self.volume(Saturating(4));
            }
            _ => {}
        }
    }

    fn labelled(&mut self, meta: &ObjectMeta) {
        self.text(&meta.namespace);
        self.text(&meta.name);
        self.pairs(&meta.labels);
    }

    fn volume(&mut self, words: Saturating<u64>) {
        self.volumes += 1;
        self.volume_words += blocks(words.0);
        self.largest = self.largest.max(words.0);
    }

    fn pod(&mut self, pod: &Pod) {
        self.pods += 1;
        for text in [
            &pod.metadata.namespace,
            &pod.metadata.name,
            &pod.metadata.uid,
        ] {
            self.text(text);
        }
        let mut hasher = FixedState::default().build_hasher();
        (
            &pod.metadata.namespace,
            &pod.metadata.labels,
            &pod.metadata.owner_references,
        )
            .hash(&mut hasher);
        (
            &pod.spec,
            &pod.status.conditions,
            &pod.status.container_statuses,
        )
            .hash(&mut hasher);
        let mut volumes = pod.spec.volumes.iter().flat_map(|volume| &volume.source);
        self.volume_uses += volumes.clone().filter(|(kind, _)| is_read(kind)).count() as u64;
        if volumes.any(|(kind, _)| kind == "ephemeral") {
            // Such a pod is in a class of its own.
            (&pod.metadata.name, &pod.metadata.uid).hash(&mut hasher);
            self.text_bytes += 512;
        }
        if !self.classes.insert(hasher.finish()) {
            return;
        }
        let spec = &pod.spec;
        for (_, source) in spec.volumes.iter().flat_map(|volume| &volume.source) {
            let texts = [
                &source.claim_name,
                &source.driver,
                &source.pd_name,
                &source.volume_id,
                &source.iqn,
                &source.pool,
                &source.image,
            ];
            for text in texts {
                self.text(text);
            }
            source.monitors.iter().for_each(|text| self.text(text));
        }
        self.pairs(&pod.metadata.labels);
        spec.node_selector.iter().for_each(|own| self.pairs(own));
        for toleration in &spec.tolerations {
            self.text(&toleration.key);
            self.text(&toleration.value);
        }
        let containers = || spec.containers.iter().chain(&spec.init_containers);
        for container in containers() {
            self.text(&container.image);
            self.text_bytes += 16;
            self.ports += container
                .ports
                .iter()
                .filter(|port| port.host_port > 0)
                .count() as u64;
            let lists = container
                .resources
                .requests
                .iter()
                .chain([&container.resources.limits]);
            self.resources
                .extend(lists.flat_map(|list| list.keys()).map(|name| hash(name)));
        }
        let mut words = Saturating(64);
        words += pair_words(Some(&pod.metadata.labels));
        words += each(spec.tolerations.len(), 4);
        for own in containers() {
            words += Saturating(1) + each(own.ports.len(), 3);
            words += each(own.resources.limits.len(), 10);
        }
        words += each(spec.volumes.len(), 8) + pair_words(spec.node_selector.as_ref());
        let mut terms = Saturating(spec.topology_spread_constraints.len().max(2) as u64);
        // Each counts by row, and by domain.
        self.live_words += terms * Saturating(7);
        terms *= Saturating(2);
        for constraint in &spec.topology_spread_constraints {
            let selector = constraint.label_selector.as_ref();
            let own = Saturating(8)
                + each(constraint.match_label_keys.len(), 4)
                + optional_words(selector);
            self.topology_key(&constraint.topology_key);
            if let Some(selector) = selector {
                self.selector(selector);
            }
            self.term_words +=
                Saturating(blocks(own.0)) + Saturating(blocks((own + Saturating(1)).0));
            words += own;
        }
        if let Some(affinity) = &spec.affinity {
            if let Some(node) = &affinity.node_affinity {
                let required = node
                    .required
                    .iter()
                    .flat_map(|own| &own.node_selector_terms);
                let preferred = node.preferred.iter().flatten().map(|own| &own.preference);
                for term in required.chain(preferred) {
                    words += term_words(term);
                    self.requirements(&term.match_expressions);
                    self.requirements(&term.match_fields);
                }
            }
            for side in affinity
                .pod_affinity
                .iter()
                .chain(&affinity.pod_anti_affinity)
            {
                let preferred = side.preferred.iter().map(|own| &own.pod_affinity_term);
                for term in side.required.iter().chain(preferred) {
                    let own = affinity_term_words(term);
                    // One that the pod carries, and one of pods that it matches.
                    terms += 2;
                    self.term_words += Saturating(blocks(own.0)) * Saturating(2);
                    self.live_words += 3;
                    self.topology_key(&term.topology_key);
                    term.namespaces.iter().for_each(|name| self.text(name));
                    let selectors = term.label_selector.iter().chain(&term.namespace_selector);
                    selectors.for_each(|own| self.selector(own));
                    words += own;
                }
            }
            if let Some(affinity) = &affinity.pod_affinity {
                // Pods that match all of them, once for each key.
                let required = || affinity.required.iter();
                let keys: BTreeSet<&str> =
                    required().map(|own| own.topology_key.as_str()).collect();
                let all = total(required().map(affinity_term_words));
                self.term_words += each(keys.len(), blocks(all.0));
            }
        }
        // Default constraints are not written in the pod.
        self.term_words += Saturating(blocks(64)) * Saturating(3);
        self.class_words += blocks(words.0);
        self.terms += terms;
        self.largest = self.largest.max((words * Saturating(2)).0);
    }

    fn finish(self) -> Capacities {
        let margin = |count: Saturating<u64>| count + Saturating(count.0 / 4);
        let whole = |count: Saturating<u64>| u32::try_from(count.0).unwrap_or(u32::MAX);
        let narrow = |count: Saturating<u64>| whole(margin(count));
        let with = |count: Saturating<u64>, more: u64| count + Saturating(more);
        // Provisioned volumes come beside the claims; without any nothing is taken.
        let any = (self.volumes + self.volume_uses).0 > 0;
        let some = |count: Saturating<u64>| {
            let provisioned = self.claims;
            if any {
                narrow(with(count + provisioned, 16))
            } else {
                0
            }
        };
        let nodes = self.nodes.max(Saturating(1));
        let classes = each(self.classes.len(), 1);
        let names = each(self.texts.len(), 1) + each(self.resources.len(), 1);
        // Both are at least 1, so the quotient is there.
        let live_bytes = (nodes * Saturating(11)).0;
        let live = LIVE_BYTES_MAX
            .checked_div(live_bytes)
            .unwrap_or(LIVE_BYTES_MAX)
            .clamp(16, u64::from(LIVE_MAX))
            .min(with(classes, 1).0);
        // A pod raises a count in the terms of its own kind; those of other kinds are the guess.
        let term_counts = (self.pods + self.terms) * Saturating(8);
        // Every pod of a port on every node that it can be on.
        let port_counts = self.ports * nodes.min(self.pods);
        let keys = self.topology_keys.iter();
        let domains = total(keys.filter_map(|key| self.node_labels.get(key).copied()));
        let keys = each(self.topology_keys.len(), 1);
        Capacities {
            nodes: whole(nodes),
            pods: whole(self.pods.max(Saturating(1))),
            classes: narrow(with(classes, 16)),
            class_words: with(margin(self.class_words), 4096).0,
            live_classes: whole(Saturating(live)),
            live_words: narrow(with(classes * Saturating(32) + self.live_words, 4096)),
            texts: narrow(with(names + classes * Saturating(4), 256)),
            text_bytes: with(margin(self.text_bytes) + classes * Saturating(128), 1 << 16).0,
            node_words: with(margin(self.node_words), 1024).0,
            record_words: narrow(with(Saturating(self.largest), 4096)),
            resources: whole(with(each(self.resources.len(), 1), u64::from(FEW / 4))),
            topology_keys: whole(with(keys, u64::from(FEW / 2))).min(TOPOLOGY_KEYS_MAX),
            domains: narrow(with(domains + nodes * Saturating(2), 1024)),
            terms: narrow(with(self.terms, 256)),
            term_words: with(margin(self.term_words), 4096).0,
            term_counts: narrow(with(term_counts, 1024)),
            links: narrow(with(
                self.terms * Saturating(2) + self.ports + classes * Saturating(8),
                1024,
            )),
            images: narrow(with(each(self.images.len(), 1), u64::from(FEW))),
            image_words: with(margin(self.image_names), 64).0,
            image_counts: narrow(with(self.image_names, 64)),
            ports: narrow(with(self.ports, 16)),
            port_counts: narrow(with(port_counts, 64)),
            objects: narrow(with(self.objects, 64)),
            object_words: with(margin(self.object_words), 1024).0,
            volumes: some(self.volumes),
            volume_words: if any {
                margin(with(self.volume_words + self.claims * Saturating(128), 64)).0
            } else {
                0
            },
            volume_bindings: some(self.claims),
            volume_uses: some(self.volume_uses),
            volume_use_counts: some(self.volume_uses),
            in_flight_events: 4096,
            event_words: 1 << 18,
        }
    }
}

/// Whether the volume plugins read volumes of this kind.
fn is_read(kind: &str) -> bool {
    matches!(
        kind,
        "persistentVolumeClaim" | "ephemeral" | "iscsi" | "rbd" | "csi"
    ) || crate::volume::migration::InTree::of_field(kind).is_some()
}

fn hash(text: &str) -> u64 {
    crate::intern::hash_bytes(text.as_bytes())
}

/// Cells of the block that holds this many.
fn blocks(cells: u64) -> u64 {
    cells.max(1).checked_next_power_of_two().unwrap_or(u64::MAX)
}

/// So many words for each of `count`.
fn each(count: usize, words: u64) -> Saturating<u64> {
    Saturating(count as u64) * Saturating(words)
}

fn total(words: impl Iterator<Item = Saturating<u64>>) -> Saturating<u64> {
    words.fold(Saturating(0), |sum, words| sum + words)
}

fn pair_words(pairs: Option<&Labels>) -> Saturating<u64> {
    each(pairs.map_or(0, Labels::len), 2)
}

fn requirement_words(requirements: &[Requirement]) -> Saturating<u64> {
    total(
        requirements
            .iter()
            .map(|own| Saturating(3) + each(own.values.len(), 1)),
    )
}

fn selector_words(selector: &LabelSelector) -> Saturating<u64> {
    Saturating(2)
        + each(selector.match_labels.len(), 4)
        + requirement_words(&selector.match_expressions)
}

fn optional_words(selector: Option<&LabelSelector>) -> Saturating<u64> {
    selector.map_or(Saturating(0), selector_words)
}

fn term_words(term: &NodeSelectorTerm) -> Saturating<u64> {
    Saturating(4)
        + requirement_words(&term.match_expressions)
        + requirement_words(&term.match_fields)
}

fn affinity_term_words(term: &PodAffinityTerm) -> Saturating<u64> {
    Saturating(12)
        + each(term.namespaces.len(), 1)
        + optional_words(term.label_selector.as_ref())
        + optional_words(term.namespace_selector.as_ref())
}
