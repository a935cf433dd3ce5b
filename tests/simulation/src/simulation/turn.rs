//! One turn of the scheduler's loop, and what the caller does with its decision.

use super::Simulation;
use super::calls::{Binding, Call, Write};
use crate::check::{self, Before};
use crate::expected::{Expected, Place, SECOND};
use crate::fault::Fault;
use crate::random::Random;
use crate::server::Key;
use crate::violation::{Check, ensure};
use berth_core::id::{NodeId, PodId};
use berth_core::{
    AttemptError, Decision, Hooks, Nomination, Outcome, Permit, PluginSet, Reserve, Scheduler,
    VictimKind,
};
use std::collections::VecDeque;

/// Longest wait at Permit, as upstream's.
const PERMIT_LONGEST: u64 = 15 * 60 * SECOND;

/// Rules outside the core, and what they said.
pub(crate) struct Rules {
    random: Random,
    rate: u8,
    waits: u8,
    refuses_reserve: bool,
    refuses_permit: bool,
    may_veto: bool,
    reserve: Reserve,
    permit: Permit,
    has_work: bool,
    pub(crate) vetoed: bool,
    /// The node that the pod was assumed on.
    node: Option<NodeId>,
}

impl Hooks for Rules {
    fn reserve(&mut self, _: &Scheduler, _: PodId, node: NodeId) -> Reserve {
        self.node = Some(node);
        if self.refuses_reserve && self.random.percent(self.rate) {
            self.reserve = self.random.choose(&[Reserve::Rejected, Reserve::Failed]);
        }
        self.reserve
    }

    fn permit(&mut self, _: &Scheduler, _: PodId, _: NodeId) -> Permit {
        self.permit = if self.refuses_permit && self.random.percent(self.rate) {
            self.random.choose(&[Permit::Rejected, Permit::Failed])
        } else if self.random.percent(self.waits) {
            let times = [0, 500, 3000, 30_000, 1_200_000];
            Permit::Wait(self.random.choose(&times) * SECOND / 1000)
        } else {
            Permit::Allow
        };
        self.permit
    }

    fn has_pre_bind(&mut self, _: &Scheduler, _: PodId, _: NodeId) -> bool {
        self.has_work = self.random.one_in(3);
        self.has_work
    }

    fn allows_victims(&mut self, _: &Scheduler, _: PodId, _: NodeId, _: &[PodId]) -> bool {
        let allows = !(self.may_veto && self.random.percent(self.rate));
        self.vetoed |= !allows;
        allows
    }
}

impl Simulation {
    pub(super) fn turn(&mut self, random: &mut Random) -> Check {
        self.pass(0)?;
        let before = Before::of(self);
        let mut rules = Rules {
            random: Random::new(random.draw()),
            rate: self.setup.rate,
            waits: if self.calm { 0 } else { self.setup.waits },
            refuses_reserve: self.may(Fault::ReserveRefused),
            refuses_permit: self.may(Fault::PermitRefused),
            may_veto: self.may(Fault::Vetoed),
            reserve: Reserve::Done,
            permit: Permit::Allow,
            has_work: false,
            vetoed: false,
            node: None,
        };
        let Some(decision) = self.engine.schedule_one_with(self.now, &mut rules) else {
            return ensure(!self.engine.has_ready(), "pop", || {
                "a pod is ready and was not tried".into()
            });
        };
        self.fold_text(&format!("{decision:?}"));
        self.say(|own| format!("  {:?}: {decision:?}", own.key(decision.pod)));
        ensure(self.engine.has_pod(decision.pod), "I24", || {
            format!("{decision:?} of no pod")
        })?;
        let key = self.key(decision.pod);
        check::popped(self, &before, &key)?;
        let Some(pod) = self.pods.get_mut(&key) else {
            return ensure(false, "I24", || format!("{key:?} is not there"));
        };
        pod.attempts += 1;
        pod.activated = false;
        let (own, attempts) = (decision.attempt, pod.attempts);
        ensure(own == attempts, "attempts", || {
            format!("{key:?}: {own} attempts are counted, {attempts} were made")
        })?;
        self.looks.attempts += 1;
        let nowhere = check::judged(self, &key, &decision, &rules)?;
        self.follow(&key, &decision, &rules, nowhere)
    }

    /// What is to be expected after a decision, and the calls that follow it.
    fn follow(&mut self, key: &Key, decision: &Decision, rules: &Rules, nowhere: bool) -> Check {
        if matches!(rules.reserve, Reserve::Rejected | Reserve::Failed) {
            self.counts.count(Fault::ReserveRefused);
        }
        if matches!(rules.permit, Permit::Rejected | Permit::Failed) {
            self.counts.count(Fault::PermitRefused);
        }
        if rules.vetoed {
            self.counts.count(Fault::Vetoed);
        }
        let now = self.engine.now();
        // Taken back or not, the node has changed.
        if let (Some(node), Some(pod)) = (rules.node, self.told_pod(key).cloned()) {
            let node = self.engine.node(node).name.to_owned();
            check::taken(self, &pod, &node)?;
            self.take_place(&pod, &node);
        }
        match decision.outcome {
            Outcome::Scheduled(node) => return self.placed(key, decision, node, rules),
            Outcome::Error(AttemptError::Deleting | AttemptError::NoProfile)
            | Outcome::Gated
            | Outcome::Unsupported(_) => {
                self.set_place(key, Place::Dropped);
                return Ok(());
            }
            // Refused or failed, it waits, and its status says so.
            _ => {}
        }
        let nomination = match decision.nomination {
            Nomination::Keep => None,
            Nomination::Clear => Some(String::new()),
            Nomination::Node(node) => Some(self.engine.node(node).name.to_owned()),
        };
        self.failed(key, decision.rejectors, now);
        let Some(pod) = self.pods.get_mut(key) else {
            return Ok(());
        };
        pod.fits_nowhere = nowhere;
        pod.nomination = nomination
            .clone()
            .unwrap_or_else(|| pod.status_nomination.clone());
        let uid = pod.uid.clone();
        let mut writes = VecDeque::new();
        if let Some(node) = nomination {
            writes.push_back(Write::Nominate {
                key: key.clone(),
                uid: uid.clone(),
                node,
            });
        }
        self.make_room(key, &mut writes);
        self.calls.push(Call::Preempt {
            key: key.clone(),
            uid,
            writes,
        });
        Ok(())
    }

    /// What becomes of the victims of the last decision.
    fn make_room(&mut self, key: &Key, writes: &mut VecDeque<Write>) {
        let now = self.engine.now();
        let named = |own: &Self, pod: PodId| -> Option<(Key, String)> {
            let key = own.key(pod);
            let uid = own.pods.get(&key)?.uid.clone();
            Some((key, uid))
        };
        let displaced = self.engine.displaced().iter();
        let displaced: Vec<_> = displaced.filter_map(|pod| named(self, *pod)).collect();
        let victims = self.engine.victims().iter();
        let victims: Vec<_> = victims
            .filter_map(|victim| Some((named(self, victim.pod)?, victim.kind)))
            .collect();
        for (key, uid) in displaced {
            let node = String::new();
            writes.push_back(Write::Nominate { key, uid, node });
        }
        let mut last = None;
        for ((victim, uid), kind) in victims {
            match kind {
                VictimKind::Terminating => continue,
                VictimKind::Evict => writes.push_back(Write::Evict {
                    key: victim.clone(),
                    uid: uid.clone(),
                }),
                VictimKind::InMemory => {
                    self.failed(&victim, PluginSet::EMPTY, now);
                    self.hear(None);
                }
            }
            last = Some((victim, uid, kind));
        }
        if let Some(pod) = self.pods.get_mut(key) {
            pod.activated = matches!(last, Some((_, _, VictimKind::InMemory)));
            pod.held_for = last
                .filter(|(_, _, kind)| *kind == VictimKind::Evict)
                .map(|(victim, uid, _)| (victim, uid));
        }
    }

    fn placed(&mut self, key: &Key, decision: &Decision, node: NodeId, rules: &Rules) -> Check {
        let now = self.engine.now();
        self.looks.placed += 1;
        let node = self.engine.node(node).name.to_owned();
        let Some(object) = self.told_pod(key).cloned() else {
            return ensure(false, "I24", || format!("{key:?} is not there"));
        };
        let uid = object.metadata.uid.clone();
        let twice = self.calls.iter().any(|call| match call {
            Call::Bind(own) => own.key == *key && own.uid == uid && self.is_being_bound(key, &uid),
            Call::Preempt { .. } => false,
        });
        ensure(!twice, "I4", || format!("{key:?} is being bound already"))?;
        let promises = self.shadow.storage.promises.of(key).count();
        let has_work = rules.has_work || promises > 0;
        self.looks.promised += u64::from(promises > 0);
        let Some(pod) = self.pods.get_mut(key) else {
            return Ok(());
        };
        pod.nomination.clear();
        pod.heard = false;
        pod.node = Some(node.clone());
        pod.binding_since = now;
        pod.place = match (rules.permit, has_work) {
            (Permit::Wait(time), has_work) => Place::Permit {
                deadline: now + time.min(PERMIT_LONGEST),
                attempt: self.looks.attempts,
                has_work,
            },
            (_, true) => Place::PreBind,
            (_, false) => Place::Binding,
        };
        // A binding of an attempt that the queue took back is sent no more.
        self.calls.retain(|call| match call {
            Call::Bind(own) => own.key != *key,
            Call::Preempt { .. } => true,
        });
        self.calls.push(Call::Bind(Binding {
            key: key.clone(),
            uid: uid.clone(),
            node: node.clone(),
            is_unclear: false,
            writes: self.list_writes(decision.pod),
        }));
        if matches!(decision.nomination, Nomination::Node(_)) {
            self.calls.push(Call::Preempt {
                key: key.clone(),
                uid: uid.clone(),
                writes: [Write::Nominate {
                    key: key.clone(),
                    uid,
                    node,
                }]
                .into(),
            });
        }
        Ok(())
    }

    fn is_being_bound(&self, key: &Key, uid: &str) -> bool {
        self.expected(key, uid).is_some_and(Expected::is_assumed)
    }
}
