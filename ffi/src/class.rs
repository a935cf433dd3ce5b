//! Classes: pods' specs as structs, given once for all the pods that are like it.

use crate::boundary::{self, berth_scheduler_t};
use crate::node::{amounts, berth_amount_t, berth_label_t, effect, flag, labels};
use crate::object::unknown;
use crate::pointer::{Out, Versioned, borrow};
use crate::result::{Failure, berth_result_t};
use crate::scheduler::bad_value;
use crate::text::{self, berth_string_t};
use berth_core::id::ClassId;
use berth_core::object::{
    Affinity, Container, ContainerPort, LabelSelector, NodeAffinity, NodeSelector,
    NodeSelectorTerm, Object, Pod, PodAffinity, PodAffinityTerm, PreferredSchedulingTerm,
    Requirement, Toleration, TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use std::collections::BTreeMap;

/// Pods that are equal in everything that decides their placement, until no pod is of it and nobody
/// holds it; its id may then become another's.
pub type berth_class_id_t = u32;

/// The value is among those that are listed.
pub const BERTH_OPERATOR_IN: i32 = 1;
/// The label is absent or its value is not among those that are listed.
pub const BERTH_OPERATOR_NOT_IN: i32 = 2;
/// The label is there.
pub const BERTH_OPERATOR_EXISTS: i32 = 3;
/// The label is absent.
pub const BERTH_OPERATOR_DOES_NOT_EXIST: i32 = 4;
/// Of node labels: the value is a greater number than the one that is listed.
pub const BERTH_OPERATOR_GT: i32 = 5;
/// Of node labels: the value is a smaller number than the one that is listed.
pub const BERTH_OPERATOR_LT: i32 = 6;

/// The taint has this key and value.
pub const BERTH_TOLERATION_EQUAL: i32 = 0;
/// The taint has this key; an empty key tolerates every taint.
pub const BERTH_TOLERATION_EXISTS: i32 = 1;

/// Tolerations of taints of every effect.
pub const BERTH_EFFECT_ANY: i32 = 0;

/// A host port of TCP.
pub const BERTH_PROTOCOL_TCP: i32 = 0;
/// A host port of UDP.
pub const BERTH_PROTOCOL_UDP: i32 = 1;
/// A host port of SCTP.
pub const BERTH_PROTOCOL_SCTP: i32 = 2;

/// A node that would break the constraint is refused.
pub const BERTH_SPREAD_DO_NOT_SCHEDULE: i32 = 0;
/// A node that would break the constraint has a lower score.
pub const BERTH_SPREAD_SCHEDULE_ANYWAY: i32 = 1;

/// A toleration.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_toleration_t {
    /// The taint's key; empty with BERTH_TOLERATION_EXISTS: every key.
    pub key: berth_string_t,
    /// The taint's value; empty with BERTH_TOLERATION_EXISTS.
    pub value: berth_string_t,
    /// One of BERTH_TOLERATION_.
    pub op: i32,
    /// One of BERTH_EFFECT_.
    pub effect: i32,
}

/// An expression of a selector.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_requirement_t {
    /// The label's key.
    pub key: berth_string_t,
    /// One of BERTH_OPERATOR_.
    pub op: i32,
    /// Values that are listed.
    pub values: *const berth_string_t,
    /// Their number.
    pub values_length: usize,
}

/// A term of node affinity: all its requirements must hold.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_node_term_t {
    /// Of node labels.
    pub requirements: *const berth_requirement_t,
    /// Their number.
    pub requirements_length: usize,
    /// 0: required, of which terms one must hold; 1 to 100: preferred with this weight.
    pub weight: i32,
}

/// A term of pod affinity or anti-affinity.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_pod_term_t {
    /// Pods with all these labels are meant.
    pub labels: *const berth_label_t,
    /// Their number; 0 without requirements: every pod.
    pub labels_length: usize,
    /// Pods whose labels also fulfil these are meant.
    pub requirements: *const berth_requirement_t,
    /// Their number.
    pub requirements_length: usize,
    /// Pods of these namespaces are meant; none: of the pod's own.
    pub namespaces: *const berth_string_t,
    /// Their number.
    pub namespaces_length: usize,
    /// Nodes with the same value of this label are near each other.
    pub topology_key: berth_string_t,
    /// 0: required; 1 to 100: preferred with this weight.
    pub weight: i32,
    /// 0: near such pods; 1: away from them.
    pub is_anti: u32,
}

/// A topology spread constraint.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_spread_t {
    /// Pods with all these labels are counted.
    pub labels: *const berth_label_t,
    /// Their number.
    pub labels_length: usize,
    /// Nodes with the same value of this label are one domain.
    pub topology_key: berth_string_t,
    /// By how many pods domains may differ; at least 1.
    pub max_skew: i32,
    /// Domains that must be there; 0: as many as there are.
    pub min_domains: i32,
    /// One of BERTH_SPREAD_.
    pub when_unsatisfiable: i32,
}

/// A port of the host that a pod takes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_port_t {
    /// Its number.
    pub port: i32,
    /// One of BERTH_PROTOCOL_.
    pub protocol: i32,
    /// The address; empty: every one.
    pub host_ip: berth_string_t,
}

/// What decides the placement of pods, as far as structs say it; the rest is said by JSON. Its pods
/// have one container. All 0 but the size is a pod of the namespace `default` that asks for nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct berth_class_t {
    /// `sizeof(berth_class_t)`.
    pub size: usize,
    /// Namespace of the pods; empty: `default`.
    pub namespace_name: berth_string_t,
    /// The profile's; empty: `default-scheduler`.
    pub scheduler_name: berth_string_t,
    /// What they ask for; may be NULL with length 0, as the other arrays.
    pub requests: *const berth_amount_t,
    /// Their number.
    pub requests_length: usize,
    /// Their labels.
    pub labels: *const berth_label_t,
    /// Their number.
    pub labels_length: usize,
    /// Labels that a node must have.
    pub node_selector: *const berth_label_t,
    /// Their number.
    pub node_selector_length: usize,
    /// Node affinity.
    pub node_terms: *const berth_node_term_t,
    /// Their number.
    pub node_terms_length: usize,
    /// Tolerations.
    pub tolerations: *const berth_toleration_t,
    /// Their number.
    pub tolerations_length: usize,
    /// Pod affinity and anti-affinity.
    pub pod_terms: *const berth_pod_term_t,
    /// Their number.
    pub pod_terms_length: usize,
    /// Topology spread constraints.
    pub spread: *const berth_spread_t,
    /// Their number.
    pub spread_length: usize,
    /// Host ports.
    pub ports: *const berth_port_t,
    /// Their number.
    pub ports_length: usize,
    /// The container's image; may be empty.
    pub image: berth_string_t,
}

impl Versioned for berth_class_t {
    const NAME: &'static str = "class";

    fn size(&self) -> usize {
        self.size
    }
}

/// A pod of each class that was created, and how often it was.
#[derive(Clone, Default)]
pub(crate) struct Templates(BTreeMap<berth_class_id_t, (Box<Pod>, u32)>);

impl Templates {
    /// The classes, each as often as it is held.
    pub(crate) fn held(&self) -> impl Iterator<Item = ClassId> + '_ {
        let each = self.0.iter();
        each.flat_map(|(id, (_, count))| (0..*count).map(|_| ClassId(*id)))
    }

    /// A pod of the class, without a name.
    pub(crate) fn pod(&self, class: berth_class_id_t) -> Option<Pod> {
        self.0.get(&class).map(|(pod, _)| Pod::clone(pod))
    }
}

/// # Safety
/// Arrays are NULL or readable for their lengths, and so are the strings in them.
unsafe fn requirements(
    name: &str,
    start: *const berth_requirement_t,
    length: usize,
) -> Result<Vec<Requirement>, Failure> {
    let mut all = Vec::new();
    for given in borrow!(Slice(start, length)).read(name)? {
        let operator = match given.op {
            BERTH_OPERATOR_IN => "In",
            BERTH_OPERATOR_NOT_IN => "NotIn",
            BERTH_OPERATOR_EXISTS => "Exists",
            BERTH_OPERATOR_DOES_NOT_EXIST => "DoesNotExist",
            BERTH_OPERATOR_GT => "Gt",
            BERTH_OPERATOR_LT => "Lt",
            other => return Err(bad_value(&format!("{name}[].op"), other)),
        };
        all.push(Requirement {
            key: string!(name, given.key),
            operator: operator.to_owned(),
            // SAFETY: the caller's promise is the same.
            values: unsafe { text::strings(name, given.values, given.values_length) }?,
        });
    }
    Ok(all)
}

/// # Safety
/// As [`requirements`].
unsafe fn node_affinity(given: &berth_class_t) -> Result<Option<NodeAffinity>, Failure> {
    let mut affinity = NodeAffinity::default();
    let terms = borrow!(Slice(given.node_terms, given.node_terms_length));
    let terms = terms.read("class.node_terms")?;
    for term in terms {
        let name = "class.node_terms[].requirements";
        let (start, length) = (term.requirements, term.requirements_length);
        let selector = NodeSelectorTerm {
            // SAFETY: the caller's promise is the same.
            match_expressions: unsafe { requirements(name, start, length) }?,
            match_fields: Vec::new(),
        };
        if term.weight == 0 {
            let required = affinity.required.get_or_insert_with(NodeSelector::default);
            required.node_selector_terms.push(selector);
        } else {
            let preferred = affinity.preferred.get_or_insert_with(Vec::new);
            preferred.push(PreferredSchedulingTerm {
                weight: term.weight,
                preference: selector,
            });
        }
    }
    Ok((!terms.is_empty()).then_some(affinity))
}

/// Affinity and anti-affinity.
///
/// # Safety
/// As [`requirements`].
unsafe fn pod_affinity(given: &berth_class_t) -> Result<[Option<PodAffinity>; 2], Failure> {
    let mut both = [None, None];
    let terms = borrow!(Slice(given.pod_terms, given.pod_terms_length));
    for term in terms.read("class.pod_terms")? {
        let name = "class.pod_terms[]";
        // SAFETY: the caller's promise is the same.
        let selector = unsafe {
            LabelSelector {
                match_labels: labels(name, term.labels, term.labels_length)?,
                match_expressions: requirements(name, term.requirements, term.requirements_length)?,
            }
        };
        let of = PodAffinityTerm {
            label_selector: Some(selector),
            // SAFETY: as above.
            namespaces: unsafe { text::strings(name, term.namespaces, term.namespaces_length) }?,
            topology_key: string!("class.pod_terms[].topology_key", term.topology_key),
            ..PodAffinityTerm::default()
        };
        let is_anti = flag("class.pod_terms[].is_anti", term.is_anti)?;
        let [near, away] = &mut both;
        let affinity: &mut PodAffinity =
            (if is_anti { away } else { near }).get_or_insert_with(PodAffinity::default);
        if term.weight == 0 {
            affinity.required.push(of);
        } else {
            affinity.preferred.push(WeightedPodAffinityTerm {
                weight: term.weight,
                pod_affinity_term: of,
            });
        }
    }
    Ok(both)
}

/// # Safety
/// As [`requirements`].
unsafe fn container(given: &berth_class_t) -> Result<Container, Failure> {
    let mut container = Container {
        name: "main".to_owned(),
        image: string!("class.image", given.image),
        ..Container::default()
    };
    let requests = (given.requests, given.requests_length);
    // SAFETY: the caller's promise is the same.
    let requests = unsafe { amounts("class.requests", requests.0, requests.1) }?;
    container.resources.requests = Some(requests);
    let ports = borrow!(Slice(given.ports, given.ports_length));
    for port in ports.read("class.ports")? {
        let protocol = match port.protocol {
            BERTH_PROTOCOL_TCP => "TCP",
            BERTH_PROTOCOL_UDP => "UDP",
            BERTH_PROTOCOL_SCTP => "SCTP",
            other => return Err(bad_value("class.ports[].protocol", other)),
        };
        container.ports.push(ContainerPort {
            host_port: port.port,
            container_port: port.port,
            host_ip: string!("class.ports[].host_ip", port.host_ip),
            protocol: protocol.to_owned(),
        });
    }
    Ok(container)
}

/// # Safety
/// As [`requirements`].
unsafe fn pod(given: &berth_class_t) -> Result<Pod, Failure> {
    let mut pod = Pod::default();
    // The checks of an API server ask for a name.
    "class".clone_into(&mut pod.metadata.name);
    pod.metadata.namespace = string!("class.namespace_name", given.namespace_name);
    pod.spec.scheduler_name = string!("class.scheduler_name", given.scheduler_name);
    // SAFETY: the caller's promise is the same.
    unsafe {
        pod.metadata.labels = labels("class.labels", given.labels, given.labels_length)?;
        let selector = (given.node_selector, given.node_selector_length);
        let selector = labels("class.node_selector", selector.0, selector.1)?;
        pod.spec.node_selector = (!selector.is_empty()).then_some(selector);
        pod.spec.containers.push(container(given)?);
        let [near, away] = pod_affinity(given)?;
        let affinity = Affinity {
            node_affinity: node_affinity(given)?,
            pod_affinity: near,
            pod_anti_affinity: away,
        };
        pod.spec.affinity = (affinity != Affinity::default()).then_some(affinity);
    }
    let tolerations = borrow!(Slice(given.tolerations, given.tolerations_length));
    for toleration in tolerations.read("class.tolerations")? {
        let operator = match toleration.op {
            BERTH_TOLERATION_EQUAL => "Equal",
            BERTH_TOLERATION_EXISTS => "Exists",
            other => return Err(bad_value("class.tolerations[].op", other)),
        };
        pod.spec.tolerations.push(Toleration {
            key: string!("class.tolerations[].key", toleration.key),
            operator: operator.to_owned(),
            value: string!("class.tolerations[].value", toleration.value),
            effect: match toleration.effect {
                BERTH_EFFECT_ANY => String::new(),
                other => effect("class.tolerations[].effect", other)?,
            },
        });
    }
    let spread = borrow!(Slice(given.spread, given.spread_length));
    for constraint in spread.read("class.spread")? {
        let when_unsatisfiable = match constraint.when_unsatisfiable {
            BERTH_SPREAD_DO_NOT_SCHEDULE => "DoNotSchedule",
            BERTH_SPREAD_SCHEDULE_ANYWAY => "ScheduleAnyway",
            other => return Err(bad_value("class.spread[].when_unsatisfiable", other)),
        };
        let (start, length) = (constraint.labels, constraint.labels_length);
        let constraints = &mut pod.spec.topology_spread_constraints;
        constraints.push(TopologySpreadConstraint {
            max_skew: constraint.max_skew,
            topology_key: string!("class.spread[].topology_key", constraint.topology_key),
            when_unsatisfiable: when_unsatisfiable.to_owned(),
            label_selector: Some(LabelSelector {
                // SAFETY: as above.
                match_labels: unsafe { labels("class.spread[].labels", start, length) }?,
                match_expressions: Vec::new(),
            }),
            min_domains: (constraint.min_domains != 0).then_some(constraint.min_domains),
            ..TopologySpreadConstraint::default()
        });
    }
    Ok(pod)
}

/// Compiles a pod's spec, for `berth_pod_upsert` and to know it again in callbacks. Equal specs have
/// one id, also those of pods that came as JSON. It is held until `berth_class_release` was called as
/// often.
///
/// @param spec       the caller's, with all that it points to
/// @param out_id     its id
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE, BAD_UTF8,
/// BAD_OBJECT, CAPACITY, BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// Pointers are NULL or valid as described.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_class_create(
    scheduler: *mut berth_scheduler_t,
    spec: *const berth_class_t,
    out_id: *mut berth_class_id_t,
) -> berth_result_t {
    let given = borrow!(Struct(spec));
    let mut out: Out<'_, u32> = borrow!(Out(out_id));
    boundary::enter(scheduler, |state| {
        out.check("out_id")?;
        // SAFETY: the caller of this exported function promises what the header says of the struct.
        let pod = unsafe { pod(&given.required()?) }?;
        let mut object = Object::Pod(Box::new(pod));
        let notes = state.intake.admit(&mut object)?;
        let Object::Pod(pod) = object else {
            return Err(bad_value("class", "another object"));
        };
        let id = state.with_room(|intake| Ok(intake.create_class(&pod)?))?;
        let (_, count) = state.templates.0.entry(id.0).or_insert((pod, 0));
        *count = count.saturating_add(1);
        state.notes = notes.join("\n");
        out.write(id.0);
        Ok(())
    })
}

/// Gives back a class of `berth_class_create`; pods of it stay.
///
/// One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no such class was created),
/// BAD_HANDLE, BUSY, PANIC.
///
/// # Safety
/// None is asked for: a handle that is none is found out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn berth_class_release(
    scheduler: *mut berth_scheduler_t,
    class_id: berth_class_id_t,
) -> berth_result_t {
    boundary::enter(scheduler, |state| {
        let known = state.templates.0.get_mut(&class_id);
        let (_, count) = known.ok_or_else(|| unknown("class", class_id))?;
        *count = count.saturating_sub(1);
        if *count == 0 {
            state.templates.0.remove(&class_id);
        }
        let scheduler = state.intake.scheduler_mut();
        scheduler.release_class(ClassId(class_id));
        Ok(())
    })
}
