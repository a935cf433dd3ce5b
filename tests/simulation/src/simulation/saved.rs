//! Saved and loaded at any step: the same state, and the same future (I26).

use super::Simulation;
use crate::expected::SECOND;
use crate::violation::{Check, Violation, ensure};
use berth_core::Scheduler;

/// Turns that both take at once. From then on the loaded one goes on alone, under all checkers.
const TURNS: u64 = 4;

impl Simulation {
    /// The scheduler is saved; one that is made from the bytes takes its place.
    pub(super) fn save(&mut self) -> Check {
        if !self.saves {
            return Ok(());
        }
        let bytes = self.engine.save_state();
        let setup = &self.setup;
        let loaded =
            Scheduler::restore_state(&setup.config, setup.options, setup.capacities, &bytes);
        let loaded = loaded.map_err(|error| Violation {
            what: "I26",
            found: error.to_string(),
        })?;
        ensure(loaded.save_state() == bytes, "I26", || {
            "saved again it is another file".into()
        })?;
        let (mut before, mut after) = (self.engine.clone(), loaded.clone());
        let hashes = |own: &Scheduler| (own.state_hash(), own.loop_hash());
        for turn in 0..=TURNS {
            ensure(hashes(&before) == hashes(&after), "I26", || {
                format!("after {turn} turns the loaded one is another")
            })?;
            let now = self.now + turn * SECOND;
            let (own, other) = (before.schedule_one(now), after.schedule_one(now));
            // Victims are those of the last attempt, which is not saved.
            let same = own == other && (own.is_none() || before.victims() == after.victims());
            ensure(same, "I26", || {
                format!("in turn {turn} {own:?}, but {other:?} once loaded")
            })?;
        }
        for key in self.pods.keys() {
            let of = |own: &Scheduler| {
                let pod = own.find_pod(&key.0, &key.1)?;
                let actions: Vec<_> = own
                    .volume_actions(pod)
                    .map(|own| format!("{own:?}"))
                    .collect();
                Some((own.volumes_bound(pod, self.now), actions))
            };
            let (own, other) = (of(&self.engine), of(&loaded));
            ensure(own == other, "I26", || {
                format!("the volumes of {key:?}: {own:?}, but {other:?} once loaded")
            })?;
        }
        self.looks.saved += 1;
        self.engine = loaded;
        Ok(())
    }
}
