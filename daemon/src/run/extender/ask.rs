//! The loop's questions in the middle of an attempt.
//!
//! Mirrors `findNodesThatPassExtenders` and `prioritizeNodes` of `pkg/scheduler/schedule_one.go`, and
//! `callExtenders` of `framework/preemption/preemption.go`. The attempt waits for the answers, and the
//! loop with it, each time for `httpTimeout` at most; what runs beside the loop goes on: watches, writes,
//! election and endpoints are tasks of their own.

use super::wire::{Args, MetaPod, NodeList, PreemptionArgs, Victims};
use super::{Extender, said};
use crate::run::kept::{Kept, on_node};
use crate::run::metrics::Metrics;
use crate::run::stopwatch::Stopwatch;
use berth_core::id::{NodeId, PodId};
use berth_core::plugins::{Plugin, Point};
use berth_core::{Candidates, ExtenderNodes, ExtenderTexts, Hooks, Scheduler};
use berth_daemon::extender_answer::{self, Filtered, Left};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Scores of extenders go to 10, those of plugins to 100.
const SCALE: i64 = 10;

/// The extenders, and what they said in the last attempt.
pub struct Extenders {
    list: Vec<Arc<Extender>>,
    metrics: Arc<Metrics>,
    /// Why nodes went.
    reasons: Vec<String>,
    /// Places of the reasons.
    known: HashMap<String, u32>,
    /// What failed the attempt, or its preemption.
    error: String,
}

impl Extenders {
    /// In the order in which they are asked.
    pub fn new(list: Vec<Arc<Extender>>, metrics: Arc<Metrics>) -> Self {
        Self {
            list,
            metrics,
            reasons: Vec::new(),
            known: HashMap::new(),
            error: String::new(),
        }
    }

    /// What was said in the last attempt.
    pub fn texts(&self) -> ExtenderTexts<'_> {
        ExtenderTexts {
            reasons: &self.reasons,
            error: &self.error,
        }
    }

    /// The one that binds a pod.
    pub fn binder(&self, pod: PodId, kept: &Kept) -> Option<Arc<Extender>> {
        let mut all = self.list.iter();
        let binder = all.find(|own| own.is_binder())?;
        let text = kept.pod(pod)?.get();
        let pod: Value = serde_json::from_str(text).unwrap_or_default();
        binder.is_interested(&pod).then(|| binder.clone())
    }

    fn begin(&mut self) {
        self.reasons.clear();
        self.known.clear();
        self.error.clear();
    }

    fn reason(&mut self, text: String) -> u32 {
        if let Some(known) = self.known.get(&text) {
            return *known;
        }
        let place = u32::try_from(self.reasons.len()).unwrap_or(u32::MAX);
        self.known.insert(text.clone(), place);
        self.reasons.push(text);
        place
    }

    /// Those with a verb that are interested in a pod.
    fn asked(&self, pod: &RawValue, verb: fn(&Extender) -> &str) -> Vec<Arc<Extender>> {
        let pod: Value = serde_json::from_str(pod.get()).unwrap_or_default();
        let asked = self.list.iter();
        let asked = asked.filter(|own| !verb(own).is_empty() && own.is_interested(&pod));
        asked.cloned().collect()
    }
}

/// The hooks of one attempt.
pub struct Asking<'a> {
    watch: &'a mut Stopwatch,
    extenders: &'a mut Extenders,
    kept: &'a Kept,
}

impl<'a> Asking<'a> {
    /// Forgets what was said before.
    pub fn begin(watch: &'a mut Stopwatch, extenders: &'a mut Extenders, kept: &'a Kept) -> Self {
        extenders.begin();
        Self {
            watch,
            extenders,
            kept,
        }
    }

    fn pod(&self, pod: PodId) -> Result<&'a RawValue, String> {
        let text = self.kept.pod(pod);
        text.ok_or_else(|| "the pod's object is not at hand".to_owned())
    }

    /// The same; that it is not at hand is kept as the error.
    fn known(&mut self, pod: PodId) -> Option<&'a RawValue> {
        let found = self.pod(pod);
        found.map_err(|error| self.extenders.error = error).ok()
    }

    /// A victim as kube-scheduler's cache holds it: with its node, though that may not be written yet.
    fn victim(&self, scheduler: &Scheduler, pod: PodId) -> Result<Cow<'a, RawValue>, String> {
        let text = self.pod(pod)?;
        let node = scheduler.node_of(pod).filter(|_| scheduler.is_assumed(pod));
        Ok(match node {
            Some(node) => Cow::Owned(on_node(text, scheduler.node(node).name)),
            None => Cow::Borrowed(text),
        })
    }

    /// What a request about nodes says.
    fn args(
        &self,
        extender: &Extender,
        scheduler: &Scheduler,
        pod: &RawValue,
        nodes: &[NodeId],
    ) -> Result<Vec<u8>, String> {
        let is_capable = extender.config.node_cache_capable;
        let name = |node: &NodeId| scheduler.node(*node).name;
        let object = |node: &NodeId| {
            let text = self.kept.node(*node);
            text.ok_or_else(|| format!("the object of node {:?} is not at hand", name(node)))
        };
        let list = (!is_capable).then(|| nodes.iter().map(object).collect::<Result<_, _>>());
        let args = Args {
            pod,
            nodes: list.transpose()?.map(NodeList::of),
            node_names: is_capable.then(|| nodes.iter().map(name).collect()),
        };
        serde_json::to_vec(&args).map_err(|error| said(&error))
    }

    /// What one extender leaves of the nodes.
    fn filter(
        &mut self,
        extender: &Extender,
        scheduler: &Scheduler,
        pod: &RawValue,
        nodes: &[NodeId],
    ) -> Result<(Vec<NodeId>, Vec<Gone>), String> {
        let config = &extender.config;
        let body = self.args(extender, scheduler, pod, nodes)?;
        let answer = wait(extender.send(&config.filter_verb, body))?;
        let Filtered { kept, failed } =
            extender_answer::filtered(&answer, config.node_cache_capable)?;
        let name = |node: &NodeId| (scheduler.node(*node).name, *node);
        let sent: HashMap<&str, NodeId> = nodes.iter().map(name).collect();
        let find = |node: &str, what: &str| {
            let found = sent.get(node).copied();
            found.ok_or_else(|| {
                let url = extender.name();
                format!(
                    "extender {url:?} claims a {what} node {node:?} which is not found in the input node list"
                )
            })
        };
        let mut left = Vec::with_capacity(kept.len());
        let mut is_left = HashSet::new();
        for node in &kept {
            let node = find(node, "filtered")?;
            if is_left.insert(node) {
                left.push(node);
            }
        }
        let mut gone = Vec::with_capacity(failed.len());
        for (node, why, unresolvable) in failed {
            let id = find(&node, "failed")?;
            if is_left.contains(&id) {
                let url = extender.name();
                return Err(format!(
                    "extender {url:?} claims node {node:?} to be both filtered and failed"
                ));
            }
            gone.push((id, why, unresolvable));
        }
        let gone = gone
            .into_iter()
            .map(|(node, why, unresolvable)| (node, self.extenders.reason(why), unresolvable));
        Ok((left, gone.collect()))
    }

    /// What one extender leaves of the candidates.
    fn preempt(
        &self,
        extender: &Extender,
        scheduler: &Scheduler,
        pod: &RawValue,
        candidates: &[Candidate],
    ) -> Result<Vec<Candidate>, String> {
        let config = &extender.config;
        let body = self.preemption_args(extender, scheduler, pod, candidates)?;
        let answer = wait(extender.send(&config.preempt_verb, body))?;
        let by_uid: HashMap<&str, PodId> = scheduler
            .pods()
            .filter(|pod| scheduler.node_of(*pod).is_some())
            .map(|pod| (scheduler.pod_uid(pod), pod))
            .collect();
        let mut left = Vec::new();
        for Left {
            node: name,
            victims: uids,
            violations,
        } in extender_answer::left(&answer)?
        {
            let node = scheduler
                .find_node(&name)
                .ok_or_else(|| format!("nodeinfo not found for node name {name:?}"))?;
            let mut victims = Vec::new();
            for uid in uids {
                let pod = by_uid.get(uid.as_str()).copied();
                let pod = pod.filter(|pod| scheduler.node_of(*pod) == Some(node));
                let pod = pod.ok_or_else(|| {
                    let url = extender.name();
                    format!(
                        "extender: {url} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, but the pod is not found on that node"
                    )
                })?;
                if !victims.contains(&pod) {
                    victims.push(pod);
                }
            }
            if victims.is_empty() {
                if extender.is_ignorable() {
                    tracing::info!(target: "extender", node = name, extender = extender.name(), "Ignored node for which the extender didn't report victims");
                    continue;
                }
                return Err(format!("expected at least one victim pod on node {name:?}"));
            }
            left.push((node, victims, violations));
        }
        // Go's map loses the order; here that of the candidates stays, and others come by name.
        let place = |node: NodeId| candidates.iter().position(|(own, ..)| *own == node);
        left.sort_by_key(|(node, ..)| {
            let place = place(*node).unwrap_or(usize::MAX);
            (place, scheduler.node(*node).name)
        });
        Ok(left)
    }

    fn preemption_args(
        &self,
        extender: &Extender,
        scheduler: &Scheduler,
        pod: &RawValue,
        candidates: &[Candidate],
    ) -> Result<Vec<u8>, String> {
        let is_capable = extender.config.node_cache_capable;
        let name = |node: NodeId| scheduler.node(node).name;
        let meta = candidates.iter().map(|(node, victims, violations)| {
            let pods = victims.iter().map(|victim| MetaPod {
                uid: scheduler.pod_uid(*victim),
            });
            let (pods, violations) = (pods.collect(), *violations);
            (name(*node), Victims { pods, violations })
        });
        let whole = candidates.iter().map(|(node, victims, violations)| {
            let pods = victims.iter().map(|victim| self.victim(scheduler, *victim));
            let (pods, violations) = (pods.collect::<Result<_, _>>()?, *violations);
            Ok::<_, String>((name(*node), Victims { pods, violations }))
        });
        let whole = (!is_capable).then(|| whole.collect::<Result<_, _>>());
        let args = PreemptionArgs {
            pod,
            node_name_to_victims: whole.transpose()?,
            node_name_to_meta_victims: is_capable.then(|| meta.collect()),
        };
        serde_json::to_vec(&args).map_err(|error| said(&error))
    }

    /// Whether an error does not matter; otherwise it is kept.
    fn passes(&mut self, extender: &Extender, error: &str) -> bool {
        let name = extender.name();
        if extender.is_ignorable() {
            tracing::info!(target: "extender", extender = name, error, "Skipping extender as it returned error and has ignorable flag set");
        } else {
            tracing::warn!(target: "extender", extender = name, error, "An extender failed");
            error.clone_into(&mut self.extenders.error);
        }
        extender.is_ignorable()
    }
}

/// A node that goes, the place of the reason, and whether no preemption helps.
type Gone = (NodeId, u32, bool);

/// Node, victims in order of importance, violated budgets.
type Candidate = (NodeId, Vec<PodId>, i64);

impl Hooks for Asking<'_> {
    fn enters(&mut self, point: Point, plugin: Option<Plugin>) {
        #[cfg(test)]
        planted::fail();
        self.watch.enters(point, plugin);
    }

    fn extenders_filter(
        &mut self,
        scheduler: &Scheduler,
        pod: PodId,
        nodes: &mut ExtenderNodes,
    ) -> bool {
        let Some(pod) = self.known(pod) else {
            return false;
        };
        let mut left = nodes.nodes().to_vec();
        for extender in self.extenders.asked(pod, |own| &own.config.filter_verb) {
            if left.is_empty() {
                break;
            }
            match self.filter(&extender, scheduler, pod, &left) {
                Ok((kept, gone)) => {
                    for (node, text, unresolvable) in gone {
                        nodes.refuse(node, text, unresolvable);
                    }
                    left = kept;
                }
                Err(error) if self.passes(&extender, &error) => {}
                Err(_) => return false,
            }
        }
        nodes.keep(&left)
    }

    fn extenders_score(
        &mut self,
        scheduler: &Scheduler,
        pod: PodId,
        nodes: &[NodeId],
        totals: &mut [i64],
    ) {
        let Ok(pod) = self.pod(pod) else {
            return;
        };
        let asked = self.extenders.asked(pod, |own| &own.config.prioritize_verb);
        // All at once, as upstream asks.
        let calls = asked.into_iter().map(|extender| {
            let body = self.args(&extender, scheduler, pod, nodes);
            let own = extender.clone();
            let call = async move { own.send(&own.config.prioritize_verb, body?).await };
            (extender, tokio::spawn(call))
        });
        let calls: Vec<_> = calls.collect();
        let metrics = self.extenders.metrics.clone();
        metrics.prioritizing(calls.len());
        for (extender, call) in calls {
            let answer = wait(call).map_err(|error| said(&error)).flatten();
            let scores = answer.and_then(|answer| extender_answer::scored(&answer));
            let weight = extender.config.weight;
            let added = scores.and_then(|scores| {
                add(&scores, weight, scheduler, nodes, totals).ok_or_else(|| {
                    metrics.void_scores(extender.name());
                    "its scores leave 64 bits and count nothing".to_owned()
                })
            });
            if let Err(error) = added {
                let name = extender.name();
                tracing::info!(target: "extender", extender = name, error, "Failed to run extender's priority function. No score given by this extender.");
            }
        }
        metrics.prioritizing(0);
    }

    fn extenders_preempt(
        &mut self,
        scheduler: &Scheduler,
        preemptor: PodId,
        candidates: &mut Candidates,
    ) -> bool {
        let Some(pod) = self.known(preemptor) else {
            return false;
        };
        let mut left: Vec<Candidate> = candidates
            .iter()
            .map(|(node, victims, violations)| (node, victims.to_vec(), violations))
            .collect();
        for extender in self.extenders.asked(pod, |own| &own.config.preempt_verb) {
            match self.preempt(&extender, scheduler, pod, &left) {
                Ok(kept) => left = kept,
                Err(error) if self.passes(&extender, &error) => {}
                Err(_) => return false,
            }
            if left.is_empty() {
                break;
            }
        }
        candidates.clear();
        let mut all = left.iter();
        all.all(|(node, victims, violations)| candidates.push(*node, victims, *violations))
    }
}

/// Adds an extender's scores to the totals, all or, beyond 64 bits, none.
fn add(
    scores: &[(String, i64)],
    weight: i64,
    scheduler: &Scheduler,
    nodes: &[NodeId],
    totals: &mut [i64],
) -> Option<()> {
    let names = nodes.iter().map(|node| scheduler.node(*node).name);
    let mut sums: HashMap<&str, i64> = names.zip(totals.iter().copied()).collect();
    for (host, score) in scores {
        if let Some(sum) = sums.get_mut(host.as_str()) {
            let score = score.checked_mul(weight)?.checked_mul(SCALE)?;
            *sum = sum.checked_add(score)?;
        }
    }
    for (node, total) in nodes.iter().zip(totals) {
        let sum = sums.get(scheduler.node(*node).name);
        *total = sum.copied().unwrap_or(*total);
    }
    Some(())
}

/// Waits for an answer in the middle of an attempt. The thread's other tasks move to another one.
fn wait<T>(answer: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(answer))
}

/// What a test has fail in the middle of an attempt.
#[cfg(test)]
pub mod planted {
    use std::cell::Cell;

    thread_local! {
        pub static FAILURES: Cell<u32> = const { Cell::new(0) };
    }

    pub(super) fn fail() {
        let left = FAILURES.get();
        FAILURES.set(left.saturating_sub(1));
        assert!(left == 0, "planted");
    }
}
