//! Instructions of ten paths, which do not depend on what else the machine does.
//!
//! `core/benches/instructions.bash` runs each of them under callgrind and compares the counts with those
//! in `instructions.txt`. Called with `--list` this program names the paths, with a name it walks one: what
//! is counted happens in [`counted`]. Without arguments, as `cargo test` runs it, all are walked.

#[path = "growth/shape.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod shape;

use berth_core::object::Object;
use berth_core::{Change, NodeSearch, Options};
use shape::{Cluster, SHAPES, Shape, best};

/// Nodes of every cluster, and decisions that count.
const NODES: u32 = 1_000;
const ROUNDS: u32 = 200;

/// Name of a path, the shape of its pods, and what it walks.
type Path = (&'static str, &'static str, Walk);

#[derive(Clone, Copy)]
enum Walk {
    /// Decisions in best fidelity without details.
    Best,
    /// The same as kube-scheduler searches.
    Exact,
    /// Verdicts and scores of all nodes.
    Evaluate,
    /// Bound pods come and go.
    Apply,
}

const PATHS: [Path; 10] = [
    ("best-plain", "plain", Walk::Best),
    ("best-16-classes", "16 classes", Walk::Best),
    ("best-hard-spreading", "hard-spreading", Walk::Best),
    ("best-soft-spreading", "soft-spreading", Walk::Best),
    ("best-pod-anti-affinity", "pod-anti-affinity", Walk::Best),
    ("best-preferred-affinity", "preferred-affinity", Walk::Best),
    ("best-fits-nowhere", "fits-nowhere", Walk::Best),
    ("exact-plain", "plain", Walk::Exact),
    ("evaluate-plain", "plain", Walk::Evaluate),
    ("apply-bound-pod", "plain", Walk::Apply),
];

fn main() {
    let asked = std::env::args().skip(1).find(|own| own != "--bench");
    match asked.as_deref() {
        Some("--list") => PATHS.iter().for_each(|(name, ..)| println!("{name}")),
        Some(name) => {
            let path = PATHS.iter().find(|(own, ..)| *own == name);
            walk(path.unwrap_or_else(|| panic!("no path {name}")));
        }
        None => {
            PATHS.iter().for_each(walk);
            println!("instructions: {} paths walked as expected", PATHS.len());
        }
    }
}

fn walk((name, of, walk): &Path) {
    let shape: &'static Shape = SHAPES
        .iter()
        .find(|shape| shape.name == *of)
        .expect("a shape of this name");
    let options = match walk {
        Walk::Best => best(),
        Walk::Evaluate => Options {
            node_search: Some(NodeSearch::All),
            ..Options::default()
        },
        Walk::Exact | Walk::Apply => Options {
            preemption: Some(false),
            ..Options::default()
        },
    };
    let mut cluster = Cluster::new(shape, NODES, ROUNDS, options);
    let before = cluster.warm_up();
    let waiting = cluster
        .scheduler
        .find_pod("default", &format!("pod-{}", before + ROUNDS / 2));
    let bound: Vec<Object> = (0..ROUNDS)
        .map(|number| shape.object(number, Some(number * 7 % NODES)))
        .collect();
    let done = counted(|| match walk {
        Walk::Best | Walk::Exact => cluster.decide(ROUNDS),
        Walk::Evaluate => {
            let pod = waiting.expect("a pod");
            let evaluations = (0..ROUNDS).map(|_| cluster.scheduler.evaluate(pod).feasible);
            evaluations.sum::<u32>() / NODES
        }
        Walk::Apply => {
            for pod in &bound {
                cluster.apply(Change::Added, pod);
            }
            for pod in &bound {
                cluster.apply(Change::Deleted, pod);
            }
            ROUNDS
        }
    });
    let expected = if shape.places(NODES) == 0 { 0 } else { ROUNDS };
    assert_eq!(done, expected, "{name}");
}

/// Callgrind counts what happens in here.
#[inline(never)]
fn counted(work: impl FnOnce() -> u32) -> u32 {
    std::hint::black_box(work())
}
