//! What is tried in a fork and rolled back leaves no trace, what is committed stays; and the same
//! history gives the same decisions, byte for byte.

#[path = "properties/lived.rs"]
mod lived;

use berth_core::{Capacities, FORKS_MAX, Options, Scheduler};
use berth_test_support::generate::{case, tries};
use lived::Lived;
use proptest::prelude::*;

proptest! {
    #![proptest_config(tries(100, "properties_fork"))]

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
        lived.live_through(&case, 0..outer);
        let (at_outer, before) = (lived.clone(), lived.hashes());
        prop_assert!(lived.engine.fork().is_ok());
        lived.live_through(&case, outer..inner);
        let (at_inner, between) = (lived.clone(), lived.hashes());
        prop_assert!(lived.engine.fork().is_ok());
        lived.live_through(&case, inner..back);
        prop_assert_eq!(lived.engine.forks(), 2);

        // The inner fork is taken back, and lived again to the same end.
        let first = (lived.decided.clone(), lived.hashes());
        prop_assert!(lived.engine.rollback());
        lived = at_inner.with(lived.engine);
        lived.check()?;
        prop_assert_eq!(lived.hashes(), between);
        lived.live_through(&case, inner..back);
        prop_assert_eq!((&lived.decided, lived.hashes()), (&first.0, first.1));

        // Then the outer one.
        prop_assert!(lived.engine.rollback());
        prop_assert!(!lived.engine.rollback());
        lived = at_outer.with(lived.engine);
        prop_assert_eq!(lived.hashes(), before);
        prop_assert!(lived.engine.fork().is_ok());
        lived.live_through(&case, outer..back);
        prop_assert!(lived.engine.commit());
        prop_assert!(!lived.engine.commit());
        prop_assert_eq!((&lived.decided, lived.hashes()), (&first.0, first.1));

        // Without any fork it is the same.
        lived.live_through(&case, back..end);
        let mut plain = Lived::new(&case);
        plain.live_through(&case, 0..end);
        prop_assert_eq!(&plain.decided, &lived.decided);
        prop_assert_eq!(plain.hashes(), lived.hashes());
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
