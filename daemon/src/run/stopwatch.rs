//! How long the extension points and plugins of an attempt take, as metrics.
//!
//! Mirrors the metrics of `pkg/scheduler/framework/runtime/framework.go`; one attempt in ten is taken for
//! plugins, as there.

use berth_core::plugins::{Plugin, Point};
use berth_core::{Decision, Hooks, Outcome, PostFilter};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const SUCCESS: &str = "Success";
const ERROR: &str = "Error";

/// Attempts of which one is taken for the times of plugins.
const SAMPLE: u64 = 10;

/// Extension point, status and profile; or plugin, extension point, and status or profile.
type Labels = [(&'static str, String); 3];

/// Writes down when what begins.
#[derive(Default)]
pub struct Stopwatch {
    marks: Vec<(Point, Option<Plugin>, Instant)>,
    attempts: u64,
    /// Nodes that a plugin looked at, by profile, since the last [`Points::flush`]; one where a plugin is
    /// asked about the pod alone.
    looked: BTreeMap<String, BTreeMap<(Point, Plugin), u64>>,
}

impl Hooks for Stopwatch {
    fn enters(&mut self, point: Point, plugin: Option<Plugin>) {
        self.marks.push((point, plugin, Instant::now()));
    }
}

/// The metrics.
pub struct Points {
    durations: Family<Labels, Histogram>,
    plugins: Family<Labels, Histogram>,
    looked: Family<Labels, Counter>,
}

fn point_buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.0001, 2.0, 12))
}

fn plugin_buckets() -> Histogram {
    Histogram::new(exponential_buckets(0.00001, 1.5, 20))
}

impl Points {
    /// All of them at 0, in a registry of kube-scheduler's prefix.
    pub fn new(registry: &mut Registry) -> Self {
        let own = Self {
            durations: Family::new_with_constructor(point_buckets),
            plugins: Family::new_with_constructor(plugin_buckets),
            looked: Family::default(),
        };
        registry.register(
            "framework_extension_point_duration_seconds",
            "Latency for running all plugins of a specific extension point",
            own.durations.clone(),
        );
        registry.register(
            "plugin_execution_duration_seconds",
            "Duration for running a plugin at a specific extension point",
            own.plugins.clone(),
        );
        registry.register(
            "plugin_evaluation",
            "Nodes that a plugin looked at, and pods where it is asked about the pod alone",
            own.looked.clone(),
        );
        own
    }

    /// An attempt is over.
    pub fn attempt(&self, watch: &mut Stopwatch, decision: &Decision, profile: &str) {
        let end = Instant::now();
        let is_sampled = watch.attempts.is_multiple_of(SAMPLE);
        watch.attempts += 1;
        if !watch.looked.contains_key(profile) {
            watch.looked.insert(profile.to_owned(), BTreeMap::new());
        }
        let mut all_looked = watch.looked.get_mut(profile);
        let last = watch.marks.last().map(|(point, ..)| *point);
        let (mut point_end, mut plugin_end) = (end, end);
        for (point, plugin, begin) in watch.marks.drain(..).rev() {
            let status = status(decision, point, Some(point) == last);
            let Some(plugin) = plugin else {
                let took = point_end.duration_since(begin);
                self.observe(point.name(), status, profile, took);
                (point_end, plugin_end) = (begin, begin);
                continue;
            };
            let looked = match point {
                Point::Filter => decision.evaluated,
                Point::Score => decision.feasible,
                // Not counted, as upstream does not.
                Point::PostFilter => 0,
                _ => 1,
            };
            if looked > 0
                && let Some(all) = &mut all_looked
            {
                *all.entry((point, plugin)).or_default() += u64::from(looked);
            }
            if is_sampled {
                let labels = [
                    ("plugin", plugin.name().to_owned()),
                    ("extension_point", point.name().to_owned()),
                    ("status", status.to_owned()),
                ];
                let took = plugin_end.duration_since(begin);
                let family = self.plugins.get_or_create(&labels);
                family.observe(took.as_secs_f64());
            }
            plugin_end = begin;
        }
    }

    /// A pod was bound, or not.
    pub fn bind(&self, is_bound: bool, profile: &str, took: Duration) {
        let status = if is_bound { SUCCESS } else { ERROR };
        self.observe("Bind", status, profile, took);
    }

    /// Shows what was counted.
    pub fn flush(&self, watch: &mut Stopwatch) {
        for (profile, all) in std::mem::take(&mut watch.looked) {
            for ((point, plugin), looked) in all {
                let labels = [
                    ("plugin", plugin.name().to_owned()),
                    ("extension_point", point.name().to_owned()),
                    ("profile", profile.clone()),
                ];
                self.looked.get_or_create(&labels).inc_by(looked);
            }
        }
    }

    fn observe(&self, point: &str, status: &str, profile: &str, took: Duration) {
        let labels = [
            ("extension_point", point.to_owned()),
            ("status", status.to_owned()),
            ("profile", profile.to_owned()),
        ];
        let family = self.durations.get_or_create(&labels);
        family.observe(took.as_secs_f64());
    }
}

/// What a point came to; `is_last` of those that the attempt came to.
fn status(decision: &Decision, point: Point, is_last: bool) -> &'static str {
    match (decision.outcome, point) {
        (Outcome::Error(_), _) if is_last => ERROR,
        (Outcome::Unschedulable, Point::PreFilter) if is_last => "UnschedulableAndUnresolvable",
        (Outcome::Refused(_), _) if is_last => "Unschedulable",
        (Outcome::Unschedulable, Point::PostFilter)
            if !matches!(decision.post_filter, PostFilter::Placed { .. }) =>
        {
            "Unschedulable"
        }
        _ => SUCCESS,
    }
}
