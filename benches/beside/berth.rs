//! Berth's side: a script through the whole loop of the core.

use crate::figures::{Figures, Meter};
use berth_core::id::PodId;
use berth_core::object::Object;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::{
    BindOutcome, Capacities, Change, Decision, Detail, Fidelity, Options, Outcome, PostFilter,
    Scheduler,
};
use berth_test_support::object::object;
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// When the script begins, in nanoseconds since 1970: after all pods that were there before (2026-06-01).
const START: u64 = 1_780_272_000_000_000_000;
/// Between two changes or attempts.
const STEP: u64 = 1_000;

/// A script, decoded.
pub struct Script {
    pub config: KubeSchedulerConfiguration,
    pub confirm: bool,
    pub steps: Vec<Step>,
}

/// A line of it.
pub enum Step {
    Apply(Change, Box<Object>),
    /// So many attempts.
    Turns(usize),
    /// What follows counts.
    Measure,
}

impl Script {
    /// Reads what [`Workload::write`](crate::workload::Workload::write) wrote.
    pub fn read(from: impl BufRead) -> Self {
        let mut lines = from.lines().map(|line| {
            let line = line.expect("the script is read");
            serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
        });
        let head = lines.next().expect("a script has a head");
        let mut config = head["config"].clone();
        config["apiVersion"] = json!("kubescheduler.config.k8s.io/v1");
        config["kind"] = json!("KubeSchedulerConfiguration");
        let config = serde_json::from_value(config);
        Self {
            config: config.unwrap_or_else(|error| panic!("{error}")),
            confirm: head["confirm"] == true,
            steps: lines.map(|line| step(&line)).collect(),
        }
    }

    /// Room for all of it.
    pub fn capacities(&self) -> Capacities {
        let objects = self.steps.iter().filter_map(|step| match step {
            Step::Apply(Change::Added, object) => Some(&**object),
            _ => None,
        });
        Capacities::for_objects(objects, std::iter::empty())
    }

    /// Attempts that count.
    fn measured(&self) -> usize {
        let mut counts = false;
        let turns = self.steps.iter().map(|step| {
            counts |= matches!(step, Step::Measure);
            match step {
                Step::Turns(count) if counts => *count,
                _ => 0,
            }
        });
        turns.sum()
    }
}

fn step(line: &Value) -> Step {
    if line["measure"] == true {
        return Step::Measure;
    }
    if let Some(count) = line["turns"].as_u64() {
        return Step::Turns(count as usize);
    }
    let change = match line["apply"].as_str() {
        Some("Added") => Change::Added,
        Some("Modified") => Change::Modified,
        Some("Deleted") => Change::Deleted,
        _ => panic!("no step: {line}"),
    };
    let kind = line["kind"].as_str().expect("a kind");
    Step::Apply(change, Box::new(object(kind, &line["object"])))
}

/// A scheduler on its way through a script.
pub struct Course<'a> {
    pub scheduler: Scheduler,
    script: &'a Script,
    now: u64,
    /// Objects of the pods that are there, as places in the script.
    places: Vec<u32>,
    /// Room for the victims of an attempt.
    victims: Vec<PodId>,
}

impl<'a> Course<'a> {
    /// An empty cluster.
    pub fn new(script: &'a Script, options: Options, capacities: Capacities) -> Self {
        let scheduler = Scheduler::new(&script.config, options, capacities);
        Self {
            scheduler: scheduler.unwrap_or_else(|error| panic!("{error}")),
            script,
            now: START,
            places: vec![0; capacities.pods as usize],
            victims: Vec::with_capacity(capacities.pods as usize),
        }
    }

    /// A change of this place in the script.
    pub fn apply(&mut self, at: usize) {
        let Step::Apply(change, object) = &self.script.steps[at] else {
            return;
        };
        self.now += STEP;
        self.scheduler.advance(self.now);
        let applied = self.scheduler.apply(*change, object);
        applied.unwrap_or_else(|error| panic!("{}: {error}", object.metadata().name));
    }

    /// Remembers where the pod of a change is in the script.
    pub fn remember(&mut self, at: usize) {
        if let Step::Apply(Change::Added, object) = &self.script.steps[at]
            && let Object::Pod(pod) = &**object
        {
            let metadata = &pod.metadata;
            if let Some(id) = self.scheduler.find_pod(&metadata.namespace, &metadata.name) {
                self.places[id.index()] = at as u32;
            }
        }
    }

    /// One attempt, with all that follows from it at once; a message for who fits nowhere.
    pub fn turn(&mut self) -> Option<Decision> {
        self.now += STEP;
        let decision = self.scheduler.schedule_one(self.now)?;
        match decision.outcome {
            Outcome::Scheduled(_) => {
                self.scheduler
                    .bound(decision.pod, BindOutcome::Bound, self.now);
                if self.script.confirm {
                    self.scheduler.seen_bound(decision.pod);
                }
            }
            Outcome::Unschedulable => {
                let record = self.scheduler.record(&decision, Detail::None);
                std::hint::black_box(record);
            }
            other => panic!("{:?}: {other:?}", self.scheduler.pod_name(decision.pod)),
        }
        Some(decision)
    }

    /// Deletes the victims of an attempt, as the API server would, and puts the pod in their place, as
    /// its next attempt would: the first attempts are what counts, and a backoff lies between.
    pub fn evict(&mut self, decision: &Decision) {
        let PostFilter::Placed { node, .. } = decision.post_filter else {
            return;
        };
        self.victims.clear();
        let victims = self.scheduler.victims().iter();
        self.victims.extend(victims.map(|victim| victim.pod));
        for at in 0..self.victims.len() {
            let place = self.places[self.victims[at].index()] as usize;
            let Step::Apply(_, pod) = &self.script.steps[place] else {
                panic!("a victim that the script does not know");
            };
            self.now += STEP;
            self.scheduler.advance(self.now);
            let applied = self.scheduler.apply(Change::Deleted, pod);
            applied.unwrap_or_else(|error| panic!("{error}"));
        }
        let assumed = self.scheduler.assume(decision.pod, node);
        assert_eq!(assumed, Ok(true), "the pod waits for its node");
        self.scheduler.seen_bound(decision.pod);
    }

    /// What an attempt came to, for who judges it.
    fn told(&self, decision: &Decision) -> Value {
        let full = |pod| {
            let (namespace, name) = self.scheduler.pod_name(pod);
            format!("{namespace}/{name}")
        };
        let mut told = json!({"pod": full(decision.pod), "evaluated": decision.evaluated});
        if let Outcome::Scheduled(node) = decision.outcome {
            told["node"] = json!(self.scheduler.node(node).name);
        } else {
            let record = self.scheduler.record(decision, Detail::None);
            told["message"] = json!(record.message);
        }
        if let PostFilter::Placed { node, .. } = decision.post_filter {
            told["nominated"] = json!(self.scheduler.node(node).name);
            let victims = self.scheduler.victims().iter();
            told["victims"] = victims.map(|victim| json!(full(victim.pod))).collect();
        }
        told
    }
}

/// Follows the script twice, the first time for the time of each attempt and for `answers`, the second
/// time for everything else. After so many seconds no more attempts count.
pub fn run(
    script: &Script,
    fidelity: Fidelity,
    seconds: f64,
    mut answers: Option<&mut dyn Write>,
) -> Figures {
    let options = Options {
        fidelity,
        detail: Some(Detail::None),
        ..Options::default()
    };
    let capacities = script.capacities();
    let seconds = Duration::from_secs_f64(seconds);
    let mut first = Meter::new(script.measured(), (u64::MAX, seconds));
    follow(script, options, capacities, &mut first, true, &mut answers);
    let mut second = Meter::new(0, (first.so_far(), Duration::MAX));
    follow(script, options, capacities, &mut second, false, &mut None);
    let mut figures = second.figures();
    figures.set_parts(&mut first);
    figures.stated = capacities.bytes();
    figures
}

fn follow(
    script: &Script,
    options: Options,
    capacities: Capacities,
    meter: &mut Meter,
    each: bool,
    answers: &mut Option<&mut dyn Write>,
) {
    let mut course = Course::new(script, options, capacities);
    let mut at = 0;
    while at < script.steps.len() && !meter.is_full() {
        match &script.steps[at] {
            Step::Measure => {
                meter.begin();
                at += 1;
            }
            Step::Turns(count) => {
                turns(&mut course, *count, meter, each, answers);
                at += 1;
            }
            Step::Apply(..) => {
                let queues = queues(&script.steps[at]);
                let run = script.steps[at..].iter();
                let end = at + run.take_while(|step| queues_as(step, queues)).count();
                let begin = Instant::now();
                (at..end).for_each(|at| course.apply(at));
                meter.changes(queues, end - at, begin.elapsed());
                (at..end).for_each(|at| course.remember(at));
                at = end;
            }
        }
    }
    meter.end();
}

/// Whether a change brings a pod to the queue.
fn queues(step: &Step) -> bool {
    let Step::Apply(Change::Added, object) = step else {
        return false;
    };
    matches!(&**object, Object::Pod(pod) if pod.spec.node_name.is_empty())
}

fn queues_as(step: &Step, expected: bool) -> bool {
    matches!(step, Step::Apply(..)) && queues(step) == expected
}

fn turns(
    course: &mut Course<'_>,
    count: usize,
    meter: &mut Meter,
    each: bool,
    answers: &mut Option<&mut dyn Write>,
) {
    let mut told = Vec::new();
    let mut victims = Duration::ZERO;
    let all = Instant::now();
    for _ in 0..count {
        if meter.is_full() {
            break;
        }
        let begin = each.then(Instant::now);
        let Some(decision) = course.turn() else {
            break;
        };
        if let Some(begin) = begin {
            meter.attempt(begin.elapsed());
        }
        meter.count(matches!(decision.outcome, Outcome::Scheduled(_)));
        if answers.is_some() {
            told.push(course.told(&decision));
        }
        if decision.post_filter != PostFilter::Absent {
            let begin = Instant::now();
            course.evict(&decision);
            victims += begin.elapsed();
        }
    }
    meter.attempts(all.elapsed().saturating_sub(victims));
    meter.changes(false, 0, victims);
    if let Some(answers) = answers {
        writeln!(answers, "{}", json!(told)).expect("answers are written");
    }
}
