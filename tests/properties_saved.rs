//! A scheduler that was saved and made again decides as the one that lived on.

#[path = "properties/lived.rs"]
mod lived;

use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::{Capacities, Options, Scheduler};
use berth_test_support::generate::profile::configuration;
use berth_test_support::generate::{case, tries};
use lived::Lived;
use proptest::prelude::*;

fn restore(
    config: &KubeSchedulerConfiguration,
    capacities: Capacities,
    bytes: &[u8],
) -> Result<Scheduler, TestCaseError> {
    Scheduler::restore_state(config, Options::default(), capacities, bytes)
        .map_err(|error| TestCaseError::fail(error.to_string()))
}

proptest! {
    #![proptest_config(tries(100, "properties_saved"))]

    #[test]
    fn a_restored_scheduler_decides_as_the_one_that_was_saved(
        case in case(),
        cut in 0.0..=1.0_f64,
    ) {
        let end = case.events.len();
        let cut = (cut * end as f64) as usize;
        let mut lived = Lived::new(&case);
        lived.live_through(&case, 0..cut);
        let bytes = lived.engine.save_state();

        let config = configuration(&case.profiles);
        let same = *lived.engine.capacities();
        for capacities in [same, Capacities::for_size(500, 2000)] {
            let engine = restore(&config, capacities, &bytes)?;
            prop_assert!(engine.save_state() == bytes, "saved again it is another file");
            let mut again = lived.clone().with(engine);
            prop_assert_eq!(again.hashes(), lived.hashes());
            again.check()?;
            let mut on = lived.clone();
            on.live_through(&case, cut..end);
            again.live_through(&case, cut..end);
            prop_assert_eq!(&again.decided, &on.decided);
            prop_assert_eq!(again.hashes(), on.hashes());
            again.check()?;
        }

        // Told without objects, as one has to who starts from a state.
        let mut told = lived.clone();
        told.by_id = true;
        let mut on = lived.clone();
        on.live_through(&case, cut..end);
        told.live_through(&case, cut..end);
        prop_assert_eq!(&told.decided, &on.decided);
        prop_assert_eq!(told.hashes(), on.hashes());

        // Under other rules it is the same cluster.
        let other = restore(&KubeSchedulerConfiguration::default(), same, &bytes)?;
        prop_assert_eq!(other.state_hash(), lived.engine.state_hash());
    }
}
