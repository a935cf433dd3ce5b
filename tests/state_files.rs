//! State files of every version of the format: read as what they are, or refused aloud.
//!
//! A file that this version writes is made by
//! `berth simulate -f nodes/hypershift-13nodes.json -f nodes/hypershift-storage.yaml
//! -f manifests/hypershift-control-plane -f manifests/karpenter-workloads --save states/vN.berth`
//! in `tests/data`; those of earlier versions stay as they are.

use berth_core::intake::Intake;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::{Options, STATE_VERSION};
use berth_test_support::tests_folder;
use std::fs;

/// What a state holds: its hash, pods, and of these waiting ones.
type Held = (u64, usize, usize);

/// Version, and what the file holds; `None`: it is refused.
const FILES: [(u32, Option<Held>); 1] = [(1, Some((10_187_669_356_867_812_891, 143, 44)))];

#[test]
fn a_state_of_every_version_is_read_or_refused() {
    let folder = tests_folder().join("data/states");
    let stored = fs::read_dir(&folder).expect("the folder").count();
    assert_eq!((stored, FILES.len()), (FILES.len(), STATE_VERSION as usize));
    for (version, expected) in FILES {
        let bytes = fs::read(folder.join(format!("v{version}.berth"))).expect("a stored state");
        assert_eq!(bytes[8..12], version.to_le_bytes());
        let config = KubeSchedulerConfiguration::default();
        let restored = Intake::restore_state(config, Options::default(), None, &bytes);
        let found = restored.as_ref().ok().map(|intake| {
            let scheduler = intake.scheduler();
            let pods = scheduler.pods().count();
            (scheduler.state_hash(), pods, intake.queue().len())
        });
        assert_eq!(found, expected, "version {version}");
        match restored {
            Ok(intake) if version == STATE_VERSION => assert!(
                intake.save_state() == bytes,
                "the format has changed: raise its version, and keep the old file"
            ),
            Ok(_) => {}
            Err(error) => assert!(error.to_string().contains("version"), "{error}"),
        }
    }
}
