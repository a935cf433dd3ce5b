//! What a decision costs: the openb trace's default list of 8,152 pods, placed one by one on 1,523
//! nodes by the default profile, beside the naive twin on the same pods.
//!
//! `cargo bench --bench decision` prints figures, of which only those of one run compare; without
//! `--bench`, as `cargo test` runs it, a few pods are placed and their places checked.

use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Node, Object, Pod};
use berth_core::profile::Profile;
use berth_core::{Capacities, Change, Decision, Fidelity, Options, Outcome, Scheduler};
use berth_test_support::openb;
use std::time::{Duration, Instant};

/// Runs of each fidelity; the one with the median mean is told.
const ROUNDS: usize = 5;
/// Every so many pods the naive twin decides too.
const NAIVE_EVERY: usize = 163;
/// Pods of the check.
const CHECKED: usize = 300;

fn main() {
    let nodes = openb::nodes("all");
    let pods = openb::pods("default");
    assert_eq!((nodes.len(), pods.len()), (1523, 8152));
    if std::env::args().any(|argument| argument == "--bench") {
        measure(&nodes, &pods);
    } else {
        check(&nodes, &pods[..CHECKED]);
        println!("decision: {CHECKED} pods placed as expected");
    }
}

fn measure(nodes: &[Node], pods: &[Pod]) {
    println!(
        "openb default: {} pods on {} nodes, default profile",
        pods.len(),
        nodes.len()
    );
    println!(
        "per decision:  mean      p50      p99     max us | decisions/s | evaluated feasible | placed"
    );
    for (name, fidelity) in [("exact", Fidelity::Exact), ("best", Fidelity::Best)] {
        let mut rounds: Vec<Run> = (0..ROUNDS)
            .map(|_| Run::of(nodes, pods, fidelity, 0))
            .collect();
        rounds.sort_by_key(Run::total);
        let run = rounds.swap_remove(ROUNDS / 2);
        run.print(name);
        let beside = Run::of(nodes, pods, fidelity, NAIVE_EVERY);
        let naive = beside.naive.iter().sum::<Duration>() / beside.naive.len() as u32;
        let sampled = beside.times.iter().step_by(NAIVE_EVERY);
        let engine = sampled.sum::<Duration>() / beside.naive.len() as u32;
        println!(
            "  naive twin: {:.0} us a decision over {} of the pods; the engine {:.1} us on the same, {:.0} times faster",
            micros(naive),
            beside.naive.len(),
            micros(engine),
            naive.as_secs_f64() / engine.as_secs_f64(),
        );
    }
}

/// All pods placed once.
struct Run {
    times: Vec<Duration>,
    decisions: Vec<Decision>,
    naive: Vec<Duration>,
}

impl Run {
    /// Places the pods; every `naive_every` pods (0: never) the naive twin decides on the same state
    /// and must find the same number of feasible nodes.
    fn of(nodes: &[Node], pods: &[Pod], fidelity: Fidelity, naive_every: usize) -> Self {
        let mut scheduler = filled(nodes, pods, fidelity);
        let mut twin = Twin::new(nodes, fidelity);
        let mut run = Self {
            times: Vec::with_capacity(pods.len()),
            decisions: Vec::with_capacity(pods.len()),
            naive: Vec::new(),
        };
        for (at, pod) in pods.iter().enumerate() {
            let id = scheduler
                .find_pod("default", &pod.metadata.name)
                .expect("the pod");
            let begin = Instant::now();
            let decision = scheduler.schedule(id);
            run.times.push(begin.elapsed());
            run.decisions.push(decision);
            if naive_every > 0 {
                if at % naive_every == 0 {
                    run.naive.push(twin.decide(pod, &decision));
                }
                twin.follow(pod, &decision, &scheduler);
            }
        }
        run
    }

    fn total(&self) -> Duration {
        self.times.iter().sum()
    }

    fn print(&self, name: &str) {
        let mut sorted = self.times.clone();
        sorted.sort();
        let count = sorted.len();
        let part = |hundredths: usize| micros(sorted[(count - 1) * hundredths / 100]);
        let mean = |of: fn(&Decision) -> u32| {
            let sum: u64 = self
                .decisions
                .iter()
                .map(|decision| u64::from(of(decision)))
                .sum();
            sum as f64 / count as f64
        };
        let placed = self
            .decisions
            .iter()
            .filter(|own| matches!(own.outcome, Outcome::Scheduled(_)));
        println!(
            "{name:>12} {:7.2} {:8.2} {:8.2} {:8.1}   | {:11.0} | {:9.1} {:8.1} | {}",
            micros(self.total()) / count as f64,
            part(50),
            part(99),
            part(100),
            count as f64 / self.total().as_secs_f64(),
            mean(|decision| decision.evaluated),
            mean(|decision| decision.feasible),
            placed.count(),
        );
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn filled(nodes: &[Node], pods: &[Pod], fidelity: Fidelity) -> Scheduler {
    let objects: Vec<Object> = nodes
        .iter()
        .map(|node| Object::Node(Box::new(node.clone())))
        .collect();
    let capacities = Capacities::for_objects(objects.iter(), pods.iter());
    let options = Options {
        fidelity,
        ..Options::default()
    };
    let config = KubeSchedulerConfiguration::default();
    let mut scheduler =
        Scheduler::new(&config, options, capacities).unwrap_or_else(|error| panic!("{error}"));
    let pods = pods.iter().map(|pod| Object::Pod(Box::new(pod.clone())));
    for object in objects.into_iter().chain(pods) {
        scheduler
            .apply(Change::Added, &object)
            .unwrap_or_else(|error| panic!("{}: {error}", object.metadata().name));
    }
    scheduler
}

/// The naive twin, which follows the engine's placements.
struct Twin {
    cluster: berth_naive::Cluster,
    profile: Profile,
    search: berth_naive::Search,
}

impl Twin {
    fn new(nodes: &[Node], fidelity: Fidelity) -> Self {
        let mut cluster = berth_naive::Cluster::default();
        for node in nodes {
            cluster.put_node(node.clone());
        }
        let profiles = KubeSchedulerConfiguration::default().profiles();
        Self {
            cluster,
            profile: profiles.expect("the default profile").swap_remove(0),
            search: match fidelity {
                Fidelity::Exact => berth_naive::Search::Sampled,
                Fidelity::Best => berth_naive::Search::All,
            },
        }
    }

    /// Time of the twin's decision, which is thrown away.
    fn decide(&mut self, pod: &Pod, engine: &Decision) -> Duration {
        let options = berth_naive::Options {
            search: self.search,
            ..Default::default()
        };
        let start = self.cluster.start;
        let begin = Instant::now();
        let record = self.cluster.decide(pod, &self.profile, options);
        let time = begin.elapsed();
        self.cluster.start = start;
        let counts = (Some(engine.feasible), Some(engine.evaluated));
        assert_eq!(
            (record.feasible, record.evaluated),
            counts,
            "{}",
            record.pod
        );
        time
    }

    fn follow(&mut self, pod: &Pod, decision: &Decision, scheduler: &Scheduler) {
        let looked_at = decision.evaluated as usize;
        self.cluster.start = (self.cluster.start + looked_at) % self.cluster.nodes.len();
        if let Outcome::Scheduled(node) = decision.outcome {
            self.cluster.assume(pod, scheduler.node(node).name);
        }
    }
}

/// Every placement is the twin's: as kube-scheduler samples, and the best of all nodes.
fn check(nodes: &[Node], pods: &[Pod]) {
    for (fidelity, first) in [
        (
            Fidelity::Exact,
            ["openb-node-0831", "openb-node-0916", "openb-node-1477"],
        ),
        (
            Fidelity::Best,
            ["openb-node-1328", "openb-node-1329", "openb-node-1341"],
        ),
    ] {
        let mut scheduler = filled(nodes, pods, fidelity);
        let mut twin = Twin::new(nodes, fidelity);
        let mut places = Vec::new();
        for pod in pods {
            let id = scheduler
                .find_pod("default", &pod.metadata.name)
                .expect("the pod");
            let decision = scheduler.schedule(id);
            let Outcome::Scheduled(node) = decision.outcome else {
                panic!("{} was not placed", pod.metadata.name);
            };
            let name = scheduler.node(node).name.to_owned();
            let start = twin.cluster.start;
            let options = berth_naive::Options {
                search: twin.search,
                ..Default::default()
            };
            let record = twin.cluster.decide(pod, &twin.profile, options);
            twin.cluster.start = start;
            match fidelity {
                Fidelity::Exact => assert_eq!(record.node.as_ref(), Some(&name)),
                Fidelity::Best => assert!(record.ties.expect("ties").contains(&name)),
            }
            twin.follow(pod, &decision, &scheduler);
            places.push(name);
        }
        assert_eq!(places[..first.len()], first, "{fidelity:?}");
    }
}
