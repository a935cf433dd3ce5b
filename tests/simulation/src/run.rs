//! One seed from its first step to its last check.

use crate::action::{Action, script};
use crate::fault::{Counts, Faults};
use crate::setup::Setup;
use crate::simulation::{Looks, Simulation};
use crate::violation::Violation;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// What does not hold, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Number of the step; `None`: after the last one, in the time without faults.
    pub step: Option<usize>,
    pub violation: Violation,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub failure: Option<Failure>,
    pub counts: Counts,
    pub looks: Looks,
    /// Hash of all that was decided.
    pub trace: u64,
}

/// Plays a script. A panic is a violation too.
pub fn play(setup: &Rc<Setup>, actions: &[Action], faults: Faults) -> Outcome {
    play_in(Simulation::new(setup, faults), actions)
}

/// The same, with one scheduler from the first step to the last.
pub fn play_unsaved(setup: &Rc<Setup>, actions: &[Action], faults: Faults) -> Outcome {
    let mut simulation = Simulation::new(setup, faults);
    simulation.saves = false;
    play_in(simulation, actions)
}

/// The same, printing all that happens.
pub fn play_aloud(setup: &Rc<Setup>, actions: &[Action], faults: Faults) -> Outcome {
    let mut simulation = Simulation::new(setup, faults);
    simulation.aloud = true;
    play_in(simulation, actions)
}

fn play_in(mut simulation: Simulation, actions: &[Action]) -> Outcome {
    let seed = simulation.setup.seed;
    let at = Cell::new(None);
    let played = catch_unwind(AssertUnwindSafe(|| {
        for action in actions {
            at.set(Some(action.number));
            simulation.step(*action)?;
        }
        at.set(None);
        simulation.end(seed)
    }));
    let result = played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Violation {
            what: "panic",
            found: text.unwrap_or_default(),
        })
    });
    Outcome {
        failure: result.err().map(|violation| Failure {
            step: at.get(),
            violation,
        }),
        counts: simulation.counts,
        looks: simulation.looks,
        trace: simulation.trace,
    }
}

/// Plays a whole seed.
pub fn run(seed: u64, steps: usize) -> Outcome {
    let setup = Rc::new(Setup::of(seed));
    play(&setup, &script(&setup, steps), setup.faults)
}
