//! One object at a time, as a watch tells of it.

use super::batch::{self, Step};
use super::load::Flat;
use super::{Fault, Intake, IntakeError, is_completing, key};
use crate::id::{NodeId, PodId};
use crate::object::decode::Decoded;
use crate::object::defaults::Defaults;
use crate::object::input::{complete, implied_namespace};
use crate::object::validate::validate;
use crate::object::{Object, defaults};
use crate::scheduler::{ApplyError, Change};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// The id of an object that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectId {
    Node(NodeId),
    Pod(PodId),
}

/// What a change came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Of a node or pod that is there now.
    pub id: Option<ObjectId>,
    /// What the user should know: one sentence each.
    pub notes: Vec<String>,
}

impl Intake {
    /// Takes in what happened to one object. It is validated and defaulted; of a workload no pods
    /// are made, as its controller tells of them. `None` for `change` is whichever of added and
    /// modified it is.
    ///
    /// # Errors
    /// As [`load`](Self::load); a change of an object that is not there; more or less than one
    /// object. Nothing is changed then.
    pub fn apply(
        &mut self,
        change: Option<Change>,
        document: Decoded,
    ) -> Result<Applied, IntakeError> {
        let Some(mut object) = one_object(document)? else {
            return Ok(Applied::default());
        };
        complete(&mut object);
        let change = change.unwrap_or_else(|| self.change_of(&object));
        let mut notes = Vec::new();
        if change != Change::Deleted {
            notes = self.admit(&mut object)?;
        }
        let applied = self.put(change, object)?;
        notes.extend(applied.notes);
        Ok(Applied { notes, ..applied })
    }

    /// Validates an object and sets in it what an API server would; returns what the user should
    /// know. [`Self::put`] takes it in.
    ///
    /// # Errors
    /// Everything that is wrong with it; then it may be half set.
    pub fn admit(&self, object: &mut Object) -> Result<Vec<String>, IntakeError> {
        complete(object);
        self.check(object)
    }

    /// Takes in what happened to an object that was admitted.
    ///
    /// # Errors
    /// [`IntakeError::Apply`]; nothing is changed then.
    pub fn put(&mut self, change: Change, object: Object) -> Result<Applied, IntakeError> {
        let touched = self.touched_claims(change, &object);
        let id = self.put_one(change, object)?;
        let note = touched.and_then(|touched| self.try_to_bind(&touched));
        let notes = note.into_iter().collect();
        Ok(Applied { id, notes })
    }

    /// Returns the id of a node or pod that is there now.
    fn put_one(&mut self, change: Change, object: Object) -> Result<Option<ObjectId>, IntakeError> {
        if is_completing(&object) {
            self.change_completing(change, object)?;
            return Ok(None);
        }
        if change != Change::Added {
            self.change_other(change, &object)?;
            return Ok(self.id_of(&object));
        }
        let steps = self.steps_of_one(object);
        self.make(&steps, 0)?;
        self.note_made(&steps);
        Ok(steps.last().and_then(|step| self.id_of(step.object())))
    }

    fn id_of(&self, object: &Object) -> Option<ObjectId> {
        let metadata = object.metadata();
        match object {
            Object::Node(_) => {
                let node = self.scheduler.find_node(&metadata.name);
                node.map(ObjectId::Node)
            }
            Object::Pod(_) => {
                let pod = self.scheduler.find_pod(&metadata.namespace, &metadata.name);
                pod.map(ObjectId::Pod)
            }
            _ => None,
        }
    }

    /// Asks about a pod that is in the cluster only for the length of `ask`.
    ///
    /// # Errors
    /// As [`Self::apply`] of the added pod.
    pub fn with_pod<T>(
        &mut self,
        document: Decoded,
        ask: impl FnOnce(&mut Self, PodId) -> T,
    ) -> Result<T, IntakeError> {
        let Some(Object::Pod(mut pod)) = one_object(document)? else {
            return Err(IntakeError::of_text("expected a pod"));
        };
        // One that has finished would be left out, and is asked about all the same.
        pod.status.phase.clear();
        let (namespace, name) = (pod.metadata.namespace.clone(), pod.metadata.name.clone());
        let mut object = Object::Pod(pod);
        complete(&mut object);
        self.check(&mut object)?;
        let absent = IntakeError::refused(&object, ApplyError::NotFound);
        let steps = self.steps_of_one(object);
        self.make(&steps, 0)?;
        let namespace = if namespace.is_empty() {
            defaults::DEFAULT_NAMESPACE
        } else {
            &namespace
        };
        let pod = self.scheduler.find_pod(namespace, &name);
        let answer = pod.map(|pod| ask(self, pod));
        batch::take_back(&mut self.scheduler, &steps);
        answer.ok_or(absent)
    }

    /// The object, after its namespace if that is not there.
    fn steps_of_one(&self, object: Object) -> Vec<Step> {
        let metadata = object.metadata();
        let mut steps = Vec::new();
        let namespace = &metadata.namespace;
        if !namespace.is_empty() && !self.scheduler.has_namespace(namespace) {
            steps.push(Step::Imply(implied_namespace(namespace.clone())));
        }
        let is_namespace = matches!(object, Object::Namespace(_));
        if is_namespace && self.implied.contains(&metadata.name) {
            steps.push(Step::Replace(object));
        } else {
            steps.push(Step::Add(object));
        }
        steps
    }

    /// Changes an object by which later pods are completed; those that are there stay as they are.
    fn change_completing(&mut self, change: Change, object: Object) -> Result<(), IntakeError> {
        match (change, self.is_there(&object)) {
            (Change::Added, true) => {
                return Err(IntakeError::refused(&object, ApplyError::AlreadyExists));
            }
            (Change::Modified | Change::Deleted, false) => {
                return Err(IntakeError::refused(&object, ApplyError::NotFound));
            }
            (Change::Deleted, true) => self.completing.remove(&key(&object)),
            (Change::Added, false) | (Change::Modified, true) => {
                self.completing.insert(key(&object), object)
            }
        };
        Ok(())
    }

    fn change_other(&mut self, change: Change, object: &Object) -> Result<(), IntakeError> {
        let metadata = object.metadata();
        let pod = match object {
            Object::Pod(_) => self.scheduler.find_pod(&metadata.namespace, &metadata.name),
            _ => None,
        };
        self.with_room(|intake| {
            let applied = intake.scheduler.apply(change, object);
            applied.map_err(|error| IntakeError::refused(object, error))
        })?;
        if let Some(pod) = pod
            && !self.scheduler.has_pod(pod)
        {
            self.arrivals.remove(&pod);
        }
        if let Object::Namespace(namespace) = object {
            self.implied.remove(&namespace.metadata.name);
        }
        Ok(())
    }

    /// What taking this object in would be: modified where one of its kind and name is there.
    pub fn change_of(&self, object: &Object) -> Change {
        if self.is_there(object) {
            Change::Modified
        } else {
            Change::Added
        }
    }

    /// Whether an object of this kind and name was taken in; of kinds that no plugin reads,
    /// always.
    fn is_there(&self, object: &Object) -> bool {
        match object {
            _ if is_completing(object) => self.completing.contains_key(&key(object)),
            Object::Namespace(namespace) if self.implied.contains(&namespace.metadata.name) => {
                false
            }
            Object::Node(_) | Object::Pod(_) => self.id_of(object).is_some(),
            _ => self.scheduler.has_object(object),
        }
    }

    /// Validates an object and sets in it what an API server would.
    fn check(&self, object: &mut Object) -> Result<Vec<String>, IntakeError> {
        let mut invalid = validate(object);
        let mut notes = Vec::new();
        match object {
            Object::Pod(pod) if invalid.is_empty() => {
                let mut defaults = Defaults::new(self.completing.values());
                invalid.extend(defaults.apply(pod).err());
                notes = defaults.into_notes();
            }
            Object::PersistentVolumeClaim(claim) => {
                let mut defaults = Defaults::default();
                defaults.offer_storage_class(self.scheduler.default_class());
                defaults.apply_to_claim(claim);
            }
            Object::Namespace(namespace) => {
                let name = namespace.metadata.name.clone();
                let labels = &mut namespace.metadata.labels;
                labels.insert(defaults::NAMESPACE_NAME_LABEL.to_owned(), name);
            }
            _ => {}
        }
        if invalid.is_empty() {
            return Ok(notes);
        }
        let faults = invalid
            .into_iter()
            .map(|invalid| Fault::new(object, invalid));
        Err(IntakeError::Invalid(faults.collect()))
    }
}

/// The only object of a document; `None` if it is of a kind that is not taken in.
fn one_object(document: Decoded) -> Result<Option<Object>, IntakeError> {
    let mut input = Flat::default();
    input.add(document);
    if !input.faults.is_empty() {
        return Err(IntakeError::Invalid(input.faults));
    }
    let object = input.objects.pop();
    match (object, input.objects.is_empty(), input.foreign.is_empty()) {
        (Some(object), true, true) => Ok(Some(object)),
        (None, _, false) => Ok(None),
        _ => Err(IntakeError::of_text("expected one object")),
    }
}
