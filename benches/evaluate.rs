//! What an evaluation of all nodes costs from Rust: the first half of `python/benches/speed.py`, on the
//! same nodes and pods.
//!
//! `cargo bench --bench evaluate` prints figures; without `--bench`, as `cargo test` runs it, a small
//! cluster is judged and the answer checked.

use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Node, Object, Pod};
use berth_core::{BindOutcome, Capacities, Change, Fidelity, Options, Outcome, Scheduler};
use serde_json::json;
use std::time::Instant;

const NODES: usize = 5000;
const EVALUATIONS: usize = 2000;
const ROUNDS: usize = 5;

fn main() {
    if std::env::args().any(|argument| argument == "--bench") {
        measure();
    } else {
        let (mut scheduler, _) = cluster(50);
        assert_eq!(judge(&mut scheduler, 0).0, 50);
        println!("evaluate: a pod judged on 50 nodes as expected");
    }
}

fn measure() {
    let (mut scheduler, count) = cluster(NODES);
    let best = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        for pod in 0..EVALUATIONS {
            std::hint::black_box(judge(&mut scheduler, pod));
        }
        began.elapsed().as_secs_f64() * 1e6 / EVALUATIONS as f64
    });
    let best = best.fold(f64::INFINITY, f64::min);
    let (feasible, sum) = judge(&mut scheduler, 0);
    println!(
        "evaluate: {best:.1} us over {NODES} nodes with {count} pods, read as two columns \
         ({feasible} feasible, scores sum up to {sum})"
    );
}

/// Nodes with as many pods as nodes placed on them, of those that fit.
fn cluster(count: usize) -> (Scheduler, usize) {
    let nodes = (0..count).map(|at| {
        let memory = format!("{}Gi", 32 + at % 7 * 16);
        let amounts = json!({"cpu": (8 + at % 13).to_string(), "memory": memory, "pods": "110"});
        let node = json!({
            "metadata": {"name": format!("n{at}"), "labels": {"zone": format!("z{}", at % 3)}},
            "status": {"allocatable": amounts},
        });
        let node: Node = serde_json::from_value(node).expect("a node");
        Object::Node(Box::new(node))
    });
    let pods = (0..count).map(|at| {
        let (cpu, memory) = (100 + at % 31 * 100, 256 + at % 31 * 64);
        let requests = json!({"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")});
        let pod = json!({
            "metadata": {"name": format!("p{at}"), "namespace": "default"},
            "spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]},
        });
        let pod: Pod = serde_json::from_value(pod).expect("a pod");
        Object::Pod(Box::new(pod))
    });
    let objects: Vec<Object> = nodes.chain(pods).collect();
    let options = Options {
        fidelity: Fidelity::Best,
        ..Options::default()
    };
    let config = KubeSchedulerConfiguration::default();
    let capacities = Capacities::for_objects(objects.iter(), std::iter::empty());
    let mut scheduler = Scheduler::new(&config, options, capacities).expect("it fits");
    for object in &objects {
        // The queue's order is that of coming.
        scheduler.advance(scheduler.now() + 1_000_000);
        scheduler.apply(Change::Added, object).expect("it fits");
    }
    let mut placed = 0;
    while let Some(decision) = scheduler.schedule_one(scheduler.now() + 1_000_000) {
        placed += usize::from(matches!(decision.outcome, Outcome::Scheduled(_)));
        scheduler.bound(decision.pod, BindOutcome::Bound, scheduler.now());
        scheduler.seen_bound(decision.pod);
    }
    (scheduler, placed)
}

/// How many nodes fit the pod of this number, and the sum of their scores, read from two columns.
fn judge(scheduler: &mut Scheduler, number: usize) -> (usize, i64) {
    let pod = scheduler.find_pod("default", &format!("p{number}"));
    let decision = scheduler.evaluate(pod.expect("the pod is there"));
    let rows = scheduler.node_rows();
    let (mut fits, mut scores) = (vec![false; rows], vec![0; rows]);
    for (node, total) in scheduler.feasible(&decision) {
        fits[node.index()] = true;
        scores[node.index()] = total;
    }
    (
        fits.iter().filter(|fits| **fits).count(),
        scores.iter().sum(),
    )
}
