//! Times without faults: everything is delivered and answered, and what was promised for then holds.

use super::Simulation;
use super::calls::Call;
use crate::check;
use crate::expected::{Place, SECOND};
use crate::random::Random;
use crate::violation::{Check, ensure};
use berth_core::VolumesBound;
use std::collections::VecDeque;

/// Turns in one simulated second at most.
const TURNS: usize = 200;
/// Rounds in which all calls and events must be through.
const ROUNDS: usize = 100;

impl Simulation {
    /// The faults stop for a moment: the scheduler hears everything, and all calls are answered.
    pub(super) fn rest(&mut self, random: &mut Random) -> Check {
        let was_calm = std::mem::replace(&mut self.calm, true);
        self.settle(random)?;
        check::whole(self)?;
        check::parked(self)?;
        self.calm = was_calm;
        Ok(())
    }

    /// Answers and delivers until nothing is left.
    fn settle(&mut self, random: &mut Random) -> Check {
        self.deliver_all(random)?;
        self.relist_all(random)?;
        self.drain(random)?;
        // Room that was wanting may be there now, and what is told then may be what a call waits for.
        for _ in 0..3 {
            self.retry(random)?;
            self.drain(random)?;
        }
        ensure(self.only_volumes_wait(), "calls", || {
            format!("{:?} have no end", self.calls)
        })
    }

    /// Answers and delivers as long as something moves.
    fn drain(&mut self, random: &mut Random) -> Check {
        for _ in 0..ROUNDS {
            while let Some((key, uid, node)) = self.strays.pop() {
                self.server.bind(&key, &uid, &node);
            }
            let before = self.server.version;
            self.control_all(random);
            let is_still = self.server.version == before;
            if is_still && self.only_volumes_wait() && self.is_told() {
                break;
            }
            for _ in 0..self.calls.len() {
                self.answer(random)?;
            }
            self.deliver_all(random)?;
        }
        Ok(())
    }

    /// The end of a simulation: 120 s without faults, then a look at who still waits; then the time
    /// after which every pod is tried again, and a last look.
    ///
    /// # Errors
    /// What does not hold.
    pub fn end(&mut self, seed: u64) -> Check {
        let mut random = Random::part(seed, u64::MAX);
        self.calm = true;
        self.rest(&mut random)?;
        for _ in 0..120 {
            self.second(SECOND, &mut random)?;
        }
        check::parked(self)?;
        for _ in 0..45 {
            self.second(10 * SECOND, &mut random)?;
        }
        check::whole(self)?;
        check::lost(self)?;
        check::promises(self)?;
        check::rebuilt(self)
    }

    fn second(&mut self, time: u64, random: &mut Random) -> Check {
        self.pass(time)?;
        for _ in 0..TURNS {
            if !self.engine.has_ready() {
                break;
            }
            self.turn(random)?;
        }
        self.settle_quickly(random)?;
        self.let_go();
        self.deliver_all(random)?;
        check::places(self)?;
        check::sums(self)
    }

    fn settle_quickly(&mut self, random: &mut Random) -> Check {
        for _ in 0..ROUNDS {
            self.control_all(random);
            if self.only_volumes_wait() && self.is_told() {
                break;
            }
            for _ in 0..self.calls.len() {
                self.answer(random)?;
            }
            self.deliver_all(random)?;
        }
        self.retry(random)
    }

    /// Whether nothing is on its way but pods whose volumes nobody will bind; their time will be over.
    fn only_volumes_wait(&self) -> bool {
        self.calls.iter().all(|call| match call {
            Call::Bind(own) => {
                let Some(pod) = self.expected(&own.key, &own.uid) else {
                    // It went meanwhile: nothing will come of the call.
                    return true;
                };
                pod.place == Place::PreBind
                    && own.writes.is_empty()
                    && check::volumes_bound(self, &own.key) == VolumesBound::NotYet
            }
            Call::Preempt { .. } => false,
        })
    }

    fn is_told(&self) -> bool {
        self.server.streams.values().all(VecDeque::is_empty)
    }

    /// Pods that are being deleted are gone at last.
    fn let_go(&mut self) {
        let going = self.server.pods();
        let going = going.filter(|pod| pod.metadata.deletion_timestamp.is_some());
        let ids: Vec<_> = going
            .map(|pod| crate::server::pod_id(&crate::expected::key_of(pod)))
            .collect();
        for id in ids {
            self.server.delete(&id);
        }
    }

    /// Whether no pod takes room that nobody has confirmed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.pods
            .values()
            .all(|pod| !pod.is_assumed() || pod.place == Place::Bound)
    }
}
