//! Whole histories of random clusters: which recipes there are, and what happens to them.

use super::choices::Choices;
use super::side_by_side::{Mode, SideBySide};
use berth_test_support::generate::event::{Event, change_of_others};
use berth_test_support::generate::profile::{ProfileRecipe, profile};
use berth_test_support::generate::{Case, node, pod};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Events that are played at most; later ones find little that the first did not.
const EVENTS_MAX: usize = 64;

/// Plays a case in one mode, the engine beside its twin.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::of(bytes);
    let mode = choices.one_of(&Mode::ALL);
    let profiles = choices.list(2, |own| drawn(own, profile()));
    let mut case = Case {
        profiles: if profiles.is_empty() {
            vec![ProfileRecipe::default()]
        } else {
            profiles
        },
        nodes: list(&mut choices, 5, |own| drawn(own, node::node())),
        pods: list(&mut choices, 5, |own| drawn(own, pod::pod())),
        events: list(&mut choices, 3, |own| Event::AddNodes {
            recipe: own.byte(),
            count: own.byte() % 4 + 1,
        }),
    };
    while !choices.is_empty() && case.events.len() < EVENTS_MAX {
        case.events.push(event(&mut choices));
    }
    if let Err(difference) = SideBySide::play(&case, mode) {
        panic!("{case:?}\n{difference}");
    }
}

/// One and up to `more` others.
fn list<T>(
    choices: &mut Choices<'_>,
    more: usize,
    mut of: impl FnMut(&mut Choices<'_>) -> T,
) -> Vec<T> {
    let count = choices.below(more + 1) + 1;
    (0..count).map(|_| of(choices)).collect()
}

/// One of 65,536 values of a strategy.
fn drawn<S: Strategy>(choices: &mut Choices<'_>, strategy: S) -> S::Value {
    let mut seed = [0; 32];
    seed[0] = choices.byte();
    seed[1] = choices.byte();
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let tree = strategy.new_tree(&mut runner);
    tree.expect("the recipes reject nothing for long").current()
}

fn event(choices: &mut Choices<'_>) -> Event {
    let kind = choices.below(24);
    if kind >= 20 {
        return drawn(choices, change_of_others());
    }
    let (pick, other) = (choices.byte(), choices.byte());
    let recipe = other;
    match kind {
        0..6 => Event::AddPod {
            recipe,
            decide: pick > 50,
        },
        6 | 7 => Event::AddBound { recipe, node: pick },
        8 | 9 => Event::Retry { pick },
        10 => Event::Ask { pick },
        11 => Event::Bind { pick, node: other },
        12 => Event::UpdatePod { pick, recipe },
        13 => Event::FinishPod { pick },
        14 => Event::RemovePod { pick },
        15 => Event::Forget { pick },
        16 => Event::UpdateNode { pick, recipe },
        17 => Event::RemoveNode { pick },
        18 => Event::ReturnNode { pick, recipe },
        _ => Event::AddNodes {
            recipe,
            count: pick % 4 + 1,
        },
    }
}
