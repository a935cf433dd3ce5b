//! The engine decides as its naive twin does: same node, counts, refusals, scores, ties, message,
//! after every event of random histories.

#[path = "properties/side_by_side.rs"]
mod side_by_side;

use berth_test_support::generate::{Case, case, large_case, tries};
use proptest::prelude::*;
use side_by_side::{Mode, SideBySide};

fn same_in_all_modes(case: &Case) -> Result<(), TestCaseError> {
    for mode in Mode::ALL {
        SideBySide::play(case, mode).map_err(TestCaseError::fail)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(tries(300, "properties_engine"))]

    #[test]
    fn the_engine_decides_as_its_naive_twin(case in case()) {
        same_in_all_modes(&case)?;
    }
}

proptest! {
    #![proptest_config(tries(30, "properties_engine"))]

    #[test]
    fn the_engine_samples_large_clusters_as_its_naive_twin(case in large_case()) {
        same_in_all_modes(&case)?;
    }
}
