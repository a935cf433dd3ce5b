//! From the choice to the binding: Permit, the outcome of binding, and what failing does.
//!
//! Mirrors `bindingCycle`, `handleBindingCycleError` and `WaitOnPermit`. The states are drawn in
//! `queue/item.rs`.

use super::Scheduler;
use super::change::News;
use super::change::gone;
use super::turn::Failure;
use crate::capacity::CapacityExceeded;
use crate::cluster::PodState;
use crate::decision::Nomination;
use crate::id::{NodeId, PodId};
use crate::planted::{self, Bug};
use crate::queue::event::PodSide;
use crate::queue::{Place, PluginSet};

/// What became of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindOutcome {
    /// It is written. The pod keeps its room; [`Scheduler::apply`] of the pod with its node follows.
    Bound,
    /// It was refused, before or at the write, by a rule: the pod is tried again.
    Rejected,
    /// It failed: the pod is tried again.
    Failed,
    /// Nobody knows, as when the answer did not come: the pod keeps its room until another outcome
    /// is told or the pod is applied with its node.
    Unknown,
}

impl Scheduler {
    /// Counts a waiting pod on a node that the caller picks, whatever the plugins would say of it; the
    /// caller binds it. `false` if the pod does not wait or there is no such node; nothing is changed
    /// then.
    ///
    /// # Errors
    /// A table is full; nothing is changed then.
    pub fn assume(&mut self, pod: PodId, node: NodeId) -> Result<bool, CapacityExceeded> {
        let waits = self
            .row(pod)
            .is_some_and(|row| row.state == PodState::Pending);
        if !waits || !self.has_node(node) {
            return Ok(false);
        }
        self.cluster.assume(pod, node.0)?;
        self.leave_queue(pod);
        Ok(true)
    }

    /// Says what became of a pod's binding. `false` if the pod is not being bound, as after it was
    /// deleted; nothing is changed then.
    pub fn bound(&mut self, pod: PodId, outcome: BindOutcome, now: u64) -> bool {
        self.advance(now);
        let place = self.queue.item(pod).place;
        if !matches!(place, Place::PreBind | Place::Bind | Place::Unknown) {
            return false;
        }
        match outcome {
            BindOutcome::Bound => {
                self.cluster.volumes.bound(pod, &mut self.cluster.texts);
                self.finish(pod, Place::Nowhere);
            }
            BindOutcome::Unknown => self.finish(pod, Place::Unknown),
            BindOutcome::Failed => self.binding_fails(pod, Failure::ERROR, false),
            BindOutcome::Rejected => self.binding_fails(pod, Failure::ERROR, true),
        }
        true
    }

    /// The work before a pod's binding is done: from here on a preemption evicts the pod instead of
    /// cancelling its binding. `false` if the pod is not there, as when it was cancelled.
    pub fn pre_bound(&mut self, pod: PodId) -> bool {
        let is_there = self.queue.item(pod).place == Place::PreBind;
        if is_there {
            self.finish(pod, Place::Bind);
        }
        is_there
    }

    /// Lets a pod be bound that waits at Permit; `false` if it does not.
    pub fn allow(&mut self, pod: PodId) -> bool {
        let item = self.queue.item(pod);
        let waits = item.place == Place::Permit;
        if waits {
            let has_pre_bind = item.has_pre_bind;
            self.begin_binding(pod, has_pre_bind);
        }
        waits
    }

    /// Refuses a pod that waits at Permit; `false` if it does not. Events since it was popped are
    /// looked at, and any of them brings it back.
    pub fn reject(&mut self, pod: PodId) -> bool {
        let waits = self.queue.item(pod).place == Place::Permit;
        if waits {
            self.reject_waiting(pod);
        }
        waits
    }

    pub(super) fn wait_for_permit(&mut self, pod: PodId, deadline: u64) {
        if let Some(item) = self.queue.item_mut(pod) {
            item.place = Place::Permit;
            item.deadline = deadline;
        }
    }

    pub(super) fn reject_waiting(&mut self, pod: PodId) {
        let failure = Failure {
            rejectors: PluginSet::EXTERNAL,
            nomination: Nomination::Clear,
        };
        self.binding_fails(pod, failure, true);
    }

    /// Refuses the pods whose wait at Permit is over.
    pub(super) fn time_out_permits(&mut self) {
        let now = self.queue.now;
        while let Some(pod) = self.first_overdue(now) {
            self.reject_waiting(pod);
        }
    }

    fn first_overdue(&self, now: u64) -> Option<PodId> {
        let mut waiting = self.queue.in_flight().filter(|pod| {
            let item = self.queue.item(*pod);
            item.place == Place::Permit && item.deadline <= now && !planted::is(Bug::PermitForEver)
        });
        waiting.next()
    }

    /// When the first wait at Permit is over.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        let waiting = self.queue.in_flight().map(|pod| self.queue.item(pod));
        let deadlines =
            waiting.filter(|item| item.place == Place::Permit && !planted::is(Bug::PermitForEver));
        deadlines.map(|item| item.deadline).min()
    }

    /// Takes the pod off its node and brings it back.
    ///
    /// Others hear that its room is free: before it comes back after an error, and after it was
    /// rejected, so that the event does not bring back the pod itself.
    pub(super) fn binding_fails(&mut self, pod: PodId, failure: Failure, rejected: bool) {
        let Some(row) = self.row(pod) else {
            return;
        };
        let had_room = row.state != PodState::Pending;
        if !planted::is(Bug::RoomKept) {
            self.cluster.forget(pod);
        }
        let news = News {
            except: Some(pod),
            ..gone(pod, row.class)
        };
        if had_room && !rejected {
            self.tell(News {
                except: None,
                ..news
            });
        }
        self.fail(pod, failure);
        if had_room && rejected {
            self.tell(news);
        }
    }

    /// An event that brings this pod back whatever rejected it.
    pub(super) fn tell_any(&mut self, pod: PodSide) {
        use super::change::End;
        use crate::queue::event::{Resource, action};
        let news = News::new(Resource::Any, action::ALL, End::None, End::Pod(pod));
        self.tell(news);
    }
}
