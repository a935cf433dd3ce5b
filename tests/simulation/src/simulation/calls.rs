//! Calls to the server that are under way: bindings, and the writes of a preemption.

use super::Simulation;
use super::volumes::VolumeWrite;
use crate::expected::Place;
use crate::fault::Fault;
use crate::random::Random;
use crate::server::{Key, pod_id};
use crate::violation::{Check, ensure};
use berth_core::object::PodCondition;
use berth_core::{BindOutcome, PluginSet};
use std::collections::VecDeque;

/// A call that has not been answered.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Bind(Binding),
    /// What follows an attempt that found no node, one write after the other.
    Preempt {
        key: Key,
        uid: String,
        writes: VecDeque<Write>,
    },
}

/// A pod on its way to its node.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) key: Key,
    pub(crate) uid: String,
    pub(crate) node: String,
    /// Its answer never came; the pod has to be read.
    pub(crate) is_unclear: bool,
    /// What its volumes need first.
    pub(crate) writes: VecDeque<VolumeWrite>,
}

/// One write to the server.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// Sets or clears `status.nominatedNodeName`.
    Nominate {
        key: Key,
        uid: String,
        node: String,
    },
    Evict {
        key: Key,
        uid: String,
    },
}

impl Simulation {
    /// One call is answered.
    pub(super) fn answer(&mut self, random: &mut Random) -> Check {
        // A wait at Permit of no time at all is over with the next call.
        self.pass(0)?;
        if random.one_in(4)
            && let Some((key, uid, node)) = self.strays.pop()
        {
            self.server.bind(&key, &uid, &node);
        }
        if self.calls.is_empty() {
            return Ok(());
        }
        let at = if self.calm {
            0
        } else {
            random.below(self.calls.len())
        };
        match self.calls.remove(at) {
            Call::Bind(binding) => self.answer_bind(binding, random),
            Call::Preempt { key, uid, writes } => {
                self.write(key, uid, writes, random);
                Ok(())
            }
        }
    }

    fn answer_bind(&mut self, binding: Binding, random: &mut Random) -> Check {
        let Binding {
            key,
            uid,
            node,
            is_unclear,
            ..
        } = binding.clone();
        let (key, uid, node) = (&key, uid.as_str(), node.as_str());
        let Some(place) = self.expected(key, uid).map(|pod| pod.place) else {
            // The pod is gone; the server refuses by the UID.
            return Ok(());
        };
        let wait = |own: &mut Self, is_unclear: bool| {
            own.calls.push(Call::Bind(Binding {
                is_unclear,
                ..binding.clone()
            }));
            Ok(())
        };
        let id = self.id(key);
        let Some(id) = id else {
            return ensure(false, "I3", || format!("{key:?} is not there"));
        };
        match place {
            Place::Permit { has_work, .. } => {
                if self.strikes(random, Fault::PermitRefused) {
                    let done = self.engine.reject(id);
                    ensure(done, "permit", || format!("{key:?} does not wait"))?;
                    return self.refused_at_permit(key, self.now);
                }
                if self.calm || random.one_in(2) {
                    let done = self.engine.allow(id);
                    ensure(done, "permit", || format!("{key:?} does not wait"))?;
                    self.set_place(
                        key,
                        if has_work {
                            Place::PreBind
                        } else {
                            Place::Binding
                        },
                    );
                }
                return wait(self, false);
            }
            Place::PreBind => {
                if self.strikes(random, Fault::PreBindFailed) {
                    return self.told(key, BindOutcome::Rejected);
                }
                return self.work_before_binding(binding, id, random);
            }
            Place::Binding => {}
            // An event said how it ended, or the queue took it back.
            _ => return Ok(()),
        }
        if is_unclear {
            if random.one_in(4) && !self.calm {
                return wait(self, true);
            }
            return self.read_again(key, uid, node, random);
        }
        if !self.knows_node(node) && random.one_in(2) {
            // None is sent to a node that is known to be gone.
            return self.told(key, BindOutcome::Failed);
        }
        if self.strikes(random, Fault::BindRefused) {
            return self.told(
                key,
                random.choose(&[BindOutcome::Failed, BindOutcome::Rejected]),
            );
        }
        if self.may(Fault::DeletedMidBind) && random.one_in(8) {
            self.counts.count(Fault::DeletedMidBind);
            self.server.evict(key, uid, false);
        }
        if self.strikes(random, Fault::BindAnswerLost) {
            self.server.bind(key, uid, node);
            self.told(key, BindOutcome::Unknown)?;
            return wait(self, true);
        }
        if self.strikes(random, Fault::BindRequestLost) {
            self.told(key, BindOutcome::Unknown)?;
            return wait(self, true);
        }
        let outcome = if self.server.bind(key, uid, node) {
            BindOutcome::Bound
        } else {
            BindOutcome::Failed
        };
        self.told(key, outcome)
    }

    /// Reads a pod whose binding is unclear.
    fn read_again(&mut self, key: &Key, uid: &str, node: &str, random: &mut Random) -> Check {
        let pod = self.server.pod(key).filter(|pod| pod.metadata.uid == uid);
        match pod.map(|pod| pod.spec.node_name.as_str()) {
            Some("") => self.told(key, BindOutcome::Failed),
            Some(name) if name == node => self.told(key, BindOutcome::Bound),
            _ => {
                // Bound elsewhere, or gone: what was read is told.
                let id = pod_id(key);
                self.client.reread(&self.server, &id);
                self.tell(&id, random)
            }
        }
    }

    /// Tells the scheduler what became of a binding.
    pub(super) fn told(&mut self, key: &Key, outcome: BindOutcome) -> Check {
        let Some(id) = self.id(key) else {
            return Ok(());
        };
        let had_room = self.pods.get(key).is_some_and(|pod| pod.node.is_some());
        let done = self.engine.bound(id, outcome, self.now);
        self.say(|_| format!("  {key:?}: {outcome:?}"));
        ensure(done, "bound", || format!("{key:?} is not being bound"))?;
        match outcome {
            BindOutcome::Bound => {
                self.set_place(key, Place::Told);
                self.shadow.end_promises(key);
            }
            BindOutcome::Unknown => {}
            BindOutcome::Failed | BindOutcome::Rejected => {
                self.failed(key, PluginSet::EMPTY, self.now);
                if had_room {
                    self.hear(None);
                }
            }
        }
        Ok(())
    }

    pub(super) fn set_place(&mut self, key: &Key, place: Place) {
        if let Some(pod) = self.pods.get_mut(key) {
            pod.place = place;
            pod.heard = false;
            if place == Place::PreBind {
                pod.binding_since = self.now;
            }
        }
    }

    /// The next write of a preemption.
    fn write(&mut self, key: Key, uid: String, mut writes: VecDeque<Write>, random: &mut Random) {
        match writes.pop_front() {
            None => return,
            Some(Write::Nominate { key, uid, node }) => {
                if self.strikes(random, Fault::PatchLost) {
                    self.excuse_lost_patch(&key, &node);
                } else {
                    self.server.change_pod(&key, &uid, |pod| {
                        pod.status.nominated_node_name = node;
                    });
                }
            }
            Some(Write::Evict {
                key: victim,
                uid: victim_uid,
            }) => {
                let fails = random.one_in(3) && self.may(Fault::PreemptionFailed);
                if !fails || random.one_in(3) {
                    self.evict(&victim, &victim_uid);
                }
                if fails {
                    self.counts.count(Fault::PreemptionFailed);
                    self.preemption_failed(&key, &uid);
                    return;
                }
            }
        }
        if !writes.is_empty() {
            self.calls.push(Call::Preempt { key, uid, writes });
        }
    }

    fn evict(&mut self, key: &Key, uid: &str) {
        let graceful = self.setup.graceful;
        self.server.change_pod(key, uid, |pod| {
            let condition = PodCondition {
                type_: "DisruptionTarget".into(),
                status: "True".into(),
                reason: "PreemptionByScheduler".into(),
                ..PodCondition::default()
            };
            let conditions = &mut pod.status.conditions;
            conditions.retain(|own| own.type_ != condition.type_);
            conditions.push(condition);
        });
        self.server.evict(key, uid, graceful);
    }

    fn preemption_failed(&mut self, key: &Key, uid: &str) {
        if self.expected(key, uid).is_none() {
            return;
        }
        let Some(id) = self.id(key) else {
            return;
        };
        self.engine.preemption_failed(id);
        if let Some(pod) = self.pods.get_mut(key) {
            pod.held_for = None;
            note_activation(pod);
        }
    }

    /// Makes some pod active.
    pub(super) fn activate(&mut self, random: &mut Random) {
        let keys: Vec<&Key> = self.pods.keys().collect();
        let Some(key) = random.pick(&keys).map(|key| (*key).clone()) else {
            return;
        };
        let Some(id) = self.id(&key) else {
            return;
        };
        self.engine.activate(id);
        if let Some(pod) = self.pods.get_mut(&key) {
            note_activation(pod);
        }
    }
}

fn note_activation(pod: &mut crate::expected::Expected) {
    match pod.place {
        Place::Queued => pod.activated = true,
        Place::Permit { .. } => pod.heard = true,
        _ => {}
    }
}
