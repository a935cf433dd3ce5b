//! Decoded objects, put in order for a scheduler.
//!
//! Stage before: `decode`. Stage after:
//! [`Scheduler::apply`](crate::Scheduler::apply) for [`Prepared::objects`], then one attempt after
//! another for [`Prepared::pending`].

mod identity;
mod name;
mod owners;

use super::defaults::{DEFAULT_NAMESPACE, DefaultClass, Defaults, NAMESPACE_NAME_LABEL};
use super::expand::{Expansion, claim, implied_replica_set};
use super::path::{Path, Quoted};
use super::validate::{Invalid, invalid, validate_own, validate_template};
use super::{
    Labels, Namespace, Node, Object, ObjectMeta, PersistentVolumeClaim, Pod, ReplicationController,
    Workload, decode,
};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use identity::Identities;
use name::Names;
use owners::Owners;

/// Choices of the face.
#[derive(Clone, Copy, Debug)]
pub struct InputOptions<'a> {
    /// The scheduler names of the configuration's profiles.
    pub scheduler_names: &'a [&'a str],
    /// Most pods that are made from workloads, in all.
    pub made_pods_max: u64,
    /// The class of claims that name none, where the objects come to a cluster that has one.
    pub storage_class: Option<&'a DefaultClass>,
}

/// What a scheduler is given.
#[derive(Debug, Default)]
pub struct Prepared {
    /// Namespaces (those without an object included), then nodes, services, controllers, sets
    /// (implied ones included), volumes and bound pods, each in the input's order.
    pub objects: Vec<Object>,
    /// Pods to be placed in the input's order; those of a workload stand where it stood.
    pub pending: Vec<Box<Pod>>,
    /// Pending pods that are left out: another scheduler's, or being deleted.
    pub skipped: u64,
    /// What the user should know: one sentence each.
    pub notes: Vec<String>,
    /// Objects that are left out because they are wrong, by their place in the input.
    pub problems: Vec<Problem>,
}

/// Something wrong with an object of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Place of the object in the input.
    pub object: usize,
    /// Place of the earlier object that it clashes with.
    pub earlier: Option<usize>,
    /// Kind, namespace and name: `Pod web/api-7`.
    pub subject: String,
    pub invalid: Invalid,
}

/// Validates, defaults and expands the objects of an input.
///
/// An object that is wrong is left out and listed in [`Prepared::problems`] with all that is
/// wrong with it; the others are prepared all the same. Takes time linear in the input and in the
/// pods made.
pub fn prepare(mut objects: Vec<Object>, options: &InputOptions<'_>) -> Prepared {
    objects.iter_mut().for_each(complete);
    let mut preparation = Preparation {
        options,
        prepared: Prepared::default(),
        wrong: objects.iter().map(|_| false).collect(),
        defaults: Defaults::default(),
        made: BTreeMap::new(),
        finished: 0,
        foreign: BTreeMap::new(),
        deleted: 0,
        namespaces: BTreeSet::new(),
        claims: BTreeSet::new(),
    };
    let identities = preparation.check(&objects);
    preparation.expand(&objects, &identities);
    preparation.claims = names_of_claims(&objects);
    drop(identities);
    preparation.route(objects);
    preparation.finish()
}

/// The work in progress.
struct Preparation<'a> {
    options: &'a InputOptions<'a>,
    prepared: Prepared,
    /// Objects with problems, by place.
    wrong: Vec<bool>,
    defaults: Defaults,
    /// What workloads make, by their place.
    made: BTreeMap<usize, Made>,
    finished: u64,
    /// Pending pods of schedulers that are not configured, by scheduler.
    foreign: BTreeMap<String, u64>,
    deleted: u64,
    /// Namespaces that something is in.
    namespaces: BTreeSet<String>,
    /// Namespaces and names of the claims that are there.
    claims: BTreeSet<(String, String)>,
}

/// What a workload makes.
#[derive(Default)]
struct Made {
    replica_set: Option<Workload>,
    #[expect(clippy::vec_box, reason = "each becomes an `Object::Pod` as it is")]
    pods: Vec<Box<Pod>>,
    claims: Vec<PersistentVolumeClaim>,
}

impl Preparation<'_> {
    /// Finds what is wrong with the objects as they stand, and takes those that set defaults.
    fn check<'o>(&mut self, objects: &'o [Object]) -> Identities<'o> {
        let mut identities = Identities::new(objects.len());
        for (place, object) in objects.iter().enumerate() {
            for invalid in validate_own(object) {
                self.problem(place, object, None, invalid);
            }
            if let Some((earlier, invalid)) = identities.add(place, object) {
                self.problem(place, object, Some(earlier), invalid);
            }
        }
        self.defaults = Defaults::new(self.right(objects).map(|(_, object)| object));
        let class = self.options.storage_class;
        self.defaults.offer_storage_class(class.cloned());
        identities
    }

    /// Makes the pods of the workloads that have none in the input.
    fn expand(&mut self, objects: &[Object], identities: &Identities<'_>) {
        let owners = Owners::of(objects);
        let nodes: Vec<&Node> = self
            .right(objects)
            .filter_map(|(_, object)| match object {
                Object::Node(node) => Some(&**node),
                _ => None,
            })
            .collect();
        let mut names = Names::new(identities);
        let workloads = self
            .right(objects)
            .filter(|(_, object)| is_workload(object));
        let workloads: Vec<_> = workloads.collect();
        let mut made_count = 0_u64;
        for (place, object) in workloads {
            if owners.have_pods(object) {
                continue;
            }
            let problems = validate_template(object);
            if problems.is_empty() {
                let made = Expansion::of(object, &nodes)
                    .map(|made| self.make(object, &made, &mut names, &mut made_count));
                match made {
                    None => {}
                    Some(Ok(made)) => {
                        self.made.insert(place, made);
                    }
                    Some(Err((earlier, invalid))) => self.problem(place, object, earlier, invalid),
                }
            }
            for invalid in problems {
                self.problem(place, object, None, invalid);
            }
        }
    }

    /// Makes a workload's pods; `made_count` is how many have been made in all.
    fn make<'o>(
        &mut self,
        object: &'o Object,
        expansion: &Expansion<'o>,
        names: &mut Names<'_, 'o>,
        made_count: &mut u64,
    ) -> Result<Made, (Option<usize>, Invalid)> {
        let mut made = Made::default();
        if let Object::Deployment(deployment) = object {
            let metadata = &deployment.metadata;
            let clash = names
                .identities()
                .place("ReplicaSet", &metadata.namespace, &metadata.name);
            if let Some(earlier) = clash {
                let problem = "is that of a ReplicaSet, of which the Deployment makes one too";
                let field = Path::root("metadata");
                return Err((Some(earlier), invalid(&field.key("name"), problem)));
            }
            made.replica_set = Some(implied_replica_set(deployment));
        }
        let count = expansion.count();
        let total = made_count.saturating_add(count);
        let max = self.options.made_pods_max;
        if total > max {
            let problem = format!("makes {count} pods, {total} in all; at most {max} are made");
            return Err((None, invalid(&Path::root("spec"), problem)));
        }
        if expansion.template().spec.containers.is_empty() && count > 0 {
            let subject = subject(object);
            let note = format!("{subject} makes no pods: its template has no containers");
            self.prepared.notes.push(note);
            return Ok(made);
        }
        *made_count = total;
        let template = match object {
            Object::CronJob(_) => "spec.jobTemplate.spec.template",
            _ => "spec.template",
        };
        for index in 0..count {
            let mut pod = Box::new(expansion.pod(index, names.next(expansion)));
            self.defaults.apply(&mut pod).map_err(|invalid| {
                let field = format!("{template}.{}", invalid.field);
                (None, Invalid { field, ..invalid })
            })?;
            made.claims.extend(expansion.claims(&pod));
            made.pods.push(pod);
        }
        Ok(made)
    }

    /// Hands on what is right.
    fn route(&mut self, objects: Vec<Object>) {
        for (place, object) in objects.into_iter().enumerate() {
            let wrong = self.wrong.get(place).copied().unwrap_or(false);
            if wrong {
                continue;
            }
            let made = self.made.remove(&place).unwrap_or_default();
            self.namespaces_of(object.metadata());
            match object {
                Object::Pod(mut pod) => match self.defaults.apply(&mut pod) {
                    Ok(()) => self.route_pod(pod),
                    Err(invalid) => self.problem(place, &Object::Pod(pod), None, invalid),
                },
                Object::PersistentVolumeClaim(mut claim) => {
                    self.defaults.apply_to_claim(&mut claim);
                    let claim = Object::PersistentVolumeClaim(claim);
                    self.prepared.objects.push(claim);
                }
                Object::Deployment(_)
                | Object::DaemonSet(_)
                | Object::Job(_)
                | Object::CronJob(_)
                | Object::PriorityClass(_)
                | Object::RuntimeClass(_)
                | Object::LimitRange(_) => {}
                object => self.prepared.objects.push(object),
            }
            let set = made.replica_set.map(Object::ReplicaSet);
            self.prepared.objects.extend(set);
            made.claims
                .into_iter()
                .for_each(|claim| self.add_claim(claim));
            made.pods.into_iter().for_each(|pod| self.route_pod(pod));
        }
    }

    /// Hands on a claim that a controller makes, unless it is there already.
    fn add_claim(&mut self, mut claim: PersistentVolumeClaim) {
        let metadata = &claim.metadata;
        let key = (metadata.namespace.clone(), metadata.name.clone());
        if self.claims.insert(key) {
            self.defaults.apply_to_claim(&mut claim);
            let claim = Object::PersistentVolumeClaim(Box::new(claim));
            self.prepared.objects.push(claim);
        }
    }

    fn namespaces_of(&mut self, metadata: &ObjectMeta) {
        let namespace = &metadata.namespace;
        if !namespace.is_empty() && !self.namespaces.contains(namespace) {
            self.namespaces.insert(namespace.clone());
        }
    }

    fn route_pod(&mut self, pod: Box<Pod>) {
        let scheduler = &pod.spec.scheduler_name;
        if pod.status.is_finished() {
            self.finished = self.finished.saturating_add(1);
        } else if !pod.spec.node_name.is_empty() {
            self.prepared.objects.push(Object::Pod(pod));
        } else if pod.metadata.deletion_timestamp.is_some() {
            self.deleted = self.deleted.saturating_add(1);
        } else if self.options.scheduler_names.contains(&scheduler.as_str()) {
            claim::of_pod(&pod).for_each(|claim| self.add_claim(claim));
            self.prepared.pending.push(pod);
        } else if let Some(count) = self.foreign.get_mut(scheduler) {
            *count = count.saturating_add(1);
        } else {
            self.foreign.insert(scheduler.clone(), 1);
        }
    }

    fn finish(mut self) -> Prepared {
        let mut namespaces = Vec::new();
        self.prepared.objects.retain_mut(|object| {
            let Object::Namespace(namespace) = object else {
                return true;
            };
            let mut namespace = core::mem::take(namespace);
            self.namespaces.remove(&namespace.metadata.name);
            let name = namespace.metadata.name.clone();
            let labels = &mut namespace.metadata.labels;
            labels.insert(NAMESPACE_NAME_LABEL.to_owned(), name);
            namespaces.push(Object::Namespace(namespace));
            false
        });
        namespaces.extend(self.namespaces.into_iter().map(implied_namespace));
        self.prepared.objects.splice(0..0, namespaces);

        let prepared = &mut self.prepared;
        let classes = self.defaults.into_notes();
        prepared.notes.extend(classes);
        for (scheduler, count) in &self.foreign {
            let scheduler = Quoted(scheduler);
            prepared.notes.push(format!(
                "skipped, as the configuration has no scheduler {scheduler}: {count} pending pods"
            ));
            prepared.skipped = prepared.skipped.saturating_add(*count);
        }
        if self.deleted > 0 {
            let count = self.deleted;
            let note = format!("skipped, as they are being deleted: {count} pending pods");
            prepared.notes.push(note);
            prepared.skipped = prepared.skipped.saturating_add(self.deleted);
        }
        if self.finished > 0 {
            let count = self.finished;
            prepared
                .notes
                .push(format!("ignored, as they have finished: {count} pods"));
        }
        prepared.problems.sort_by_key(|problem| problem.object);
        self.prepared
    }

    /// The objects without problems, with their places.
    fn right<'o>(&self, objects: &'o [Object]) -> impl Iterator<Item = (usize, &'o Object)> {
        let wrong = self.wrong.iter();
        let places = objects.iter().enumerate().zip(wrong);
        places.filter(|(_, wrong)| !**wrong).map(|(place, _)| place)
    }

    fn problem(&mut self, place: usize, object: &Object, earlier: Option<usize>, invalid: Invalid) {
        if let Some(wrong) = self.wrong.get_mut(place) {
            *wrong = true;
        }
        self.prepared.problems.push(Problem {
            object: place,
            earlier,
            subject: subject(object),
            invalid,
        });
    }
}

fn names_of_claims(objects: &[Object]) -> BTreeSet<(String, String)> {
    let claims = objects.iter().filter_map(|object| match object {
        Object::PersistentVolumeClaim(claim) => Some(&claim.metadata),
        _ => None,
    });
    claims
        .map(|metadata| (metadata.namespace.clone(), metadata.name.clone()))
        .collect()
}

fn is_workload(object: &Object) -> bool {
    matches!(
        object,
        Object::ReplicationController(_)
            | Object::ReplicaSet(_)
            | Object::StatefulSet(_)
            | Object::Deployment(_)
            | Object::DaemonSet(_)
            | Object::Job(_)
            | Object::CronJob(_)
    )
}

fn subject(object: &Object) -> String {
    let metadata = object.metadata();
    super::subject(object.kind(), &metadata.namespace, &metadata.name)
}

/// Sets what decides which object it is and which pods it selects.
pub(crate) fn complete(object: &mut Object) {
    set_namespace(object);
    super::defaults::storage::complete(object);
    if let Object::ReplicationController(controller) = object {
        set_selector(controller);
    }
}

/// Puts the object into the namespace it is in.
fn set_namespace(object: &mut Object) {
    let namespaced = decode::row(object.kind()).is_some_and(|row| row.namespaced);
    let namespace = &mut object.metadata_mut().namespace;
    if !namespaced {
        namespace.clear();
    } else if namespace.is_empty() {
        DEFAULT_NAMESPACE.clone_into(namespace);
    }
}

/// A controller without a selector selects by its template's labels.
fn set_selector(controller: &mut ReplicationController) {
    let spec = &mut controller.spec;
    if spec.selector.as_ref().is_none_or(Labels::is_empty)
        && let Some(template) = &spec.template
        && !template.metadata.labels.is_empty()
    {
        spec.selector = Some(template.metadata.labels.clone());
    }
}

/// A namespace as it is there when the input has none of this name.
pub(crate) fn implied_namespace(name: String) -> Object {
    Object::Namespace(Namespace {
        metadata: ObjectMeta {
            labels: Labels::from([(NAMESPACE_NAME_LABEL.to_owned(), name.clone())]),
            name,
            ..ObjectMeta::default()
        },
    })
}

#[cfg(test)]
mod tests;
