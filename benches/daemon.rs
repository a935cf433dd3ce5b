//! `berth run` beside kube-scheduler 1.37.2, in turns on one real API server: plain pods a second,
//! processor time and memory, and a start among pods that are bound.
//!
//! `cargo build --release -p berth-daemon && cargo bench --bench daemon` prints them; needs Go. Figures
//! compare within a run only: etcd, the API server and this program are on the same processors, and mostly
//! it is they who limit pods a second. Without `--bench`, as `cargo test` runs it, nothing is measured.
//! `BERTH_DAEMON=NODES,PODS,BOUND` asks for one size; else there are three.
//!
//! `cargo bench --bench daemon -- B` puts both on the scripted API server instead, which costs next to
//! nothing, and writes a page into `benches/results`: Tier B. `B1` to `B4` name single rows,
//! `--rounds N` says how many turns (5), `--scale N` divides the sizes, `--huge` adds a start among a
//! million pods, `--page FILE` says where the page goes.

#[path = "daemon/objects.rs"]
mod objects;
#[path = "daemon/page.rs"]
mod page;
#[path = "daemon/stub.rs"]
mod stub;
#[path = "daemon/tier.rs"]
mod tier;

use berth_control_plane::api::{Api, PODS, pods};
use berth_control_plane::control_plane::{ControlPlane, Scheduler};
use berth_control_plane::load::{Load, NAMESPACE, create_all};
use berth_control_plane::wait::until;
use berth_test_support::command::berth;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");
/// Turns of each scheduler.
const ROUNDS: usize = 3;
/// Both of them.
const NAMES: [&str; 2] = ["kube-scheduler", "berth run"];
/// Nodes, pods that are placed, pods that are bound before.
const SIZES: [[usize; 3]; 3] = [[1_000, 2_000, 0], [5_000, 2_000, 0], [5_000, 1_000, 50_000]];

/// One turn.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// Until it says that it is ready.
    start: Duration,
    start_processor: Duration,
    /// From the first pod's creation until all are bound.
    all: Duration,
    processor: Duration,
    peak: u64,
}

#[tokio::main]
async fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("daemon: measured with --bench only");
        return;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|own| own.starts_with('B')) {
        return page::measure(&arguments, FOLDER).await;
    }
    let asked = std::env::var("BERTH_DAEMON").ok();
    let asked = asked.map(|text| {
        let numbers: Vec<usize> = text.split(',').filter_map(|own| own.parse().ok()).collect();
        <[usize; 3]>::try_from(numbers).unwrap_or_else(|_| panic!("{text} is not NODES,PODS,BOUND"))
    });
    for size in asked.map_or(SIZES.to_vec(), |size| vec![size]) {
        measure(size).await;
    }
}

async fn measure([nodes, count, bound]: [usize; 3]) {
    let plane = ControlPlane::start(FOLDER).await.expect("Go is there");
    let api = plane.admin().await;
    let load = Load { nodes, pods: 0 };
    load.create_nodes(&api).await;
    let there = (0..bound).map(|index| {
        let mut pod = plain("bound", index);
        pod["spec"]["nodeName"] = json!(format!("node-{}", index % nodes));
        pod
    });
    create_all(&api, &pods(NAMESPACE), there.collect()).await;
    let mut turns = NAMES.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (which, turns) in turns.iter_mut().enumerate() {
            turns.push(turn(&plane, &api, which, count).await);
        }
    }
    println!("\n{nodes} nodes, {bound} bound pods, {count} plain pods, medians of {ROUNDS} turns");
    println!(
        "                  pods/s   ms of processor a pod   peak MiB   start s   its processor s"
    );
    let rows = NAMES.iter().zip(&turns);
    let rows: Vec<_> = rows
        .map(|(name, turns)| {
            let median = |value: fn(&Turn) -> f64| {
                let mut values: Vec<f64> = turns.iter().map(value).collect();
                values.sort_by(f64::total_cmp);
                values[values.len() / 2]
            };
            let row = [
                count as f64 / median(|turn| turn.all.as_secs_f64()),
                median(|turn| turn.processor.as_secs_f64()) * 1e3 / count as f64,
                median(|turn| turn.peak as f64) / f64::from(1 << 20),
                median(|turn| turn.start.as_secs_f64()),
                median(|turn| turn.start_processor.as_secs_f64()),
            ];
            print(name, row, 3);
            row
        })
        .collect();
    let ratio = std::array::from_fn(|at| rows[0][at] / rows[1][at]);
    print("ratio", ratio, 2);
}

fn print(name: &str, [rate, processor, peak, start, start_processor]: [f64; 5], digits: usize) {
    println!(
        "{name:<15} {rate:8.1} {processor:23.digits$} {peak:10.1} {start:9.2} {start_processor:17.2}"
    );
}

fn plain(name: &str, index: usize) -> Value {
    json!({
        "metadata": {"name": format!("{name}-{index}"), "labels": {"app": name}},
        "spec": {"containers": [{
            "name": "one",
            "image": "example.com/one:1",
            "resources": {"requests": {"cpu": "10m", "memory": "8Mi"}},
        }]},
    })
}

fn start(plane: &ControlPlane, which: usize) -> Scheduler {
    let config = json!({
        "clientConnection": {"qps": 5000, "burst": 5000},
        "leaderElection": {"leaderElect": false},
    });
    if which == 0 {
        return plane.start_kube_scheduler("kube-scheduler", config);
    }
    let mut command = berth();
    command.arg("run");
    plane.start_scheduler("berth", command, config)
}

async fn turn(plane: &ControlPlane, api: &Api, which: usize, count: usize) -> Turn {
    let mut turn = Turn::default();
    let begin = Instant::now();
    let mut scheduler = start(plane, which);
    plane.synced(&mut scheduler).await;
    turn.start = begin.elapsed();
    turn.start_processor = scheduler.process.processor_time();
    let begin = Instant::now();
    let new = (0..count).map(|index| plain("new", index));
    create_all(api, &pods(NAMESPACE), new.collect()).await;
    let waiting = format!("{PODS}?fieldSelector=spec.nodeName%3D&limit=1");
    until("all pods are bound", async || {
        let waiting = api.list(&waiting).await.expect("the API answers");
        waiting.is_empty().then_some(())
    })
    .await;
    turn.all = begin.elapsed();
    turn.processor = scheduler
        .process
        .processor_time()
        .saturating_sub(turn.start_processor);
    turn.peak = scheduler.process.peak_memory();
    scheduler.process.stop();
    let new = format!("{}?labelSelector=app%3Dnew", pods(NAMESPACE));
    let options = json!({"gracePeriodSeconds": 0});
    api.delete(&new, &options).await.expect("pods are deleted");
    until("they are gone", async || {
        let left = api.list(&format!("{new}&limit=1")).await.ok()?;
        left.is_empty().then_some(())
    })
    .await;
    turn
}
