//! What is done to the world from outside.

use super::{Key, Observer, World};
use crate::failure::Failure;
use crate::input::Place;
use berth_core::Change;
use berth_core::object::expand::claims_of_pod;
use berth_core::object::{Object, Pod};

/// One step of a trace.
#[derive(Clone, Debug)]
pub enum Step {
    /// Objects come or change, one after another.
    Put {
        how: Put,
        objects: Vec<(Object, Place)>,
        /// How long pods among them, or made by them, run once they are bound, in milliseconds.
        runs: Option<u64>,
    },
    /// An object is gone at once. A workload takes its pods with it.
    Delete(Key),
    /// A node is gone, and its pods with it; those that a controller stands behind come again.
    Fail(String),
    /// Attempts until no pod is ready to be tried.
    Settle,
    /// Settles, and lets milliseconds pass.
    Advance(u64),
    /// Lets time pass until this many milliseconds after the start.
    Until(u64),
    /// Lets time pass until nothing can wake a pod.
    RunOut,
}

/// Which objects a step may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Such as are not there.
    Add,
    /// Such as are there; others are counted and left out.
    Update,
    /// Either.
    Apply,
}

impl<O: Observer> World<O> {
    pub fn step(&mut self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::Put { how, objects, runs } => {
                for (object, place) in objects {
                    self.tick()?;
                    self.finish_due()?;
                    self.put(*how, object.clone(), place, *runs)?;
                }
                Ok(())
            }
            Step::Delete(key) => {
                self.tick()?;
                self.delete(key)
            }
            Step::Fail(node) => {
                self.tick()?;
                self.fail_node(node)
            }
            Step::Settle => self.settle(),
            Step::Advance(ms) => self.advance(*ms),
            Step::Until(ms) => self.advance(ms.saturating_sub(self.ms)),
            Step::RunOut => self.run_out(),
        }
    }

    /// Takes in one object, without the clock.
    pub fn put(
        &mut self,
        how: Put,
        mut object: Object,
        place: &Place,
        runs: Option<u64>,
    ) -> Result<(), Failure> {
        let notes = self
            .intake
            .admit(&mut object)
            .map_err(|error| at(place, error.into()))?;
        self.notes.extend(notes);
        let metadata = object.metadata();
        let key = (
            object.kind(),
            metadata.namespace.clone(),
            metadata.name.clone(),
        );
        match (how, self.is_there(&key)) {
            (Put::Update, false) => {
                self.absent += 1;
                Ok(())
            }
            (Put::Add | Put::Apply, false) => self.add(&key, object, runs),
            (Put::Update | Put::Apply, true) => self.replace(&key, object, runs),
            (Put::Add, true) => {
                let message = format!("{} is there already", subject(&key));
                Err(crate::input::Problem::of_place(place.clone(), message).into())
            }
        }
        .map_err(|failure| at(place, failure))
    }

    pub(super) fn is_there(&self, key: &Key) -> bool {
        match key {
            ("Pod", namespace, name) => self.pods.contains_key(&(namespace.clone(), name.clone())),
            key => self.others.contains_key(key),
        }
    }

    pub(super) fn add(
        &mut self,
        key: &Key,
        object: Object,
        runs: Option<u64>,
    ) -> Result<(), Failure> {
        if let Object::Pod(pod) = &object {
            // What has finished takes no part.
            if pod.status.is_finished() {
                return Ok(());
            }
            self.make_claims(claims_of_pod(pod))?;
            return self.arrive(object, runs);
        }
        self.take(Change::Added, &object)?;
        self.changes += 1;
        self.settle_in(key, object, runs)
    }

    pub(super) fn replace(
        &mut self,
        key: &Key,
        mut object: Object,
        runs: Option<u64>,
    ) -> Result<(), Failure> {
        self.changes += 1;
        if let Object::Pod(pod) = &mut object {
            let name = (key.1.clone(), key.2.clone());
            let Some(entry) = self.pods.get_mut(&name) else {
                return Ok(());
            };
            keep_status(pod, entry.pod());
            if pod.status.is_finished() {
                self.remove_pod(&name)?;
                return Ok(());
            }
            let waited = entry.waits();
            entry.object = object;
            entry.is_saved = false;
            if waited && !entry.waits() {
                self.observer.leaves(entry.number)?;
            }
            return self.tell_pod(&name);
        }
        self.take(Change::Modified, &object)?;
        self.settle_in(key, object, runs)
    }

    /// An object that is no pod is there; its controllers look at it.
    fn settle_in(&mut self, key: &Key, object: Object, runs: Option<u64>) -> Result<(), Failure> {
        self.others.insert(key.clone(), object);
        self.make_pods(key, runs)?;
        if key.0 == "Node" {
            self.make_daemons()?;
        }
        Ok(())
    }

    fn delete(&mut self, key: &Key) -> Result<(), Failure> {
        if let ("Pod", namespace, name) = key {
            let removed = self.remove_pod(&(namespace.clone(), name.clone()))?;
            self.absent += u64::from(removed.is_none());
            return Ok(());
        }
        let Some(object) = self.others.remove(key) else {
            self.absent += 1;
            return Ok(());
        };
        self.changes += 1;
        self.drop_pods(key)?;
        self.take(Change::Deleted, &object)?;
        if key.0 == "Node" {
            self.make_daemons()?;
        }
        Ok(())
    }

    fn fail_node(&mut self, node: &str) -> Result<(), Failure> {
        let on_node = self
            .pods
            .iter()
            .filter(|(_, pod)| pod.pod().spec.node_name == node);
        let names: Vec<_> = on_node.map(|(name, _)| name.clone()).collect();
        self.delete(&("Node", String::new(), node.to_owned()))?;
        for name in names {
            let Some(entry) = self.remove_pod(&name)? else {
                continue;
            };
            let owners = &entry.pod().metadata.owner_references;
            let owner = owners.iter().find(|owner| owner.controller);
            if owner.is_some_and(|owner| owner.kind != "DaemonSet") {
                self.make_again(entry)?;
            }
        }
        Ok(())
    }
}

/// What an update does not say of a pod stays as it is.
fn keep_status(new: &mut Pod, old: &Pod) {
    if new.metadata.uid.is_empty() {
        new.metadata.uid.clone_from(&old.metadata.uid);
    }
    if new.metadata.deletion_timestamp.is_none() {
        let old = &old.metadata.deletion_timestamp;
        new.metadata.deletion_timestamp.clone_from(old);
    }
    if new.spec.node_name.is_empty() {
        new.spec.node_name.clone_from(&old.spec.node_name);
    }
    if new.status.conditions.is_empty() {
        new.status.conditions.clone_from(&old.status.conditions);
    }
    if new.status.nominated_node_name.is_empty() {
        let old = &old.status.nominated_node_name;
        new.status.nominated_node_name.clone_from(old);
    }
}

/// `Pod web/api-7`, `Node n1`.
pub(super) fn subject((kind, namespace, name): &Key) -> String {
    match namespace.as_str() {
        "" => format!("{kind} {name}"),
        _ => format!("{kind} {namespace}/{name}"),
    }
}

/// Says where the object stands that cannot be taken in.
fn at(place: &Place, failure: Failure) -> Failure {
    match failure {
        Failure::Usage(message) if *place != Place::default() => {
            crate::input::Problem::of_place(place.clone(), message).into()
        }
        failure => failure,
    }
}
