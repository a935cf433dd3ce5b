//! Objects that go in together or not at all.

use super::IntakeError;
use crate::object::Object;
use crate::object::input::implied_namespace;
use crate::scheduler::{ApplyError, Change, Scheduler};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// One object of a batch.
pub(super) enum Step {
    /// A namespace that is there because something is in it.
    Imply(Object),
    /// A namespace's own object in the place of an implied one.
    Replace(Object),
    /// Any other.
    Add(Object),
}

impl Step {
    pub(super) const fn object(&self) -> &Object {
        match self {
            Self::Imply(object) | Self::Replace(object) | Self::Add(object) => object,
        }
    }

    fn make(&self, scheduler: &mut Scheduler) -> Result<(), ApplyError> {
        let change = match self {
            Self::Imply(_) | Self::Add(_) => Change::Added,
            Self::Replace(_) => Change::Modified,
        };
        scheduler.apply(change, self.object())
    }

    fn take_back(&self, scheduler: &mut Scheduler) -> Result<(), ApplyError> {
        match self {
            Self::Imply(object) | Self::Add(object) => scheduler.apply(Change::Deleted, object),
            Self::Replace(object) => {
                let implied = implied_namespace(object.metadata().name.clone());
                scheduler.apply(Change::Modified, &implied)
            }
        }
    }
}

/// Puts all in, or nothing; `spacing` nanoseconds pass before each pod.
pub(super) fn make(
    scheduler: &mut Scheduler,
    steps: &[Step],
    spacing: u64,
) -> Result<(), IntakeError> {
    for (index, step) in steps.iter().enumerate() {
        if spacing > 0 && matches!(step, Step::Add(Object::Pod(_))) {
            scheduler.advance(scheduler.now().saturating_add(spacing));
        }
        if let Err(error) = step.make(scheduler) {
            let made = steps.get(..index).unwrap_or_default();
            take_back(scheduler, made);
            return Err(IntakeError::refused(step.object(), error));
        }
    }
    Ok(())
}

/// Takes out what was put in just now, the last first.
pub(super) fn take_back(scheduler: &mut Scheduler, made: &[Step]) {
    for step in made.iter().rev() {
        let undone = step.take_back(scheduler);
        debug_assert!(undone.is_ok(), "{undone:?}: {}", step.object().kind());
    }
}

/// Turns objects into steps.
///
/// `written` are the namespaces of which the input has an object, `implied` those that are there
/// without one. Of the namespaces among `objects`, those that are neither are there already or are
/// implied now.
pub(super) fn steps(
    objects: Vec<Object>,
    written: &BTreeSet<&str>,
    implied: &BTreeSet<alloc::string::String>,
    scheduler: &Scheduler,
) -> Vec<Step> {
    let step = |object: Object| {
        let Object::Namespace(namespace) = &object else {
            return Some(Step::Add(object));
        };
        let name = namespace.metadata.name.as_str();
        match (written.contains(name), implied.contains(name)) {
            (true, true) => Some(Step::Replace(object)),
            (true, false) => Some(Step::Add(object)),
            (false, _) if scheduler.has_namespace(name) => None,
            (false, _) => Some(Step::Imply(object)),
        }
    };
    objects.into_iter().filter_map(step).collect()
}
