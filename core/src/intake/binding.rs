//! Volumes and bindings, for faces that play the API server and the volume controllers.

use super::{Intake, IntakeError};
use crate::decision::BoundClaim;
use crate::id::PodId;
use crate::object::Object;
use crate::scheduler::{BindOutcome, Change, VolumesBound};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Between two looks of the scheduler at the claims that it waits for, in nanoseconds.
const LOOK: u64 = 1_000_000_000;

/// Pods that wait for their volumes, in the order of their attempts.
pub(super) type Waiting = VecDeque<Binding>;

/// A pod that is bound when its volumes are.
#[derive(Clone)]
pub(super) struct Binding {
    due: u64,
    pod: PodId,
    /// Which pod it is: another one under its id is not bound.
    arrival: u64,
}

/// Claims that may be bound after a change.
pub(super) enum Touched {
    All,
    /// Namespace and name.
    One(String, String),
}

impl Intake {
    /// Whether [`put`](Self::put) and [`apply`](Self::apply) are followed by
    /// [`bind_claims`](Self::bind_claims), as far as the change concerns claims; not so at first.
    pub const fn set_simulating(&mut self, simulates: bool) {
        self.simulates = simulates;
    }

    /// Binds the claims that no pod has to wait for, as the volume controllers do: those without a
    /// phase, as users write them. See [`Scheduler::bind_claims`](crate::Scheduler::bind_claims).
    ///
    /// # Errors
    /// A table is full; what was bound stays bound.
    pub fn bind_claims(&mut self) -> Result<(), IntakeError> {
        self.bind_touched(&Touched::All)
    }

    pub(super) fn touched_claims(&self, change: Change, object: &Object) -> Option<Touched> {
        if !self.simulates || change == Change::Deleted {
            return None;
        }
        match object {
            Object::PersistentVolume(_) | Object::StorageClass(_) => Some(Touched::All),
            Object::PersistentVolumeClaim(claim) => {
                let metadata = &claim.metadata;
                let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
                Some(Touched::One(namespace, name))
            }
            _ => None,
        }
    }

    /// The same, where what cannot be bound is no error: the note that tells of it.
    pub(super) fn try_to_bind(&mut self, touched: &Touched) -> Option<String> {
        let error = self.bind_touched(touched).err()?;
        Some(format!("claims stay without a volume: {error}"))
    }

    fn bind_touched(&mut self, touched: &Touched) -> Result<(), IntakeError> {
        let only = match touched {
            Touched::All => None,
            Touched::One(namespace, name) => Some((namespace.as_str(), name.as_str())),
        };
        self.with_room(|intake| {
            let bound = intake.scheduler.bind_claims(only);
            bound.map_err(|error| IntakeError::Apply {
                subject: "a claim".into(),
                error,
            })
        })
    }

    /// Binds the claims of a placed pod, as the scheduler and the volume controllers do together; returns
    /// them. See [`Scheduler::bind_volumes`](crate::Scheduler::bind_volumes).
    ///
    /// # Errors
    /// A table is full; what was bound stays bound.
    pub fn bind_volumes(&mut self, pod: PodId) -> Result<Vec<BoundClaim>, IntakeError> {
        self.with_room(|intake| {
            let bound = intake.scheduler.bind_volumes(pod);
            bound.map_err(|error| {
                let (namespace, name) = intake.scheduler.pod_name(pod);
                let subject = crate::object::subject("Pod", namespace, name);
                IntakeError::Apply { subject, error }
            })
        })?;
        Ok(self.scheduler.volumes_of(pod).collect())
    }

    /// Keeps in mind that a pod waits for its volumes: it is looked at in a second.
    pub fn wait_for_volumes(&mut self, pod: PodId) {
        self.waiting.retain(|binding| binding.pod != pod);
        if let Some(arrival) = self.arrivals.get(&pod).copied() {
            self.waiting.push_back(Binding {
                due: self.scheduler.now().saturating_add(LOOK),
                pod,
                arrival,
            });
        }
    }

    /// When the next one of the pods that wait for their volumes is looked at.
    pub fn next_binding(&self) -> Option<u64> {
        self.waiting.front().map(|binding| binding.due)
    }

    /// Looks at that pod. `Some`: it can be bound, and the caller binds it. Otherwise it is gone, or its
    /// binding has failed.
    pub fn end_binding(&mut self) -> Option<PodId> {
        let Binding { pod, arrival, .. } = self.waiting.pop_front()?;
        if self.arrivals.get(&pod) != Some(&arrival) {
            return None;
        }
        let now = self.scheduler.now();
        if self.scheduler.volumes_bound(pod, now) == VolumesBound::Yes
            && self.scheduler.pre_bound(pod)
        {
            return Some(pod);
        }
        self.scheduler.bound(pod, BindOutcome::Failed, now);
        None
    }

    /// Lets all bindings that are under way end well, claims included, as when binding takes no time.
    /// A pod whose claims cannot be bound is tried again.
    ///
    /// # Errors
    /// As [`bind_volumes`](Self::bind_volumes).
    pub fn end_bindings(&mut self) -> Result<(), IntakeError> {
        self.waiting.clear();
        let now = self.scheduler.now();
        for pod in self.arrived() {
            self.scheduler.allow(pod);
            self.bind_volumes(pod)?;
            let outcome = match self.scheduler.volumes_bound(pod, now) {
                VolumesBound::Yes => BindOutcome::Bound,
                _ => BindOutcome::Failed,
            };
            self.scheduler.pre_bound(pod);
            self.scheduler.bound(pod, outcome, now);
            self.scheduler.seen_bound(pod);
        }
        Ok(())
    }
}
