//! A checker that cannot fail is worth nothing: each planted bug is found by the simulation.
//!
//! `BERTH_SIMULATION_SEED` is the first seed (1 if absent), `BERTH_SIMULATION_BUGS` the bugs to plant
//! (names; all if absent). Needs the feature `planted-bugs`.

use berth_core::{Bug, plant};
use berth_simulation::run::run;
use std::time::Instant;

/// Seeds within which each bug must be found; all but one are within 160.
const SEEDS: u64 = 1200;
const STEPS: usize = 2000;
/// Seeds that must pass without a bug.
const SOUND: u64 = 10;

#[test]
fn every_planted_bug_is_found() {
    let first = std::env::var("BERTH_SIMULATION_SEED").map_or(1, |text| {
        text.parse().expect("BERTH_SIMULATION_SEED is a number")
    });
    // Bugs may break what debug assertions hold; that is found, too, and need not be shown.
    std::panic::set_hook(Box::new(|_| {}));
    plant(None);
    for seed in first..first + SOUND {
        let failure = run(seed, STEPS).failure;
        if failure.is_some() {
            let _ = std::panic::take_hook();
            panic!("without a bug seed {seed} fails: {failure:?}");
        }
    }
    let mut missed = Vec::new();
    let names = std::env::var("BERTH_SIMULATION_BUGS");
    for bug in Bug::ALL {
        let is_wanted = |names: &String| names.split(',').any(|own| own == format!("{bug:?}"));
        if !names.as_ref().map_or(true, is_wanted) {
            continue;
        }
        plant(Some(bug));
        let start = Instant::now();
        let mut seeds = first..first + SEEDS;
        let found = seeds.find_map(|seed| Some((seed, run(seed, STEPS).failure?)));
        let seconds = start.elapsed().as_secs_f64();
        let name = format!("{bug:?}");
        match found {
            Some((seed, failure)) => {
                let step = failure
                    .step
                    .map_or("the end".into(), |step| step.to_string());
                let nth = seed - first + 1;
                let what = failure.violation.what;
                println!(
                    "{name:<18} by {what:<10} in seed {nth:>3} at step {step:<8} {seconds:.1} s"
                );
            }
            None => missed.push(bug),
        }
    }
    plant(None);
    let _ = std::panic::take_hook();
    assert!(missed.is_empty(), "not found in {SEEDS} seeds: {missed:?}");
}
