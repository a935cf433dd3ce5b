//! The loop by its verbs: what `schedule_one`, `bound`, `allow`, `reject` and `advance` do to pods.

#[path = "loop/binding.rs"]
mod binding;
#[path = "loop/extenders.rs"]
mod extenders;
#[path = "loop/external.rs"]
mod external;
#[path = "loop/nominated.rs"]
mod nominated;
#[path = "loop/preemption.rs"]
mod preemption;
#[path = "loop/repeated.rs"]
mod repeated;
#[path = "loop/waiting.rs"]
mod waiting;

use berth_core::id::PodId;
use berth_core::{Change, Decision, Options};
use berth_test_support::object::object;
use berth_test_support::replay::Replay;
use serde_json::Value;

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_000 * SECOND;

/// A scheduler with a clock.
struct Course {
    replay: Replay,
    now: u64,
}

impl Course {
    fn new(objects: &[(&str, Value)]) -> Self {
        let mut course = Self {
            replay: Replay::new(None, Options::default(), 16, 64),
            now: START,
        };
        course.replay.scheduler.advance(START);
        for (kind, json) in objects {
            course.replay.add(kind, json);
        }
        course
    }

    fn with_config(config: &Value) -> Self {
        let mut replay = Replay::new(Some(config), Options::default(), 16, 64);
        replay.scheduler.advance(START);
        Self { replay, now: START }
    }

    fn turn(&mut self) -> Option<Decision> {
        self.now += 1_000_000;
        self.replay.scheduler.schedule_one(self.now)
    }

    fn wait(&mut self, nanos: u64) {
        self.now += nanos;
        self.replay.scheduler.advance(self.now);
    }

    fn apply(&mut self, change: Change, kind: &str, json: &Value) {
        self.replay.apply(change, &object(kind, json));
    }

    fn id(&self, name: &str) -> PodId {
        let id = self.replay.scheduler.find_pod("default", name);
        id.unwrap_or_else(|| panic!("{name} is not there"))
    }
}
