//! The loop over random histories: no pod is lost or queued twice, whatever becomes of bindings, and
//! the state stays that of a scheduler that is fed with what is left.

#[path = "properties/lived.rs"]
mod lived;

use berth_core::Change;
use berth_test_support::generate::world::WorldPod;
use berth_test_support::generate::{case, tries};
use lived::Lived;
use proptest::prelude::*;

proptest! {
    #![proptest_config(tries(200, "properties_loop"))]

    #[test]
    fn the_loop_loses_no_pod_and_leaves_no_trace(case in case()) {
        let mut lived = Lived::new(&case);
        for (number, event) in case.events.iter().enumerate() {
            lived.live(number, event);
            lived.check()?;
        }
        lived.resolve();
        // Waits at Permit that ended by themselves, and deletions.
        for key in lived.world.pods.iter().map(WorldPod::key).collect::<Vec<_>>() {
            let id = lived.id(&key);
            if lived.has_lost_its_place(&key, id) {
                lived.set_node(&key, None);
            }
        }
        lived.check()?;
        let mut fresh = Lived::new(&case);
        for object in lived.world.objects() {
            if let Err(error) = fresh.engine.apply(Change::Added, &object) {
                panic!("{error}");
            }
        }
        prop_assert_eq!(lived.engine.state_hash(), fresh.engine.state_hash());
    }
}
