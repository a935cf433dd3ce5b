//! `berth run` beside kube-scheduler 1.37.2: the same API server, nodes and then pods made one at a time
//! once the scheduler has synced, one decision at a time. Each pod is on the same node, or is told the
//! same in its condition and its events. What upstream measures and promises to keep is measured too.
//!
//! `BERTH_BESIDE=NODES,PODS` says how many (150,200): with more than 100 nodes not all are looked at.
//! Nobody preempts here, since upstream begins to look for victims at a random node; beside extenders,
//! which are asked the same, somebody does.

#[path = "daemon_beside/extenders.rs"]
mod extenders;
#[path = "daemon_beside/told.rs"]
mod told;

use berth_control_plane::api::pods;
use berth_control_plane::control_plane::{ControlPlane, Scheduler};
use berth_control_plane::load::{Load, NAMESPACE};
use berth_control_plane::wait::until;
use berth_test_support::command::berth;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use told::{Told, is_settled, what_became};

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

fn size() -> Load {
    let Ok(text) = std::env::var("BERTH_BESIDE") else {
        return Load {
            nodes: 150,
            pods: 200,
        };
    };
    let numbers: Vec<usize> = text.split(',').filter_map(|own| own.parse().ok()).collect();
    match numbers[..] {
        [nodes, pods] => Load { nodes, pods },
        _ => panic!("BERTH_BESIDE={text} is not NODES,PODS"),
    }
}

/// Both schedulers' answers.
struct Lived {
    pods: BTreeMap<String, Told>,
    /// The page of metrics.
    metrics: String,
}

/// What Go's libraries measure of themselves.
const NOT_OURS: [&str; 5] = [
    "apiserver_",
    "workqueue_",
    "disabled_metrics_",
    "hidden_metrics_",
    "registered_metrics_",
];

/// Names and labels of the metrics on a page; with `stable`, of those only that upstream calls STABLE or
/// BETA.
fn measured(page: &str, stable: bool) -> BTreeSet<(String, BTreeSet<String>)> {
    let is_promised = |name: &str| {
        let line = page.lines().find_map(|line| {
            let (own, help) = line.strip_prefix("# HELP ")?.split_once(' ')?;
            // Of a histogram and of a counter, more names are told.
            name.starts_with(own).then_some(help)
        });
        let is_ours = !NOT_OURS.iter().any(|prefix| name.starts_with(prefix));
        is_ours
            && line.is_some_and(|help| help.starts_with("[STABLE]") || help.starts_with("[BETA]"))
    };
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.filter_map(|line| {
        let (sample, _) = line.rsplit_once(' ')?;
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        let labels = labels
            .split("\",")
            .filter_map(|label| label.split_once('='));
        let labels = labels.map(|(label, _)| label.to_owned()).collect();
        Some((name.to_owned(), labels))
    });
    let promised = samples.filter(|(name, _)| !stable || is_promised(name));
    promised.collect()
}

/// How often things happened, by name and labels, of these families.
fn counts<'a>(page: &'a str, families: &[&str]) -> BTreeMap<(&'a str, BTreeSet<&'a str>), &'a str> {
    let samples = page.lines().filter_map(|line| line.rsplit_once(' '));
    let samples = samples.filter_map(|(sample, value)| {
        let (name, labels) = sample.split_once('{')?;
        let labels = labels.trim_end_matches('}').split(',').collect();
        families.contains(&name).then_some(((name, labels), value))
    });
    samples.collect()
}

/// Attempts came to the same, and pods came into the queue by the same, as often.
fn assert_counts(upstream: &str, ours: &str) {
    let incoming = ["scheduler_queue_incoming_pods_total"];
    assert_eq!(counts(ours, &incoming), counts(upstream, &incoming));
    let attempts = [
        "scheduler_framework_extension_point_duration_seconds_count",
        "scheduler_schedule_attempts_total",
        "scheduler_pod_scheduling_attempts_count",
    ];
    let theirs = counts(upstream, &attempts);
    for (sample, value) in counts(ours, &attempts) {
        assert_eq!(theirs.get(&sample), Some(&value), "{sample:?}");
    }
}

/// Makes the load for a scheduler, which must lead; says what became of it.
async fn lived(load: Load, start: impl Fn(&ControlPlane, Value) -> Scheduler) -> Option<Lived> {
    let plane = ControlPlane::start(FOLDER).await?;
    let api = plane.admin().await;
    let config = json!({
        "parallelism": 1,
        "clientConnection": {"qps": 1000, "burst": 1000},
        "leaderElection": {"leaderElect": false},
    });
    let mut scheduler = start(&plane, config);
    let pages = plane.synced(&mut scheduler).await;
    let ended = |scheduler: &mut Scheduler| {
        if let Some(status) = scheduler.process.exit_status() {
            panic!("ended by itself, {status}: {}", scheduler.process.log());
        }
    };
    load.create_nodes_in_order(&api).await;
    for index in 0..load.pods {
        let name = load.create_pod(&api, index).await;
        let path = format!("{}/{name}", pods(NAMESPACE));
        until("the pod is bound, or told why not", async || {
            ended(&mut scheduler);
            api.get(&path).await.ok().filter(is_settled)
        })
        .await;
    }
    // Events come last, by a way of their own.
    let pods = until("every pod has an event", async || {
        let became = what_became(&api).await;
        let gated = |told: &Told| {
            told.conditions
                .iter()
                .any(|own| own[2] == "SchedulingGated")
        };
        let is_told = |told: &Told| !told.events.is_empty() || gated(told);
        became.values().all(is_told).then_some(became)
    })
    .await;
    // Berth shows some counts once a second.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let metrics = pages.text("/metrics").await.expect("it serves");
    scheduler.process.stop();
    Some(Lived { pods, metrics })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_pod_is_where_kube_scheduler_puts_it_and_told_the_same() {
    let load = size();
    let upstream = lived(load, |plane, config| {
        plane.start_kube_scheduler("kube-scheduler", config)
    });
    let Some(Lived {
        pods: upstream,
        metrics,
    }) = upstream.await
    else {
        return;
    };
    let promised = measured(&metrics, true);
    let ours = lived(load, |plane, config| {
        let mut command = berth();
        command.args(["run", "--berth-fidelity=exact"]);
        plane.start_scheduler("berth", command, config)
    });
    let ours = ours.await.expect("it started before");
    assert_counts(&metrics, &ours.metrics);
    let own = measured(&ours.metrics, false);
    let missing: Vec<_> = promised.difference(&own).collect();
    assert_eq!(missing, Vec::<&(String, BTreeSet<String>)>::new());
    // What has upstream's name is upstream's, ALPHA or not.
    let theirs = measured(&metrics, false);
    let strange = own.difference(&theirs);
    let strange: Vec<_> = strange
        .filter(|(name, _)| name.starts_with("scheduler_"))
        .collect();
    assert_eq!(strange, Vec::<&(String, BTreeSet<String>)>::new());
    let ours = ours.pods;
    assert_eq!(ours.len(), load.pods);
    let bound = upstream.values().filter(|told| told.node.is_string());
    assert_eq!(bound.count(), load.fitting());
    let differs = |(name, told): &(&String, &Told)| upstream.get(*name) != Some(*told);
    let differing: Vec<_> = ours.iter().filter(differs).collect();
    let first = differing.first().map(|(name, _)| upstream.get(*name));
    assert!(
        differing.is_empty(),
        "{} of {} pods differ: {:?}, with kube-scheduler {first:?}",
        differing.len(),
        load.pods,
        differing[0],
    );
    println!("{} nodes, {} pods: the same", load.nodes, load.pods);
}
