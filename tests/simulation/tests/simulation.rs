//! Seeds of the simulation, and how to play one again.
//!
//! - `BERTH_SIMULATION_SEEDS`, `BERTH_SIMULATION_STEPS`: how many and how long; 4 seeds of 600
//!   steps if absent.
//! - `BERTH_SIMULATION_SEED`: the first seed (drawn if absent, and printed); with
//!   `BERTH_SIMULATION_KEEP` (numbers and ranges of steps) and `BERTH_SIMULATION_FAULTS` (names)
//!   one seed is played with these alone.
//! - `BERTH_SIMULATION_LEAST`: how often each kind of fault must have happened.

use berth_simulation::Looks;
use berth_simulation::action::script;
use berth_simulation::fault::{Counts, Fault, Faults};
use berth_simulation::run::{Failure, Outcome, play_aloud, play_unsaved, run};
use berth_simulation::setup::Setup;
use berth_simulation::shrink::{read_steps, shrink};
use std::fmt::Write;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Failing seeds after which no more are tried.
const FAILURES_MAX: usize = 3;
/// Runs in which a failing script is made smaller.
const TRIES: usize = 400;

fn number(name: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(name) else {
        return default;
    };
    text.parse()
        .unwrap_or_else(|error| panic!("{name}={text}: {error}"))
}

fn first_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |time| time.as_nanos() as u64);
    // Short enough to be typed again.
    number("BERTH_SIMULATION_SEED", nanos / 1000 % 100_000_000 * 10_000)
}

/// What is said of a failing seed: the violation, the least script, and how to play it again.
fn report(seed: u64, steps: usize, failure: Failure) -> String {
    let setup = Rc::new(Setup::of(seed));
    let mut text = String::new();
    writeln!(
        text,
        "seed {seed} failed at step {:?} of {steps}: {:?}",
        failure.step, failure.violation
    )
    .expect("write to text");
    let small = shrink(&setup, &script(&setup, steps), failure, TRIES);
    writeln!(
        text,
        "the least of it, {} steps: {:?}\n{:?}",
        small.actions.len(),
        small.failure,
        small.actions.iter().map(|own| own.verb).collect::<Vec<_>>(),
    )
    .expect("write to text");
    writeln!(
        text,
        "to play it again:\nBERTH_SIMULATION_SEED={seed} BERTH_SIMULATION_STEPS={steps} \
         BERTH_SIMULATION_KEEP={} BERTH_SIMULATION_FAULTS={} \
         cargo test --profile simulation -p berth-simulation --test simulation -- --nocapture",
        small.steps(),
        small.fault_names(),
    )
    .expect("write to text");
    text
}

/// One seed with some of its steps and faults.
fn play_again(seed: u64, steps: usize, kept: &str) -> Outcome {
    let setup = Rc::new(Setup::of(seed));
    let kept = read_steps(kept).unwrap_or_else(|error| panic!("BERTH_SIMULATION_KEEP: {error}"));
    let mut actions = script(&setup, steps);
    actions.retain(|action| kept.contains(&action.number));
    let faults =
        match std::env::var("BERTH_SIMULATION_FAULTS") {
            Err(_) => setup.faults,
            Ok(names) => names.split(',').filter(|name| !name.is_empty()).fold(
                Faults::NONE,
                |faults, name| {
                    let fault = Fault::named(name);
                    faults.with(fault.unwrap_or_else(|| panic!("{name} is no fault")))
                },
            ),
        };
    println!("{setup:#?}");
    play_aloud(&setup, &actions, faults)
}

#[test]
fn no_seed_breaks_the_scheduler() {
    let seeds = number("BERTH_SIMULATION_SEEDS", 4);
    let steps = number("BERTH_SIMULATION_STEPS", 600) as usize;
    let first = first_seed();
    if let Ok(kept) = std::env::var("BERTH_SIMULATION_KEEP") {
        let outcome = play_again(first, steps, &kept);
        assert_eq!(outcome.failure, None, "seed {first}");
        return;
    }
    println!("simulation: {seeds} seeds of {steps} steps, from seed {first} on");
    let start = Instant::now();
    let mut counts = Counts::default();
    let mut looks = Looks::default();
    let mut failed = Vec::new();
    for seed in first..first + seeds {
        let outcome = run(seed, steps);
        counts.add(&outcome.counts);
        looks.add(&outcome.looks);
        if let Some(failure) = outcome.failure {
            println!("{}", report(seed, steps, failure));
            failed.push(seed);
        }
        if failed.len() == FAILURES_MAX {
            break;
        }
    }
    assert!(failed.is_empty(), "seeds {failed:?}, as told above");
    let seconds = start.elapsed().as_secs_f64();
    let each = seconds * 1e6 / (seeds as f64 * steps as f64);
    println!(
        "simulation: 0 violations in {seconds:.1} s, {each:.0} microseconds a step;\n{looks:#?}\n\
         faults:\n{}",
        counts.table()
    );
    let missed = counts.below(number("BERTH_SIMULATION_LEAST", 0));
    assert!(missed.is_empty(), "too rare: {missed:?}");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let first = first_seed();
    let seeds = number("BERTH_SIMULATION_SEEDS", 2).min(100);
    for seed in first..first + seeds {
        assert_eq!(run(seed, 500), run(seed, 500), "seed {seed}");
    }
    println!("simulation: {seeds} of {seeds} seeds gave the same trace again");
}

#[test]
fn no_seed_notices_that_its_scheduler_was_saved_and_loaded() {
    let first = first_seed();
    let seeds = number("BERTH_SIMULATION_SEEDS", 2).min(100);
    for seed in first..first + seeds {
        let setup = Rc::new(Setup::of(seed));
        let whole = play_unsaved(&setup, &script(&setup, 1000), setup.faults);
        let saved = run(seed, 1000);
        assert_eq!(
            (saved.trace, saved.failure),
            (whole.trace, whole.failure),
            "seed {seed}"
        );
    }
}
