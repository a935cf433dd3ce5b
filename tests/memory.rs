//! A scheduler takes the memory that its capacities state when it is made, and none afterwards.
//!
//! One test alone in its process: the allocator counts for all threads.

use berth_core::object::Object;
use berth_core::{Capacities, Change, Options, Outcome, Scheduler};
use berth_test_support::generate::profile::{ProfileRecipe, configuration};
use berth_test_support::generate::world::{Step, World};
use berth_test_support::generate::{Case, case, large_case};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Changes, decisions and removals that are counted.
const STEPS: u64 = 100_000;

#[test]
fn memory_is_stated_before_it_is_taken_and_taken_once() {
    for capacities in [
        Capacities::for_size(1, 1),
        Capacities::for_size(63, 500),
        Capacities::default(),
        Capacities::for_size(5_000, 50_000),
    ] {
        the_memory_taken_is_the_memory_stated(capacities);
    }

    a_row_that_changes_hands_without_a_decision_stays_listed_once();

    let mut runner = TestRunner::deterministic();
    let mut counted = Counted::default();
    while counted.steps < STEPS {
        let tree = if counted.cases % 20 == 0 {
            large_case().boxed().new_tree(&mut runner)
        } else {
            case().boxed().new_tree(&mut runner)
        };
        nothing_is_allocated_by(&tree.expect("a case").current(), &mut counted);
    }
    println!("{counted:?}");
    assert!(counted.decided > STEPS / 20, "{counted:?}");
    assert!(counted.removed > STEPS / 100, "{counted:?}");
}

/// The configuration is aside: names and shapes of a profile, far below the allowance.
fn the_memory_taken_is_the_memory_stated(capacities: Capacities) {
    let config = configuration(&[ProfileRecipe::default()]);
    let region = Region::new(ALLOCATOR);
    let scheduler = Scheduler::new(&config, Options::default(), capacities);
    let change = region.change();
    let scheduler = scheduler.unwrap_or_else(|error| panic!("{error}"));
    let taken = (change.bytes_allocated - change.bytes_deallocated) as u64;
    let stated = scheduler.capacities().bytes();
    let allowance = stated / 100 + 4096;
    assert!(
        taken.abs_diff(stated) <= allowance,
        "{stated} bytes stated, {taken} taken by {capacities:?}"
    );
    let mut scheduler = scheduler;
    let region = Region::new(ALLOCATOR);
    scheduler.fork().expect("a fork");
    let change = region.change();
    let taken = (change.bytes_allocated - change.bytes_deallocated) as u64;
    assert!(
        taken.abs_diff(stated) <= allowance,
        "{stated} bytes stated, {taken} taken by a fork of {capacities:?}"
    );
    assert!(scheduler.rollback());
    let change = region.change();
    let kept = change.bytes_allocated.abs_diff(change.bytes_deallocated);
    assert!(kept as u64 <= allowance, "{kept} bytes kept by a rollback");
}

/// Rows whose image counts are to be copied are kept in a list until the next decision.
fn a_row_that_changes_hands_without_a_decision_stays_listed_once() {
    let config = configuration(&[ProfileRecipe::default()]);
    let scheduler = Scheduler::new(&config, Options::default(), Capacities::for_size(1, 1));
    let mut scheduler = scheduler.unwrap_or_else(|error| panic!("{error}"));
    let image = json!({"names": ["registry.example/app:1"], "sizeBytes": 1});
    for number in 0..200 {
        let name = format!("n{number}");
        let node = json!({"metadata": {"name": name}, "status": {"images": [image]}});
        let node = serde_json::from_value(node).expect("a node");
        let object = Object::Node(Box::new(node));
        let region = Region::new(ALLOCATOR);
        for change in [Change::Added, Change::Deleted] {
            let applied = scheduler.apply(change, &object);
            assert!(applied.is_ok(), "{applied:?}");
        }
        let change = region.change();
        assert_eq!(
            (change.allocations, change.reallocations),
            (0, 0),
            "n{number}"
        );
    }
}

#[derive(Debug, Default)]
struct Counted {
    cases: u64,
    steps: u64,
    decided: u64,
    removed: u64,
}

/// Plays a history; its objects are decoded before each step.
fn nothing_is_allocated_by(case: &Case, counted: &mut Counted) {
    let config = configuration(&case.profiles);
    let capacities = Capacities::for_size(320, 256);
    let scheduler = Scheduler::new(&config, Options::default(), capacities);
    let mut scheduler = scheduler.unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(case);
    counted.cases += 1;
    for (number, event) in case.events.iter().enumerate() {
        // From here on it is a copy.
        if number == case.events.len() / 2 {
            scheduler.fork().expect("a fork");
            assert!(scheduler.rollback());
        }
        for step in world.steps(event) {
            let pod = |key: &(String, String)| scheduler.find_pod(&key.0, &key.1);
            let mut placed = None;
            let region = Region::new(ALLOCATOR);
            match &step {
                Step::Apply(change, object) => {
                    let applied = scheduler.apply(*change, object);
                    assert!(applied.is_ok(), "{applied:?}");
                    counted.removed += u64::from(*change == Change::Deleted);
                }
                Step::Schedule(key) => {
                    let id = pod(key).expect("the pod");
                    let decision = scheduler.schedule(id);
                    counted.decided += 1;
                    if let Outcome::Scheduled(node) = decision.outcome {
                        placed = Some((key, node));
                    }
                }
                Step::Ask(key) => {
                    let id = pod(key).expect("the pod");
                    scheduler.evaluate(id);
                    counted.decided += 1;
                }
                Step::Forget(key) => {
                    let id = pod(key).expect("the pod");
                    scheduler.forget(id);
                }
            }
            let change = region.change();
            let all = (
                change.allocations,
                change.reallocations,
                change.deallocations,
            );
            assert_eq!(all, (0, 0, 0), "by {}", told(&step));
            counted.steps += 1;
            if let Some((key, node)) = placed {
                world.assume(key, scheduler.node(node).name);
            }
        }
    }
}

fn told(step: &Step) -> String {
    match step {
        Step::Apply(change, object) => {
            let kind = match **object {
                Object::Node(_) => "node",
                Object::Pod(_) => "pod",
                _ => "other object",
            };
            format!("{change:?} of a {kind}: {object:?}")
        }
        other => format!("{other:?}"),
    }
}
