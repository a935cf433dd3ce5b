//! A run through the whole loop of the core, in virtual time, with the API server's part beside it.
//!
//! The clock rule and what the API server does are those of `tests/golden/README.md`.

use crate::golden::full_name;
use crate::object::object;
use crate::replay::Replay;
use crate::run::{Run, Step};
use berth_core::id::PodId;
use berth_core::plugins::Plugin;
use berth_core::{
    BindOutcome, Change, Decision, Detail, Nomination, Options, Outcome, QueuePart, VictimKind,
    VolumesBound,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};

/// 2000-01-01T00:00:00Z, in nanoseconds since 1970.
const START: u64 = 946_684_800_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// Bytes of an event's text at most.
const NOTE_MAX: usize = 1024;

/// A scheduler, and the objects that it hears of.
pub struct VirtualTime {
    pub replay: Replay,
    /// Milliseconds since the start.
    pub ms: u64,
    objects: BTreeMap<(String, String), Value>,
    graceful_deletion: bool,
    attempts: Vec<Value>,
    /// What is to be recorded of each step so far.
    pub steps: Vec<Value>,
    /// Pods that wait for their volumes, in the order of their attempts.
    binding: VecDeque<Binding>,
    /// Attempts that the core made.
    pub made: usize,
}

/// A pod that is bound when its volumes are.
struct Binding {
    due: u64,
    id: PodId,
    pod: String,
    node: String,
    /// Step of the attempt, and its place there.
    attempt: (usize, usize),
}

impl VirtualTime {
    /// An empty cluster with room for everything in the run.
    pub fn new(run: &Run) -> Self {
        let (mut nodes, mut pods) = (0, 0);
        for (step, _) in &run.steps {
            match step {
                Step::Add { kind, objects } if kind == "Node" => nodes += objects.len(),
                Step::Add { kind, objects } if kind == "Pod" => pods += objects.len(),
                _ => {}
            }
        }
        let options = Options {
            batching: run.feature_gates.get("OpportunisticBatching").copied(),
            ..Options::default()
        };
        let mut replay = Replay::new(run.config.as_ref(), options, nodes, pods);
        replay.scheduler.advance(START);
        Self {
            replay,
            ms: 0,
            objects: BTreeMap::new(),
            graceful_deletion: run.graceful_deletion,
            attempts: Vec::new(),
            steps: Vec::new(),
            binding: VecDeque::new(),
            made: 0,
        }
    }

    /// Does a step, and records it.
    pub fn take(&mut self, step: &Step) {
        let mut skipped = Vec::new();
        match step {
            Step::Add { kind, objects } => {
                for json in objects {
                    self.tick();
                    let name = full_name(json);
                    self.objects.insert((kind.clone(), name), json.clone());
                    self.tell(Change::Added, kind, json);
                }
            }
            Step::Update { kind, objects } => {
                for json in objects {
                    self.tick();
                    let key = (kind.clone(), full_name(json));
                    match self.objects.get(&key) {
                        Some(old) => {
                            let json = replaced(kind, old, json);
                            self.set(kind, json);
                        }
                        None => skipped.push(full_name(json)),
                    }
                }
            }
            Step::Delete {
                kind,
                namespace,
                name,
            } => {
                self.tick();
                let name = format!("{namespace}/{name}");
                if !self.delete(kind, &name) {
                    skipped.push(name);
                }
            }
            Step::Settle => self.settle(),
            Step::Advance { seconds } => {
                let end = self.ms + (seconds * 1000.0).round() as u64;
                self.settle();
                while self.ms < end {
                    self.go_on((self.ms / 100 * 100 + 100).min(end));
                    self.settle();
                }
            }
        }
        let mut recorded = json!({"step": self.steps.len(), "ms": self.ms});
        if !skipped.is_empty() {
            recorded["skipped"] = json!(skipped);
        }
        let attempts = std::mem::take(&mut self.attempts);
        if !attempts.is_empty() {
            recorded["attempts"] = json!(attempts);
        }
        let queues = self.queues();
        if !queues.is_empty() {
            recorded["queues"] = json!(queues);
        }
        self.steps.push(recorded);
    }

    fn now(&self) -> u64 {
        START + self.ms * MILLISECOND
    }

    fn tick(&mut self) {
        self.go_on(self.ms + 1);
    }

    /// Moves the clock; pods whose volumes are bound by then are bound at their time.
    fn go_on(&mut self, ms: u64) {
        while let Some(next) = self.binding.pop_front_if(|next| next.due <= ms) {
            self.ms = next.due;
            self.replay.scheduler.advance(self.now());
            self.end_binding(&next);
        }
        self.ms = ms;
        self.replay.scheduler.advance(self.now());
    }

    fn end_binding(&mut self, binding: &Binding) {
        let now = self.now();
        let scheduler = &mut self.replay.scheduler;
        if scheduler.volumes_bound(binding.id, now) != VolumesBound::Yes
            || !scheduler.pre_bound(binding.id)
        {
            scheduler.bound(binding.id, BindOutcome::Failed, now);
            return;
        }
        self.bind(binding.id, &binding.pod, &binding.node);
        let (step, attempt) = binding.attempt;
        let attempts = match self.steps.get_mut(step) {
            Some(step) => step["attempts"].as_array_mut().expect("it was recorded"),
            None => &mut self.attempts,
        };
        attempts[attempt]["boundMs"] = json!(self.ms);
    }

    fn settle(&mut self) {
        loop {
            if !self.replay.scheduler.has_ready() {
                return;
            }
            if let Some(decision) = self.replay.scheduler.schedule_one(self.now()) {
                self.made += 1;
                self.follow(&decision);
                self.tick();
            }
        }
    }

    /// What the API server and the binding do after an attempt, and its record.
    fn follow(&mut self, decision: &Decision) {
        let record = self.replay.scheduler.record(decision, Detail::Reasons);
        let pod = record.pod.clone();
        let mut attempt = json!({"ms": self.ms, "pod": pod, "try": decision.attempt});
        if let Outcome::Scheduled(_) = decision.outcome {
            let node = record.node.expect("a scheduled pod has a node");
            attempt["node"] = json!(node);
            attempt["evaluated"] = json!(decision.evaluated);
            attempt["feasible"] = json!(decision.feasible);
            let volumes = self.replay.bind_volumes(decision.pod);
            if volumes.is_empty() {
                attempt["boundMs"] = json!(self.ms);
                self.bind(decision.pod, &pod, &node);
            } else {
                attempt["volumes"] = json!(volumes);
                let nominated = self.patch(&pod, None, Some(&node), "");
                attempt["patches"] = json!([nominated.expect("the node is news")]);
                self.binding.push_back(Binding {
                    due: self.ms + 1000,
                    id: decision.pod,
                    pod,
                    node,
                    attempt: (self.steps.len(), self.attempts.len()),
                });
            }
            self.attempts.push(attempt);
            return;
        }
        let Some(reason) = decision.reason() else {
            return;
        };
        let message = record
            .message
            .or(record.error)
            .expect("a failure has a text");
        attempt["reason"] = json!(reason.as_str());
        let mut plugins: Vec<&str> = decision.rejectors.iter().map(Plugin::name).collect();
        plugins.sort_unstable();
        if !plugins.is_empty() {
            attempt["plugins"] = json!(plugins);
        }
        attempt["message"] = json!(cut(&message));
        let mut patches = Vec::new();
        let displaced = self.names(self.replay.scheduler.displaced());
        let victims = self.replay.scheduler.victims().iter();
        let victims = victims.filter(|victim| victim.kind == VictimKind::Evict);
        let victims: Vec<PodId> = victims.map(|victim| victim.pod).collect();
        let evicted = self.names(&victims);
        let nomination = match decision.nomination {
            Nomination::Keep => None,
            Nomination::Clear => Some(String::new()),
            Nomination::Node(node) => Some(self.replay.scheduler.node(node).name.to_owned()),
        };
        let condition = json!({"type": "PodScheduled", "status": "False",
            "reason": reason.as_str(), "message": message});
        patches.extend(self.patch(&pod, Some(condition), nomination.as_deref(), &message));
        for name in &displaced {
            patches.extend(self.patch(name, None, Some(""), &message));
        }
        let profile = record.profile;
        for name in &evicted {
            let condition = json!({"type": "DisruptionTarget", "status": "True",
                "reason": "PreemptionByScheduler",
                "message": format!("{profile}: preempting to accommodate a higher priority pod")});
            patches.extend(self.patch(name, Some(condition), None, &message));
            self.evict(name);
        }
        if !evicted.is_empty() {
            attempt["evicted"] = json!(evicted);
        }
        patches.sort_by_key(|patch: &Value| patch["pod"].as_str().map(str::to_owned));
        if !patches.is_empty() {
            attempt["patches"] = json!(patches);
        }
        self.attempts.push(attempt);
    }

    fn bind(&mut self, id: PodId, pod: &str, node: &str) {
        let mut json = self.pod(pod).clone();
        json["spec"]["nodeName"] = json!(node);
        if let Some(status) = json["status"].as_object_mut() {
            status.remove("nominatedNodeName");
        }
        set_condition(&mut json, json!({"type": "PodScheduled", "status": "True"}));
        let now = self.now();
        assert!(self.replay.scheduler.bound(id, BindOutcome::Bound, now));
        self.set("Pod", json);
    }

    /// Writes to a pod's status; `None` if nothing changes or the pod is gone.
    fn patch(
        &mut self,
        pod: &str,
        condition: Option<Value>,
        nomination: Option<&str>,
        message: &str,
    ) -> Option<Value> {
        let mut json = self
            .objects
            .get(&("Pod".to_owned(), pod.to_owned()))?
            .clone();
        let mut patch = json!({"pod": pod});
        if let Some(mut condition) = condition
            && set_condition(&mut json, condition.clone())
        {
            if condition["message"] == message {
                condition.as_object_mut()?.remove("message");
            }
            patch["condition"] = condition;
        }
        let old = json["status"]["nominatedNodeName"]
            .as_str()
            .unwrap_or_default();
        if let Some(node) = nomination
            && node != old
        {
            json["status"]["nominatedNodeName"] = json!(node);
            patch["nominatedNodeName"] = json!(node);
        }
        if patch.as_object()?.len() == 1 {
            return None;
        }
        self.set("Pod", json);
        Some(patch)
    }

    fn evict(&mut self, pod: &str) {
        let bound = self.pod(pod)["spec"]["nodeName"].is_string();
        if self.graceful_deletion && bound {
            let mut json = self.pod(pod).clone();
            json["metadata"]["deletionTimestamp"] = json!("2000-01-01T00:00:00Z");
            self.set("Pod", json);
        } else {
            self.delete("Pod", pod);
        }
    }

    fn pod(&self, name: &str) -> &Value {
        let key = ("Pod".to_owned(), name.to_owned());
        self.objects
            .get(&key)
            .unwrap_or_else(|| panic!("{name} is gone"))
    }

    fn set(&mut self, kind: &str, json: Value) {
        self.tell(Change::Modified, kind, &json);
        let key = (kind.to_owned(), full_name(&json));
        self.objects.insert(key, json);
    }

    fn delete(&mut self, kind: &str, name: &str) -> bool {
        let key = (kind.to_owned(), name.to_owned());
        let Some(json) = self.objects.remove(&key) else {
            return false;
        };
        self.tell(Change::Deleted, kind, &json);
        true
    }

    fn tell(&mut self, change: Change, kind: &str, json: &Value) {
        self.replay.apply(change, &object(kind, json));
    }

    fn names(&self, pods: &[PodId]) -> Vec<String> {
        let name = |pod: &PodId| {
            let (namespace, name) = self.replay.scheduler.pod_name(*pod);
            format!("{namespace}/{name}")
        };
        pods.iter().map(name).collect()
    }

    fn queues(&self) -> Map<String, Value> {
        let scheduler = &self.replay.scheduler;
        let mut queues: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for pod in scheduler.pods() {
            let queue = match scheduler.queue_part(pod) {
                Some(QueuePart::Active) => "active",
                Some(QueuePart::Backoff) => "backoff",
                Some(QueuePart::Unschedulable | QueuePart::Gated) => "unschedulable",
                _ => continue,
            };
            queues.entry(queue).or_default().extend(self.names(&[pod]));
        }
        queues
            .into_iter()
            .map(|(queue, mut pods)| {
                pods.sort();
                (queue.to_owned(), json!(pods))
            })
            .collect()
    }
}

/// The object that an update makes of `old`.
fn replaced(kind: &str, old: &Value, new: &Value) -> Value {
    let mut json = new.clone();
    if kind != "Pod" {
        return json;
    }
    for (part, field) in [
        ("metadata", "uid"),
        ("metadata", "deletionTimestamp"),
        ("spec", "nodeName"),
        ("status", "conditions"),
        ("status", "nominatedNodeName"),
    ] {
        if json[part][field].is_null() && !old[part][field].is_null() {
            json[part][field] = old[part][field].clone();
        }
    }
    json
}

/// Sets a condition of a pod by its type; whether that changes anything.
fn set_condition(pod: &mut Value, condition: Value) -> bool {
    let conditions = &mut pod["status"]["conditions"];
    if conditions.is_null() {
        *conditions = json!([]);
    }
    let list = conditions.as_array_mut().expect("conditions are a list");
    match list.iter_mut().find(|own| own["type"] == condition["type"]) {
        Some(own) if *own == condition => return false,
        Some(own) => *own = condition,
        None => list.push(condition),
    }
    true
}

/// A text as events carry it.
pub fn cut(message: &str) -> String {
    if message.len() <= NOTE_MAX {
        return message.to_owned();
    }
    let mut end = NOTE_MAX - 4;
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{} ...", &message[..end])
}
