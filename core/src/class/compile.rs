//! From a pod to the words of its class.

use super::{SPREAD_HARD, SPREAD_HONOR_AFFINITY, SPREAD_HONOR_TAINTS, flag};
use crate::capacity::{CapacityExceeded, bytes_of};
use crate::cluster::Resources;
use crate::intern::{Texts, Writer};
use crate::object::{Affinity, Container, Pod, PodAffinityTerm, TopologySpreadConstraint, Volume};
use crate::plugins::node_declared_features;
use crate::quantity::Quantity;
use crate::requests::{self, Mode};
use crate::selector::{
    NAME_FIELD, write_item, write_labels, write_pairs, write_selector, write_term,
};
use crate::toleration::write_toleration;
use crate::volume::item::write_volumes;
use alloc::string::String;
use alloc::vec::Vec;

type Written = Result<(), CapacityExceeded>;

/// Scratch of the compilation, taken once.
pub(crate) struct Compiler {
    scalars: Vec<u32>,
    /// Image names and names of claims, put together.
    text: String,
}

/// Bytes of an image name at most; the registry grammar allows far fewer, and so do claims.
const TEXT_MAX: usize = 4096;

/// What it holds between two classes is nothing but room.
impl Clone for Compiler {
    fn clone(&self) -> Self {
        Self::new(self.scalars.capacity() as u32)
    }
}

impl Compiler {
    pub(crate) fn new(resources: u32) -> Self {
        Self {
            scalars: Vec::with_capacity(resources as usize),
            text: String::with_capacity(TEXT_MAX),
        }
    }

    /// Room for a text that is put together; it must not grow.
    pub(crate) const fn buffer(&mut self) -> &mut String {
        &mut self.text
    }

    pub(crate) const fn bytes(resources: u64) -> u64 {
        bytes_of::<u32>(resources).saturating_add(TEXT_MAX as u64)
    }

    /// Writes the record of `pod`'s class. On failure the writer is left for its caller to clear.
    pub(crate) fn write(
        &mut self,
        pod: &Pod,
        writer: &mut Writer,
        texts: &mut Texts,
        resources: &mut Resources,
    ) -> Written {
        let affinity = pod.spec.affinity.as_ref();
        let node_affinity = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
        let required = node_affinity.and_then(|affinity| affinity.required.as_ref());
        let preferred = node_affinity.and_then(|affinity| affinity.preferred.as_ref());
        let pinned = pin_of(pod).is_some();

        write_item(writer, texts, |writer, texts| {
            write_head(writer, texts, pod, pinned)
        })?;
        write_item(writer, texts, |writer, _| write_amounts(writer, pod))?;
        write_item(writer, texts, |writer, texts| {
            write_labels(writer, texts, &pod.metadata.labels)
        })?;
        write_item(writer, texts, |writer, texts| {
            self.write_scalars(writer, texts, resources, pod)
        })?;
        write_item(writer, texts, |writer, texts| {
            let at = writer.len();
            let mut tolerations = pod.spec.tolerations.iter();
            tolerations.try_for_each(|toleration| write_toleration(writer, texts, toleration))?;
            writer.sort::<4>(texts, at);
            Ok(())
        })?;
        write_item(writer, texts, |writer, texts| {
            write_pairs(
                writer,
                texts,
                pod.spec.node_selector.as_ref().unwrap_or(&EMPTY),
            )
        })?;
        write_item(writer, texts, |writer, texts| {
            let mut terms = required
                .iter()
                .flat_map(|selector| &selector.node_selector_terms);
            terms.try_for_each(|term| write_term(writer, texts, term, pinned))
        })?;
        write_item(writer, texts, |writer, texts| {
            write_preferred_terms(writer, texts, preferred.map_or(&[], Vec::as_slice))
        })?;
        write_item(writer, texts, |writer, texts| {
            write_ports(writer, texts, pod)
        })?;
        write_item(writer, texts, |writer, texts| {
            self.write_images(writer, texts, pod)
        })?;
        write_item(writer, texts, |writer, texts| {
            let mut constraints = pod.spec.topology_spread_constraints.iter();
            constraints.try_for_each(|constraint| write_spread(writer, texts, constraint, pod))
        })?;
        write_pod_affinity(writer, texts, affinity, &pod.metadata.namespace)?;
        write_item(writer, texts, |writer, texts| {
            write_volumes(writer, texts, pod, &mut self.text)
        })
    }

    fn write_scalars(
        &mut self,
        writer: &mut Writer,
        texts: &mut Texts,
        resources: &mut Resources,
        pod: &Pod,
    ) -> Written {
        self.scalars.clear();
        let mut result = Ok(());
        requests::for_each_resource(pod, |name| {
            if result.is_ok() && requests::class(name).is_scalar() {
                match resources.intern(name, texts) {
                    Ok(id) if !self.scalars.contains(&id.0) => self.scalars.push(id.0),
                    Ok(_) => {}
                    Err(full) => result = Err(full),
                }
            }
        });
        result?;
        self.scalars.sort_unstable();
        for id in &self.scalars {
            let name = texts.text(resources.name(crate::id::ResourceId(*id)));
            let amounts = [Mode::Spec, Mode::Status, Mode::Score]
                .map(|mode| requests::amount(pod, mode, name).map(Quantity::value));
            // A name that only limits mention is not asked for.
            if amounts == [None; 3] {
                continue;
            }
            writer.number(*id)?;
            for amount in amounts {
                writer.amount(amount.unwrap_or(0))?;
            }
        }
        Ok(())
    }

    fn write_images(&mut self, writer: &mut Writer, texts: &mut Texts, pod: &Pod) -> Written {
        let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
        let names = containers
            .map(|container| container.image.as_str())
            .chain(image_volumes(&pod.spec.volumes));
        for name in names {
            if has_tag(name) {
                writer.text(texts, name)?;
                continue;
            }
            if name.len().saturating_add(LATEST.len()) > self.text.capacity() {
                return Err(CapacityExceeded {
                    which: "image name bytes",
                    limit: TEXT_MAX as u64,
                });
            }
            self.text.clear();
            self.text.push_str(name);
            self.text.push_str(LATEST);
            writer.text(texts, &self.text)?;
        }
        Ok(())
    }
}

const LATEST: &str = ":latest";
static EMPTY: crate::object::Labels = crate::object::Labels::new();

/// Mirrors `normalizedImageName` of ImageLocality: a colon after the last slash is a tag or digest.
fn has_tag(name: &str) -> bool {
    match (name.rfind(':'), name.rfind('/')) {
        (Some(colon), Some(slash)) => colon > slash,
        (colon, _) => colon.is_some(),
    }
}

fn image_volumes(volumes: &[Volume]) -> impl Iterator<Item = &str> {
    volumes
        .iter()
        .filter_map(|volume| Some(volume.source.get("image")?.reference.as_str()))
}

/// The node that each term of required node affinity names, as the DaemonSet controller writes it.
///
/// Such pods share a class: the name is a fact of the pod.
pub(crate) fn pin_of(pod: &Pod) -> Option<&str> {
    let affinity = pod.spec.affinity.as_ref()?.node_affinity.as_ref()?;
    let terms = &affinity.required.as_ref()?.node_selector_terms;
    let pin = |term: &crate::object::NodeSelectorTerm| match term.match_fields.as_slice() {
        [field] if field.key == NAME_FIELD && field.operator == "In" => {
            match field.values.as_slice() {
                [_] => Some(()),
                _ => None,
            }
        }
        _ => None,
    };
    terms.iter().try_for_each(pin)?;
    let first = &terms.first()?.match_fields.first()?.values;
    let mut fields = terms.iter().flat_map(|term| &term.match_fields);
    let same = fields.all(|field| &field.values == first);
    if same {
        first.first().map(String::as_str)
    } else {
        None
    }
}

fn write_head(writer: &mut Writer, texts: &mut Texts, pod: &Pod, pinned: bool) -> Written {
    let spec = &pod.spec;
    let node_affinity = spec
        .affinity
        .as_ref()
        .and_then(|affinity| affinity.node_affinity.as_ref());
    let flags = [
        (flag::TERMINATING, pod.metadata.deletion_timestamp.is_some()),
        (flag::GATED, !spec.scheduling_gates.is_empty()),
        (flag::PINNED, pinned),
        (flag::HAS_NODE_SELECTOR, spec.node_selector.is_some()),
        (
            flag::HAS_REQUIRED_NODE_AFFINITY,
            node_affinity.is_some_and(|affinity| affinity.required.is_some()),
        ),
        (
            flag::HAS_PREFERRED_NODE_AFFINITY,
            node_affinity.is_some_and(|affinity| affinity.preferred.is_some()),
        ),
    ];
    let bits = flags
        .iter()
        .filter(|(_, set)| *set)
        .map(|(bit, _)| bit)
        .sum();
    let containers = spec
        .init_containers
        .len()
        .saturating_add(spec.containers.len());
    let images = containers.saturating_add(image_volumes(&spec.volumes).count());
    writer.text(texts, &pod.metadata.namespace)?;
    writer.text(texts, scheduler_name(pod))?;
    writer.number(bits)?;
    writer.number(node_declared_features::required(pod))?;
    writer.number(unsupported(pod))?;
    writer.number(images as u32)?;
    let owner = pod.metadata.controller();
    let kind = owner.map_or(0, |owner| {
        match (owner.api_version.as_str(), owner.kind.as_str()) {
            ("v1", "ReplicationController") => 1,
            ("apps/v1", "ReplicaSet") => 2,
            ("apps/v1", "StatefulSet") => 3,
            _ => 0,
        }
    });
    writer.number(kind)?;
    match owner {
        Some(owner) if kind > 0 => writer.text(texts, &owner.name),
        _ => writer.number(0),
    }
}

/// The scheduler that the pod asks for.
pub(crate) fn scheduler_name(pod: &Pod) -> &str {
    if pod.spec.scheduler_name.is_empty() {
        "default-scheduler"
    } else {
        &pod.spec.scheduler_name
    }
}

/// Place in [`UNSUPPORTED`](super::UNSUPPORTED) of the first such field that the pod uses, plus one; 0: none.
fn unsupported(pod: &Pod) -> u32 {
    u32::from(!pod.spec.resource_claims.is_empty())
}

fn write_amounts(writer: &mut Writer, pod: &Pod) -> Written {
    const NAMES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
    for (mode, names) in [
        (Mode::Spec, &NAMES[..]),
        (Mode::Status, &NAMES[..]),
        (Mode::Score, &NAMES[..]),
        (Mode::NonZero, &NAMES[..2]),
    ] {
        for name in names {
            let amount = requests::amount(pod, mode, name).unwrap_or_default();
            writer.amount(if *name == "cpu" {
                amount.milli_value()
            } else {
                amount.value()
            })?;
        }
    }
    Ok(())
}

fn write_preferred_terms(
    writer: &mut Writer,
    texts: &mut Texts,
    terms: &[crate::object::PreferredSchedulingTerm],
) -> Written {
    for term in terms.iter().filter(|term| term.weight != 0) {
        if term.preference.match_expressions.is_empty() && term.preference.match_fields.is_empty() {
            continue;
        }
        write_item(writer, texts, |writer, texts| {
            writer.number(term.weight.max(0).cast_unsigned())?;
            write_term(writer, texts, &term.preference, false)
        })?;
    }
    Ok(())
}

/// Writes preferred terms of the configuration as a class' are written.
pub(crate) fn write_added_preferred(
    writer: &mut Writer,
    texts: &mut Texts,
    terms: &[crate::object::PreferredSchedulingTerm],
) -> Written {
    write_item(writer, texts, |writer, texts| {
        write_preferred_terms(writer, texts, terms)
    })
}

fn write_ports(writer: &mut Writer, texts: &mut Texts, pod: &Pod) -> Written {
    let sidecars = pod
        .spec
        .init_containers
        .iter()
        .filter(|container| container.is_sidecar());
    let ports = pod
        .spec
        .containers
        .iter()
        .chain(sidecars)
        .flat_map(|container| &container.ports);
    let at = writer.len();
    for port in ports.filter(|port| port.host_port > 0) {
        let protocol = if port.protocol.is_empty() {
            "TCP"
        } else {
            &port.protocol
        };
        let ip = if port.host_ip.is_empty() {
            "0.0.0.0"
        } else {
            &port.host_ip
        };
        writer.text(texts, protocol)?;
        writer.number(port.host_port.cast_unsigned())?;
        writer.text(texts, ip)?;
    }
    writer.sort::<3>(texts, at);
    Ok(())
}

fn write_spread(
    writer: &mut Writer,
    texts: &mut Texts,
    constraint: &TopologySpreadConstraint,
    pod: &Pod,
) -> Written {
    write_item(writer, texts, |writer, texts| {
        write_spread_head(writer, texts, constraint)?;
        let merged = constraint.match_label_keys.iter().filter_map(|key| {
            let (key, value) = pod.metadata.labels.get_key_value(key)?;
            Some((key.as_str(), value.as_str()))
        });
        write_selector(writer, texts, constraint.label_selector.as_ref(), merged)
    })
}

/// Everything of a constraint but its selector; default constraints get theirs elsewhere.
pub(crate) fn write_spread_head(
    writer: &mut Writer,
    texts: &mut Texts,
    constraint: &TopologySpreadConstraint,
) -> Written {
    let honors = |policy: &Option<String>, default| {
        policy
            .as_deref()
            .map_or(default, |policy| policy == "Honor")
    };
    let flags = [
        (
            SPREAD_HARD,
            constraint.when_unsatisfiable == "DoNotSchedule",
        ),
        (
            SPREAD_HONOR_AFFINITY,
            honors(&constraint.node_affinity_policy, true),
        ),
        (
            SPREAD_HONOR_TAINTS,
            honors(&constraint.node_taints_policy, false),
        ),
    ];
    writer.number(constraint.max_skew.max(0).cast_unsigned())?;
    writer.text(texts, &constraint.topology_key)?;
    writer.number(
        flags
            .iter()
            .filter(|(_, set)| *set)
            .map(|(bit, _)| bit)
            .sum(),
    )?;
    writer.number(constraint.min_domains.unwrap_or(1).max(0).cast_unsigned())
}

fn write_pod_affinity(
    writer: &mut Writer,
    texts: &mut Texts,
    affinity: Option<&Affinity>,
    namespace: &str,
) -> Written {
    let both = [
        affinity.and_then(|affinity| affinity.pod_affinity.as_ref()),
        affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()),
    ];
    for side in both {
        write_item(writer, texts, |writer, texts| {
            for term in side.iter().flat_map(|side| &side.required) {
                write_item(writer, texts, |writer, texts| {
                    write_affinity_term(writer, texts, term, namespace)
                })?;
            }
            Ok(())
        })?;
    }
    for side in both {
        write_item(writer, texts, |writer, texts| {
            for term in side.iter().flat_map(|side| &side.preferred) {
                write_item(writer, texts, |writer, texts| {
                    writer.number(term.weight.max(0).cast_unsigned())?;
                    write_affinity_term(writer, texts, &term.pod_affinity_term, namespace)
                })?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// `[key, namespaces.., namespace selector item, selector item]`, the namespaces counted; the
/// pod's own namespace stands in when the term names none.
fn write_affinity_term(
    writer: &mut Writer,
    texts: &mut Texts,
    term: &PodAffinityTerm,
    namespace: &str,
) -> Written {
    writer.text(texts, &term.topology_key)?;
    if term.namespaces.is_empty() && term.namespace_selector.is_none() {
        writer.number(1)?;
        writer.text(texts, namespace)?;
    } else {
        writer.number(term.namespaces.len() as u32)?;
        for name in &term.namespaces {
            writer.text(texts, name)?;
        }
    }
    write_selector(
        writer,
        texts,
        term.namespace_selector.as_ref(),
        core::iter::empty(),
    )?;
    write_selector(
        writer,
        texts,
        term.label_selector.as_ref(),
        core::iter::empty(),
    )
}

/// Containers of all three kinds.
pub(crate) fn all_containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    let spec = &pod.spec;
    spec.containers
        .iter()
        .chain(&spec.init_containers)
        .chain(&spec.ephemeral_containers)
}
