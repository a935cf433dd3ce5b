//! Metrics, under kube-scheduler's names, and Berth's own.
//!
//! Mirrors `pkg/scheduler/metrics/metrics.go`: names, labels and buckets are upstream's.

use super::gates::{self, Gates};
use super::model::{Model, Refused};
use super::shadow::Verdict;
use super::stopwatch::{Points, Stopwatch};
use super::writer::BINDINGS_MAX;
use berth_core::{Decision, PostFilter, Reason};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::sync::atomic::Ordering;
use std::time::Duration;

type Labels<const N: usize> = [(&'static str, String); N];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Attempted {
    result: &'static str,
    profile: String,
}

/// All metrics, and where they are registered.
pub struct Metrics {
    registry: Registry,
    /// Extension points and plugins.
    pub points: Points,
    schedule_attempts: Family<Attempted, Counter>,
    attempt_duration: Family<Attempted, Histogram>,
    algorithm_duration: Histogram,
    pod_attempts: Histogram,
    sli_duration: Family<Labels<1>, Histogram>,
    pending_pods: Family<Labels<1>, Gauge>,
    incoming_pods: Family<Labels<2>, Counter>,
    permit_wait: Family<Labels<1>, Histogram>,
    unschedulable_pods: Family<Labels<2>, Gauge>,
    preemption_attempts: Counter,
    preemption_victims: Histogram,
    preemptions: Family<Labels<1>, Counter>,
    preemption_tasks: Family<Labels<1>, Histogram>,
    preemption_execution: Family<Labels<2>, Histogram>,
    queued_entities: Family<Labels<2>, Gauge>,
    cache_size: Family<Labels<1>, Gauge>,
    goroutines: Family<Labels<1>, Gauge>,
    master_status: Family<Labels<1>, Gauge>,
    refused_objects: Family<Labels<1>, Counter>,
    judged: Family<Labels<1>, Counter>,
    unchecked_certificates: Family<Labels<1>, Gauge>,
    void_scores: Family<Labels<1>, Counter>,
    memory_planned: Gauge,
    bindings_room: Gauge,
}

fn seconds(start: f64, factor: f64, count: u16) -> Histogram {
    Histogram::new(exponential_buckets(start, factor, count))
}

fn attempt_buckets() -> Histogram {
    seconds(0.001, 2.0, 15)
}

fn execution_buckets() -> Histogram {
    seconds(0.001, 2.0, 16)
}

fn sli_buckets() -> Histogram {
    seconds(0.01, 2.0, 20)
}

impl Metrics {
    /// All of them at 0, with what runs here and which gates are on.
    pub fn new(gates: &Gates) -> Self {
        let mut registry = Registry::default();
        let points = Points::new(registry.sub_registry_with_prefix("scheduler"));
        let mut metrics = Self {
            registry,
            points,
            schedule_attempts: Family::default(),
            attempt_duration: Family::new_with_constructor(attempt_buckets),
            algorithm_duration: attempt_buckets(),
            pod_attempts: seconds(1.0, 2.0, 5),
            sli_duration: Family::new_with_constructor(sli_buckets),
            pending_pods: Family::default(),
            incoming_pods: Family::default(),
            permit_wait: Family::new_with_constructor(attempt_buckets),
            unschedulable_pods: Family::default(),
            preemption_attempts: Counter::default(),
            preemption_victims: seconds(1.0, 2.0, 7),
            preemptions: Family::default(),
            preemption_tasks: Family::new_with_constructor(sli_buckets),
            preemption_execution: Family::new_with_constructor(execution_buckets),
            queued_entities: Family::default(),
            cache_size: Family::default(),
            goroutines: Family::default(),
            master_status: Family::default(),
            refused_objects: Family::default(),
            judged: Family::default(),
            unchecked_certificates: Family::default(),
            void_scores: Family::default(),
            memory_planned: Gauge::default(),
            bindings_room: Gauge::default(),
        };
        metrics.register();
        metrics.describe(gates);
        metrics
    }

    fn register(&mut self) {
        let own = self.registry.sub_registry_with_prefix("berth");
        own.register(
            "refused_objects",
            "Objects that could not be taken in",
            self.refused_objects.clone(),
        );
        own.register(
            "shadow_choices",
            "Another scheduler's choices, by what they come to here",
            self.judged.clone(),
        );
        own.register(
            "unchecked_certificates",
            "Servers that are asked though their certificate is not checked",
            self.unchecked_certificates.clone(),
        );
        own.register(
            "extender_void_scores",
            "Answers of extenders whose scores leave 64 bits and count nothing",
            self.void_scores.clone(),
        );
        own.register(
            "memory_planned_bytes",
            "Bytes that the core's tables take",
            self.memory_planned.clone(),
        );
        own.register(
            "bindings_room",
            "Bindings that could begin at once",
            self.bindings_room.clone(),
        );
        let scheduler = self.registry.sub_registry_with_prefix("scheduler");
        scheduler.register(
            "schedule_attempts",
            "Number of attempts to schedule pods, by the result",
            self.schedule_attempts.clone(),
        );
        scheduler.register(
            "scheduling_attempt_duration_seconds",
            "Scheduling attempt latency in seconds",
            self.attempt_duration.clone(),
        );
        scheduler.register(
            "scheduling_algorithm_duration_seconds",
            "Scheduling algorithm latency in seconds",
            self.algorithm_duration.clone(),
        );
        scheduler.register(
            "pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod",
            self.pod_attempts.clone(),
        );
        scheduler.register(
            "pod_scheduling_sli_duration_seconds",
            "Time from a pod's first entry in the queue until it is bound",
            self.sli_duration.clone(),
        );
        scheduler.register(
            "pending_pods",
            "Number of pending pods, by the queue",
            self.pending_pods.clone(),
        );
        scheduler.register(
            "queue_incoming_pods",
            "Number of pods added to scheduling queues by event and queue type",
            self.incoming_pods.clone(),
        );
        scheduler.register(
            "permit_wait_duration_seconds",
            "Duration of waiting on permit",
            self.permit_wait.clone(),
        );
        scheduler.register(
            "unschedulable_pods",
            "Number of unschedulable pods by plugin",
            self.unschedulable_pods.clone(),
        );
        scheduler.register(
            "preemption_attempts",
            "Preemption attempts in the cluster till now",
            self.preemption_attempts.clone(),
        );
        scheduler.register(
            "preemption_victims",
            "Number of selected preemption victims",
            self.preemption_victims.clone(),
        );
        scheduler.register(
            "preemption_goroutines_execution",
            "Number of preemptions that were carried out, by the result",
            self.preemptions.clone(),
        );
        scheduler.register(
            "preemption_goroutines_duration_seconds",
            "Duration of preemptions that were carried out, by the result",
            self.preemption_tasks.clone(),
        );
        scheduler.register(
            "preemption_execution_duration_seconds",
            "Duration of preemptions that were carried out, by who has them and the result",
            self.preemption_execution.clone(),
        );
        scheduler.register(
            "queued_entities",
            "Number of queued pods, by the queue",
            self.queued_entities.clone(),
        );
        scheduler.register(
            "cache_size",
            "Number of nodes, pods, and assumed pods in the cache",
            self.cache_size.clone(),
        );
        scheduler.register(
            "goroutines",
            "Number of running tasks by the work they do",
            self.goroutines.clone(),
        );
        self.registry.register(
            "leader_election_master_status",
            "Whether this process leads",
            self.master_status.clone(),
        );
    }

    /// What does not change. Mirrors `prometheus/{version,feature}` of component-base.
    fn describe(&mut self, gates: &Gates) {
        let version = concat!("v1.37.2+berth-", env!("CARGO_PKG_VERSION"));
        let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
        let build = Family::<Labels<9>, Gauge>::default();
        let labels = [
            ("build_date", ""),
            ("compiler", "rustc"),
            ("git_commit", ""),
            ("git_tree_state", ""),
            ("git_version", version),
            ("go_version", ""),
            ("major", "1"),
            ("minor", "37"),
            ("platform", platform.as_str()),
        ];
        let labels = labels.map(|(name, value)| (name, value.to_owned()));
        build.get_or_create(&labels).set(1);
        let features = Family::<Labels<2>, Gauge>::default();
        for gate in gates::table() {
            let stage = if gate.stage == "GA" { "" } else { gate.stage };
            let labels = [("name", gate.name.to_owned()), ("stage", stage.to_owned())];
            let is_on = i64::from(gates.is_on(gate.name));
            features.get_or_create(&labels).set(is_on);
        }
        let own = self.registry.sub_registry_with_prefix("kubernetes");
        own.register("build_info", "What was built, as labels", build);
        let help = "Whether a feature is on, with its stage";
        own.register("feature_enabled", help, features);
    }

    /// Everything, as Prometheus reads it.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// An attempt was made; one that placed its pod counts when the pod is bound.
    pub fn attempt(&self, decision: &Decision, profile: &str, took: Duration) {
        self.algorithm_duration.observe(took.as_secs_f64());
        if !matches!(
            decision.post_filter,
            PostFilter::Absent | PostFilter::Nothing | PostFilter::Unprepared
        ) {
            self.preemption_attempts.inc();
        }
        match decision.reason() {
            Some(Reason::Unschedulable) => self.ended("unschedulable", profile, took),
            Some(Reason::SchedulerError) => self.ended("error", profile, took),
            None => {}
        }
    }

    fn ended(&self, result: &'static str, profile: &str, took: Duration) {
        let labels = self.count(result, profile);
        let family = self.attempt_duration.get_or_create(&labels);
        family.observe(took.as_secs_f64());
    }

    fn count(&self, result: &'static str, profile: &str) -> Attempted {
        let labels = Attempted {
            result,
            profile: profile.to_owned(),
        };
        self.schedule_attempts.get_or_create(&labels).inc();
        labels
    }

    /// A pod was bound, so many nanoseconds after it first waited and after its last attempt began.
    pub fn bound(&self, profile: &str, attempts: u32, waited: u64, took: u64) {
        self.ended("scheduled", profile, Duration::from_nanos(took));
        self.pod_attempts.observe(f64::from(attempts));
        let label = match attempts {
            15.. => "15+".to_owned(),
            attempts => attempts.to_string(),
        };
        let family = self.sli_duration.get_or_create(&[("attempts", label)]);
        family.observe(Duration::from_nanos(waited).as_secs_f64());
    }

    /// A binding came to nothing.
    pub fn binding_failed(&self, profile: &str) {
        self.count("error", profile);
    }

    /// A preemption found so many victims.
    pub fn victims(&self, count: usize) {
        self.preemption_victims.observe(count as f64);
    }

    /// A preemption was carried out, in so long a time.
    pub fn preempted(&self, succeeded: bool, took: Duration) {
        let result = if succeeded { "success" } else { "error" };
        let labels = [("result", result.to_owned())];
        self.preemptions.get_or_create(&labels).inc();
        let seconds = took.as_secs_f64();
        self.preemption_tasks
            .get_or_create(&labels)
            .observe(seconds);
        let [result] = labels;
        let labels = [("preemptor", "pod".to_owned()), result];
        self.preemption_execution
            .get_or_create(&labels)
            .observe(seconds);
    }

    /// Objects were not taken in.
    pub fn refused(&self, refused: &[Refused]) {
        for refused in refused {
            let labels = [("kind", refused.kind.to_owned())];
            self.refused_objects.get_or_create(&labels).inc();
        }
    }

    /// Another scheduler's choice was judged.
    pub fn judged(&self, verdict: Verdict) {
        let labels = [("verdict", verdict.as_str().to_owned())];
        self.judged.get_or_create(&labels).inc();
    }

    /// A server's certificate is not checked.
    pub fn unchecked(&self, server: &str) {
        let labels = [("server", server.to_owned())];
        self.unchecked_certificates.get_or_create(&labels).set(1);
    }

    /// What an extender scored counts nothing.
    pub fn void_scores(&self, extender: &str) {
        let labels = [("extender", extender.to_owned())];
        self.void_scores.get_or_create(&labels).inc();
    }

    /// So many extenders are being asked for scores.
    pub fn prioritizing(&self, extenders: usize) {
        let labels = [("operation", "prioritizing_extender".to_owned())];
        let gauge = self.goroutines.get_or_create(&labels);
        gauge.set(i64::try_from(extenders).unwrap_or(i64::MAX));
    }

    /// Whether this process leads.
    pub fn leads(&self, leads: bool) {
        let labels = [("name", "kube-scheduler".to_owned())];
        let gauge = self.master_status.get_or_create(&labels);
        gauge.set(i64::from(leads));
    }

    /// Gauges that are read off the model every second.
    pub fn beat(&self, model: &Model, bindings: usize, watch: &mut Stopwatch) {
        let scheduler = model.scheduler();
        self.points.flush(watch);
        for (queue, [resource, action], count) in scheduler.queue_incoming() {
            let labels = [
                ("queue", queue.to_owned()),
                ("event", format!("{resource}{action}")),
            ];
            let counter = self.incoming_pods.get_or_create(&labels);
            counter.inner().store(count, Ordering::Relaxed);
        }
        let counts = scheduler.queue_counts();
        let queues = [
            ("active", counts.active),
            ("backoff", counts.backoff),
            ("unschedulable", counts.unschedulable),
            ("gated", counts.gated),
        ];
        for (queue, count) in queues {
            let labels = [("queue", queue.to_owned())];
            self.pending_pods
                .get_or_create(&labels)
                .set(i64::from(count));
            // There are no groups of pods here.
            let [queue] = labels;
            let labels = [queue, ("type", "pod".to_owned())];
            let gauge = self.queued_entities.get_or_create(&labels);
            gauge.set(i64::from(count));
        }
        let nodes = scheduler.nodes().count();
        let (mut pods, mut assumed) = (0, 0);
        for pod in scheduler.pods() {
            pods += usize::from(scheduler.node_of(pod).is_some());
            assumed += usize::from(scheduler.is_assumed(pod));
        }
        let sizes = [("nodes", nodes), ("pods", pods), ("assumed_pods", assumed)];
        for (type_, size) in sizes {
            let labels = [("type", type_.to_owned())];
            self.cache_size.get_or_create(&labels).set(size as i64);
        }
        let labels = [("operation", "binding".to_owned())];
        self.goroutines.get_or_create(&labels).set(bindings as i64);
        self.bindings_room.set((BINDINGS_MAX - bindings) as i64);
        let bytes = scheduler.capacities().bytes();
        self.memory_planned
            .set(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.unschedulable_pods.clear();
        for ((plugin, profile), count) in model.unschedulable() {
            let labels = [("plugin", plugin), ("profile", profile)];
            self.unschedulable_pods.get_or_create(&labels).set(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Gates, Metrics};

    #[test]
    fn what_is_not_checked_or_counts_nothing_is_on_the_page() {
        let metrics = Metrics::new(&Gates::parse(&[]).expect("defaults"));
        metrics.unchecked("https://10.0.0.1/extender");
        metrics.void_scores("http://10.0.0.2");
        metrics.prioritizing(2);
        let page = metrics.text();
        for line in [
            "berth_unchecked_certificates{server=\"https://10.0.0.1/extender\"} 1",
            "berth_extender_void_scores_total{extender=\"http://10.0.0.2\"} 1",
            "scheduler_goroutines{operation=\"prioritizing_extender\"} 2",
        ] {
            assert!(page.contains(line), "{line}: {page}");
        }
    }
}
