//! What C and Python feed: whole documents, then single changes.

use berth_core::intake::Intake;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::{Decoded, Value};
use berth_core::{Detail, Outcome};
use berth_test_support::replay::VERDICTS;

/// Pods that are asked about at most; workloads make many.
const ASKED_MAX: usize = 4;
/// Numbers from here on in a text make workloads whose pods take seconds.
const DIGITS_MAX: usize = 3;

/// One document a line; the first are loaded, those after an empty line come one by one.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let longest = text
        .split(|letter: char| !letter.is_ascii_digit())
        .map(str::len)
        .max();
    if text.contains("replicas") && longest.unwrap_or(0) > DIGITS_MAX {
        return;
    }
    let config = KubeSchedulerConfiguration::default();
    let mut intake = Intake::new(config, VERDICTS, None).expect("the defaults");
    let (first, changes) = text.split_once("\n\n").unwrap_or((text, ""));
    let before = intake.scheduler().state_hash();
    match intake.load(first.lines().filter_map(document).collect()) {
        Ok(loaded) => {
            for pod in loaded.pending.into_iter().take(ASKED_MAX) {
                let hash = intake.scheduler().state_hash();
                let (decision, record) = intake.explain(pod, Detail::Full);
                assert_eq!(intake.scheduler().state_hash(), hash, "{record:?}");
                let placed = matches!(decision.outcome, Outcome::Scheduled(_));
                assert_eq!(record.node.is_some(), placed, "{record:?}");
                assert_eq!(
                    intake.scheduler_mut().schedule(pod).outcome,
                    decision.outcome
                );
            }
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(intake.scheduler().state_hash(), before);
        }
    }
    for line in changes.lines() {
        let before = intake.scheduler().state_hash();
        if let Some(document) = document(line)
            && let Err(error) = intake.apply(None, document)
        {
            assert_eq!(intake.scheduler().state_hash(), before, "{error}");
        }
    }
    for pod in intake.queue().into_iter().take(ASKED_MAX) {
        intake.scheduler_mut().schedule(pod);
    }
}

fn document(line: &str) -> Option<Decoded> {
    let value: Value = serde_json::from_str(line).ok()?;
    Some(Decoded::from_value(value))
}
