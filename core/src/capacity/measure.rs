//! Capacities that an input needs.

use super::{Capacities, TOPOLOGY_KEYS_MAX};
use crate::object::{LabelSelector, NodeSelectorTerm, Object, Pod, PodAffinityTerm, Requirement};
use alloc::collections::{BTreeMap, BTreeSet};
use core::hash::{BuildHasher, Hash, Hasher};
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

    /// The same with twice of what was refused.
    #[must_use]
    pub fn grown(mut self, which: &str) -> Self {
        let c = &mut self;
        let narrow = [
            ("nodes", &mut c.nodes),
            ("pods", &mut c.pods),
            ("classes", &mut c.classes),
            ("live_classes", &mut c.live_classes),
            ("live_words", &mut c.live_words),
            ("texts", &mut c.texts),
            ("record_words", &mut c.record_words),
            ("resources", &mut c.resources),
            ("topology_keys", &mut c.topology_keys),
            ("domains", &mut c.domains),
            ("terms", &mut c.terms),
            ("term_counts", &mut c.term_counts),
            ("links", &mut c.links),
            ("images", &mut c.images),
            ("image_counts", &mut c.image_counts),
            ("ports", &mut c.ports),
            ("port_counts", &mut c.port_counts),
            ("objects", &mut c.objects),
        ];
        for (name, limit) in narrow {
            if name == which {
                *limit = limit.saturating_mul(2).max(1);
            }
        }
        let wide = [
            ("class_words", &mut c.class_words),
            ("text_bytes", &mut c.text_bytes),
            ("node_words", &mut c.node_words),
            ("term_words", &mut c.term_words),
            ("image_words", &mut c.image_words),
            ("object_words", &mut c.object_words),
        ];
        for (name, limit) in wide {
            if name == which {
                *limit = limit.saturating_mul(2).max(1);
            }
        }
        self
    }
}

#[derive(Default)]
struct Measure {
    nodes: u64,
    pods: u64,
    /// Hashes of what decides placement, and of texts.
    classes: BTreeSet<u64>,
    texts: BTreeSet<u64>,
    text_bytes: u64,
    class_words: u64,
    terms: u64,
    term_words: u64,
    live_words: u64,
    /// Labels of nodes by key, and the keys that pods name as topology.
    node_labels: BTreeMap<u64, u64>,
    topology_keys: BTreeSet<u64>,
    /// Words of the largest record.
    largest: u64,
    node_words: u64,
    image_names: u64,
    images: BTreeSet<u64>,
    resources: BTreeSet<u64>,
    ports: u64,
    objects: u64,
    object_words: u64,
}

impl Measure {
    fn text(&mut self, text: &str) {
        if self.texts.insert(hash(text)) {
            // Rounded to blocks of a power of two.
            self.text_bytes += text.len().next_power_of_two().max(4) as u64;
        }
    }

    fn requirements(&mut self, requirements: &[Requirement]) {
        for requirement in requirements {
            self.text(&requirement.key);
            requirement.values.iter().for_each(|value| self.text(value));
        }
    }

    fn selector(&mut self, selector: &LabelSelector) {
        for (key, value) in &selector.match_labels {
            self.text(key);
            self.text(value);
        }
        self.requirements(&selector.match_expressions);
    }

    fn object(&mut self, object: &Object) {
        let meta = object.metadata();
        match object {
            Object::Node(node) => {
                self.nodes += 1;
                self.text(&meta.name);
                for (key, value) in &meta.labels {
                    self.text(key);
                    self.text(value);
                    *self.node_labels.entry(hash(key)).or_default() += 1;
                }
                for taint in &node.spec.taints {
                    self.text(&taint.key);
                    self.text(&taint.value);
                }
                self.node_words += blocks(meta.labels.len() * 2);
                self.node_words += blocks(node.spec.taints.len() * 3);
                let names = || node.status.images.iter().flat_map(|image| &image.names);
                for name in names() {
                    self.images.insert(hash(name));
                    self.text(name);
                }
                self.image_names += blocks(names().count());
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
                for (key, value) in &meta.labels {
                    self.text(key);
                    self.text(value);
                }
                let selector = match object {
                    Object::Service(own) => {
                        own.spec.selector.as_ref().map_or(0, |own| own.len() * 2)
                    }
                    Object::ReplicationController(own) => {
                        own.spec.selector.as_ref().map_or(0, |own| own.len() * 2)
                    }
                    Object::ReplicaSet(own) | Object::StatefulSet(own) => {
                        own.spec.selector.as_ref().map_or(0, |own| {
                            own.match_labels.len() * 4 + requirement_words(&own.match_expressions)
                        })
                    }
                    _ => meta.labels.len() * 2,
                };
                self.object_words += blocks(selector + 1);
            }
            _ => {}
        }
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
        if !self.classes.insert(hasher.finish()) {
            return;
        }
        let spec = &pod.spec;
        let pairs = pod
            .metadata
            .labels
            .iter()
            .chain(spec.node_selector.iter().flatten());
        for (key, value) in pairs {
            self.text(key);
            self.text(value);
        }
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
        let mut words = 64 + pod.metadata.labels.len() * 2 + spec.tolerations.len() * 4;
        words += containers()
            .map(|own| 1 + own.ports.len() * 3 + own.resources.limits.len() * 10)
            .sum::<usize>();
        words += spec.volumes.len() + spec.node_selector.as_ref().map_or(0, |own| own.len() * 2);
        let mut terms = spec.topology_spread_constraints.len().max(2);
        self.live_words += terms as u64 * 6;
        for constraint in &spec.topology_spread_constraints {
            let own = 8
                + constraint.label_selector.as_ref().map_or(0, selector_words)
                + constraint.match_label_keys.len() * 4;
            self.topology_keys.insert(hash(&constraint.topology_key));
            self.text(&constraint.topology_key);
            constraint
                .label_selector
                .iter()
                .for_each(|own| self.selector(own));
            self.term_words += blocks(own);
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
                    self.term_words += 2 * blocks(own);
                    self.live_words += 3;
                    self.topology_keys.insert(hash(&term.topology_key));
                    self.text(&term.topology_key);
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
                let all = required().map(affinity_term_words).sum();
                self.term_words += blocks(all) * keys.len() as u64;
            }
        }
        // Default constraints are not written in the pod.
        self.term_words += 2 * blocks(64);
        self.class_words += blocks(words);
        self.terms += terms as u64;
        self.largest = self.largest.max(words as u64 * 2);
    }

    fn finish(self) -> Capacities {
        let margin = |count: u64| count + count / 4;
        let narrow = |count: u64| u32::try_from(margin(count)).unwrap_or(u32::MAX);
        let whole = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let nodes = self.nodes.max(1);
        let classes = self.classes.len() as u64;
        let live_bytes = nodes * 11;
        let live = (LIVE_BYTES_MAX / live_bytes)
            .clamp(16, u64::from(LIVE_MAX))
            .min(classes + 1);
        // A pod raises a count in the terms of its own kind; those of other kinds are the guess.
        let term_counts = self.pods * 8 + self.terms * 8;
        let domains = self.topology_keys.iter();
        let domains = domains
            .filter_map(|key| self.node_labels.get(key))
            .sum::<u64>();
        Capacities {
            nodes: whole(nodes),
            pods: whole(self.pods.max(1)),
            classes: narrow(classes + 16),
            class_words: margin(self.class_words) + 4096,
            live_classes: whole(live),
            live_words: narrow(classes * 32 + self.live_words + 4096),
            texts: narrow(
                self.texts.len() as u64 + self.resources.len() as u64 + classes * 4 + 256,
            ),
            text_bytes: margin(self.text_bytes) + classes * 128 + (1 << 16),
            node_words: margin(self.node_words) + 1024,
            record_words: narrow(self.largest + 4096),
            resources: whole(self.resources.len() as u64) + FEW / 4,
            topology_keys: (whole(self.topology_keys.len() as u64) + FEW / 2)
                .min(TOPOLOGY_KEYS_MAX),
            domains: narrow(domains + nodes * 2 + 1024),
            terms: narrow(self.terms + 256),
            term_words: margin(self.term_words) + 4096,
            term_counts: narrow(term_counts + 1024),
            links: narrow(self.terms * 2 + self.ports + classes * 8 + 1024),
            images: narrow(self.images.len() as u64 + u64::from(FEW)),
            image_words: margin(self.image_names) + 64,
            image_counts: narrow(self.image_names + 64),
            ports: narrow(self.ports + 16),
            port_counts: narrow(self.ports.saturating_mul(nodes.min(self.pods)) + 64),
            objects: narrow(self.objects + 64),
            object_words: margin(self.object_words) + 1024,
        }
    }
}

fn hash(text: &str) -> u64 {
    crate::intern::hash_bytes(text.as_bytes())
}

/// Cells of the block that holds this many.
fn blocks(cells: usize) -> u64 {
    cells.max(1).next_power_of_two() as u64
}

fn requirement_words(requirements: &[Requirement]) -> usize {
    requirements.iter().map(|own| 3 + own.values.len()).sum()
}

fn selector_words(selector: &LabelSelector) -> usize {
    2 + selector.match_labels.len() * 4 + requirement_words(&selector.match_expressions)
}

fn term_words(term: &NodeSelectorTerm) -> usize {
    4 + requirement_words(&term.match_expressions) + requirement_words(&term.match_fields)
}

fn affinity_term_words(term: &PodAffinityTerm) -> usize {
    12 + term.namespaces.len()
        + term.label_selector.as_ref().map_or(0, selector_words)
        + term.namespace_selector.as_ref().map_or(0, selector_words)
}
