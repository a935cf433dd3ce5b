//! What is tried in a fork and rolled back leaves no trace, what is committed stays; and the same
//! history gives the same decisions, byte for byte.

#[path = "properties/lived.rs"]
mod lived;

use berth_core::{Capacities, FORKS_MAX, Options, Scheduler};
use berth_test_support::generate::{Case, case, cases};
use lived::Lived;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

fn tries(default: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases(default),
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/properties_fork.regressions",
        ))),
        ..ProptestConfig::default()
    }
}

/// What shows of a scheduler.
fn hashes(lived: &Lived) -> (u64, u64) {
    (lived.engine.state_hash(), lived.engine.loop_hash())
}

fn live(lived: &mut Lived, case: &Case, numbers: std::ops::Range<usize>) {
    for number in numbers {
        lived.live(number, &case.events[number]);
    }
}

proptest! {
    #![proptest_config(tries(100))]

    #[test]
    fn a_rollback_leaves_no_trace_and_a_commit_keeps_all(
        case in case(),
        cuts in prop::array::uniform3(0.0..=1.0_f64),
    ) {
        let end = case.events.len();
        let mut cuts = cuts.map(|cut| (cut * end as f64) as usize);
        cuts.sort_unstable();
        let [outer, inner, back] = cuts;

        let mut lived = Lived::new(&case);
        live(&mut lived, &case, 0..outer);
        let (at_outer, before) = (lived.clone(), hashes(&lived));
        prop_assert!(lived.engine.fork().is_ok());
        live(&mut lived, &case, outer..inner);
        let (at_inner, between) = (lived.clone(), hashes(&lived));
        prop_assert!(lived.engine.fork().is_ok());
        live(&mut lived, &case, inner..back);
        prop_assert_eq!(lived.engine.forks(), 2);

        // The inner fork is taken back, and lived again to the same end.
        let first = (lived.decided.clone(), hashes(&lived));
        prop_assert!(lived.engine.rollback());
        lived = at_inner.with(lived.engine);
        lived.check()?;
        prop_assert_eq!(hashes(&lived), between);
        live(&mut lived, &case, inner..back);
        prop_assert_eq!((&lived.decided, hashes(&lived)), (&first.0, first.1));

        // Then the outer one.
        prop_assert!(lived.engine.rollback());
        prop_assert!(!lived.engine.rollback());
        lived = at_outer.with(lived.engine);
        prop_assert_eq!(hashes(&lived), before);
        prop_assert!(lived.engine.fork().is_ok());
        live(&mut lived, &case, outer..back);
        prop_assert!(lived.engine.commit());
        prop_assert!(!lived.engine.commit());
        prop_assert_eq!((&lived.decided, hashes(&lived)), (&first.0, first.1));

        // Without any fork it is the same.
        live(&mut lived, &case, back..end);
        let mut plain = Lived::new(&case);
        live(&mut plain, &case, 0..end);
        prop_assert_eq!(&plain.decided, &lived.decided);
        prop_assert_eq!(hashes(&plain), hashes(&lived));
    }
}

#[test]
fn too_many_forks_are_refused_and_none_cannot_end() {
    let config = berth_core::object::config::KubeSchedulerConfiguration::default();
    let capacities = Capacities::for_size(1, 1);
    let mut scheduler =
        Scheduler::new(&config, Options::default(), capacities).expect("a scheduler");
    assert!(!scheduler.rollback());
    assert!(!scheduler.commit());
    for _ in 0..FORKS_MAX {
        scheduler.fork().expect("a fork");
    }
    let full = scheduler.fork().expect_err("one too many");
    assert_eq!(full.to_string(), "capacity `forks` of 64 is used up");
    assert_eq!(scheduler.clone().forks(), 0);
    for _ in 0..FORKS_MAX {
        assert!(scheduler.rollback());
    }
    assert!(!scheduler.rollback());
}
