//! The script of a seed: what happens at each step. A step's draw depends on the seed and its number
//! alone, so a script stays what it is when steps are left out.

use crate::random::Random;
use crate::setup::Setup;

/// Kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// One turn of the loop.
    Turn,
    /// Some events reach the scheduler.
    Deliver,
    /// One call to the server is answered, or one wait at Permit.
    Answer,
    CreatePod,
    DeletePod,
    UpdatePod,
    /// A pod is deleted and made anew under its name.
    RecreatePod,
    CreateNode,
    UpdateNode,
    DeleteNode,
    /// A node that went comes back, smaller.
    ReturnNode,
    /// Another scheduler binds a pod.
    ForeignBind,
    /// A bound pod finishes, is refused by its node, or is gone at last.
    Kubelet,
    /// A namespace, Service, owner or budget comes, changes or goes.
    Other,
    /// A class, volume, claim, or what a driver says comes, changes or goes.
    Storage,
    /// A controller of volumes acts.
    Control,
    /// Time passes.
    Advance,
    /// A kind is listed anew.
    Relist,
    Restart,
    /// The scheduler is saved and loaded.
    Save,
    /// Many changes at once.
    Burst,
    /// A pod is made active.
    Activate,
    /// Questions and things done and undone, which change nothing.
    Ask,
    /// What was refused for want of room is told again.
    Retry,
    /// Everything is delivered and answered, as before the faults.
    Calm,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its number in the whole script.
    pub number: usize,
    pub verb: Verb,
    /// Seed of all that is drawn in it.
    pub roll: u64,
}

/// Weights, each with the mood of the setup that multiplies it, if any.
const WEIGHTS: [(Verb, usize, Option<usize>); 25] = [
    (Verb::Turn, 240, None),
    (Verb::Deliver, 220, None),
    (Verb::Answer, 150, None),
    (Verb::CreatePod, 110, Some(0)),
    (Verb::DeletePod, 40, Some(1)),
    (Verb::UpdatePod, 25, None),
    (Verb::RecreatePod, 12, None),
    (Verb::CreateNode, 30, None),
    (Verb::UpdateNode, 20, Some(2)),
    (Verb::DeleteNode, 8, Some(2)),
    (Verb::ReturnNode, 10, Some(2)),
    (Verb::ForeignBind, 12, None),
    (Verb::Kubelet, 110, Some(1)),
    (Verb::Other, 20, None),
    (Verb::Storage, 70, None),
    (Verb::Control, 120, None),
    (Verb::Advance, 40, Some(3)),
    (Verb::Relist, 8, None),
    (Verb::Restart, 2, None),
    (Verb::Save, 6, None),
    (Verb::Burst, 3, None),
    (Verb::Activate, 5, None),
    (Verb::Ask, 6, None),
    (Verb::Retry, 10, None),
    (Verb::Calm, 12, None),
];

/// The first `steps` steps of a seed.
pub fn script(setup: &Setup, steps: usize) -> Vec<Action> {
    let weights = WEIGHTS.map(|(verb, weight, mood)| {
        let of_storage = matches!(verb, Verb::Storage | Verb::Control);
        let times = match mood {
            _ if of_storage && setup.storage.is_none() => 0,
            Some(mood) => setup.moods[mood],
            None => 1,
        };
        (verb, weight * times)
    });
    let total = weights.iter().map(|(_, weight)| weight).sum();
    let action = |number: usize| {
        let mut random = Random::part(setup.seed, number as u64 + 1);
        let mut left = random.below(total);
        let mut verbs = weights.iter();
        let found = verbs.find(|(_, weight)| {
            let is_it = left < *weight;
            left = left.wrapping_sub(*weight);
            is_it
        });
        let mut verb = found.map_or(Verb::Turn, |(verb, _)| *verb);
        // A cluster first.
        if number < 2 * setup.most.0 {
            let first = [Verb::CreateNode, Verb::Deliver];
            verb = first[number % 2];
        }
        Action {
            number,
            verb,
            roll: random.draw(),
        }
    };
    (0..steps).map(action).collect()
}
