//! The benchmark as a test: each workload made small, every decision beside the naive twin's.

use crate::berth::{Course, Script, Step, run};
use crate::workload::{Workload, Workloads};
use berth_core::object::{Object, Pod};
use berth_core::{Change, Decision, Detail, Fidelity, Options, Outcome, PostFilter};
use std::collections::BTreeMap;
use std::io::{BufReader, Cursor};

/// Nodes at most: more than upstream looks at without sampling.
const NODES: usize = 130;
/// Pods that are placed.
const PODS: usize = 40;

/// Returns how many decisions were compared.
pub fn every_small_workload_is_decided_as_the_naive_twin_does() -> usize {
    let workloads = Workloads::read();
    let mut compared = 0;
    for workload in &workloads.workloads {
        let small = workload.small(NODES, PODS);
        let mut text = Vec::new();
        small.write(&workloads, &mut text).expect("it is written");
        let script = Script::read(BufReader::new(Cursor::new(text)));
        for fidelity in [Fidelity::Exact, Fidelity::Best] {
            compared += Compared::of(&script, fidelity, &small);
            the_figures_are_whole(&script, fidelity, &small);
        }
    }
    compared
}

/// Both passes see every attempt, and placing pods allocates nothing.
fn the_figures_are_whole(script: &Script, fidelity: Fidelity, workload: &Workload) {
    let mut answers = Vec::new();
    let figures = run(script, fidelity, f64::from(u16::MAX), Some(&mut answers));
    let answers = String::from_utf8(answers).expect("answers are text");
    let told: usize = answers.matches("\"pod\":").count();
    let name = &workload.name;
    assert!(figures.attempts > 0, "{name}: nothing counted");
    assert!(told as u64 >= figures.attempts, "{name}: {told} answers");
    assert!(figures.p50 > 0.0 && figures.p99 >= figures.p50, "{name}");
    if figures.placed == figures.attempts {
        let taken = (figures.allocations, figures.bytes);
        assert_eq!(taken, (0.0, 0.0), "{name}: placing pods allocated");
    }
}

/// Both on one script.
struct Compared<'a> {
    course: Course<'a>,
    twin: berth_naive::Cluster,
    profile: berth_core::profile::Profile,
    pods: BTreeMap<(String, String), &'a Pod>,
    fidelity: Fidelity,
    /// There were victims.
    preempted: bool,
    /// Decisions that were.
    count: usize,
}

impl<'a> Compared<'a> {
    fn of(script: &'a Script, fidelity: Fidelity, workload: &Workload) -> usize {
        let options = Options {
            fidelity,
            // Scores that are used again are not the twin's.
            batching: Some(false),
            ..Options::default()
        };
        let profiles = script.config.profiles().expect("a profile");
        let mut own = Compared {
            course: Course::new(script, options, script.capacities()),
            twin: berth_naive::Cluster::default(),
            profile: profiles.into_iter().next().expect("a profile"),
            pods: BTreeMap::new(),
            fidelity,
            preempted: false,
            count: 0,
        };
        let mut attempts = 0;
        for (at, step) in script.steps.iter().enumerate() {
            match step {
                Step::Measure => {}
                Step::Apply(change, object) => own.apply(at, *change, object),
                Step::Turns(count) => {
                    for _ in 0..*count {
                        attempts += usize::from(own.turn(&workload.name));
                    }
                }
            }
        }
        assert!(attempts > 0, "{}: no attempt", workload.name);
        assert_eq!(own.preempted, workload.preempts, "{}", workload.name);
        own.count
    }

    fn apply(&mut self, at: usize, change: Change, object: &'a Object) {
        self.course.apply(at);
        self.course.remember(at);
        self.twin.apply(change, object);
        if let (Change::Added, Object::Pod(pod)) = (change, object) {
            let metadata = &pod.metadata;
            let key = (metadata.namespace.clone(), metadata.name.clone());
            self.pods.insert(key, pod);
        }
    }

    /// Whether there was a pod to try.
    fn turn(&mut self, workload: &str) -> bool {
        let Some(decision) = self.course.turn() else {
            return false;
        };
        let (namespace, name) = self.course.scheduler.pod_name(decision.pod);
        let key = (namespace.to_owned(), name.to_owned());
        let pod = self.pods[&key];
        self.compare(&decision, pod, workload);
        self.count += 1;
        if let Outcome::Scheduled(node) = decision.outcome {
            self.twin.assume(pod, self.course.scheduler.node(node).name);
        }
        if let PostFilter::Placed { node, victims } = decision.post_filter {
            self.preempted = true;
            let scheduler = &self.course.scheduler;
            assert!(victims > 0 && scheduler.victims().len() == victims as usize);
            for victim in scheduler.victims() {
                let less = scheduler.priority(victim.pod) < scheduler.priority(decision.pod);
                assert!(less, "{workload}: a victim is not of lower priority");
                assert_eq!(scheduler.node_of(victim.pod), Some(node), "{workload}");
                let (namespace, name) = scheduler.pod_name(victim.pod);
                self.twin.remove_pod(namespace, name);
            }
            self.twin.assume(pod, scheduler.node(node).name);
        }
        self.course.evict(&decision);
        true
    }

    fn compare(&mut self, decision: &Decision, pod: &Pod, workload: &str) {
        let options = berth_naive::Options {
            search: match self.fidelity {
                Fidelity::Exact => berth_naive::Search::Sampled,
                Fidelity::Best => berth_naive::Search::All,
            },
            ..Default::default()
        };
        let expected = self.twin.decide(pod, &self.profile, options);
        let case = format!("{workload}: {}", expected.pod);
        let counts = (Some(decision.feasible), Some(decision.evaluated));
        assert_eq!(counts, (expected.feasible, expected.evaluated), "{case}");
        let scheduler = &self.course.scheduler;
        match decision.outcome {
            Outcome::Scheduled(node) if self.fidelity == Fidelity::Exact => {
                assert_eq!(
                    expected.node.as_deref(),
                    Some(scheduler.node(node).name),
                    "{case}"
                );
            }
            Outcome::Scheduled(node) => {
                let name = scheduler.node(node).name;
                let mut best = expected.ties.iter().flatten().chain(&expected.node);
                assert!(
                    best.any(|own| own == name),
                    "{case}: {name} is not among the best"
                );
            }
            _ => {
                let told = scheduler.record(decision, Detail::None).message;
                let told = told.unwrap_or_default();
                let known = expected.message.unwrap_or_default();
                assert!(told.starts_with(&known), "{case}: {told} is not {known}");
            }
        }
    }
}
