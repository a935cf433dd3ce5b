//! The content of state files, with the right check around it: it is refused, or it is a state that
//! works and is written down as it was read.

use berth_core::id::PodId;
use berth_core::intake::Intake;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Node, Object, ObjectMeta};
use berth_core::{
    BindOutcome, Capacities, Change, Options, Outcome, Scheduler, StateError, framed_state,
};

const SECOND: u64 = 1_000_000_000;
/// Turns of the loop that a state has to stand.
const TURNS: u32 = 12;

fn restore(bytes: &[u8]) -> Result<Scheduler, StateError> {
    let config = KubeSchedulerConfiguration::default();
    let capacities = Capacities::for_size(64, 64);
    Scheduler::restore_state(&config, Options::default(), capacities, bytes)
}

/// Restores, looks at, and uses what the bytes say.
pub fn run(bytes: &[u8]) {
    let file = framed_state(bytes);
    // With an intake's part the same bytes may be refused, but never by a panic.
    let capacities = Some(Capacities::for_size(64, 64));
    let config = KubeSchedulerConfiguration::default();
    let _ = Intake::restore_state(config, Options::default(), capacities, &file);
    let Ok(mut scheduler) = restore(&file) else {
        return;
    };
    let again = restore(&scheduler.save_state());
    let again = again.unwrap_or_else(|error| panic!("written and not read: {error}"));
    assert_eq!(again.state_hash(), scheduler.state_hash());
    assert_eq!(again.loop_hash(), scheduler.loop_hash());

    let pods: Vec<PodId> = scheduler.pods().collect();
    for pod in pods {
        scheduler.evaluate(pod);
    }
    let mut now = scheduler.now();
    for _ in 0..TURNS {
        now = now.saturating_add(SECOND);
        if let Some(decision) = scheduler.schedule_one(now)
            && let Outcome::Scheduled(_) = decision.outcome
        {
            scheduler.bound(decision.pod, BindOutcome::Bound, now);
        }
    }
    let nodes = scheduler
        .nodes()
        .map(|node| scheduler.node(node).name.to_owned());
    let nodes: Vec<String> = nodes.collect();
    for name in nodes {
        let metadata = ObjectMeta {
            name,
            ..ObjectMeta::default()
        };
        let node = Object::Node(Box::new(Node {
            metadata,
            ..Node::default()
        }));
        let applied = scheduler.apply(Change::Deleted, &node);
        assert!(applied.is_ok(), "{applied:?}");
    }
}
