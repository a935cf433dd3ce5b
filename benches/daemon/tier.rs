//! The workloads of Tier B: what the daemons do when the API server costs next to nothing.

use super::objects;
use super::stub::{Turn, Which, own_processor_time};
use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A row: what it is, and the columns of a turn.
pub struct Workload {
    pub name: &'static str,
    pub what: String,
    pub columns: &'static [Column],
    size: Size,
}

/// One figure of a turn.
pub struct Column {
    pub name: &'static str,
    pub digits: usize,
    /// What Berth must reach, as a text, and the goal; empty where there is none.
    pub must: &'static str,
    pub goal: &'static str,
    /// Whether the ratio is the other's figure by Berth's (less is better).
    pub less_is_better: bool,
}

#[derive(Clone, Copy)]
enum Size {
    /// Nodes, pods that warm up, pods that are measured.
    Plain(usize, usize, usize),
    /// Nodes, pods a second, pods.
    Offered(usize, usize, usize),
    /// Nodes, bound pods.
    Start(usize, usize),
    /// Nodes, pods that wait, pods that are offered at 500/s; bound ones are deleted at 50/s.
    Waiting(usize, usize, usize, fn(&str, usize) -> Value),
}

const fn less(name: &'static str, digits: usize, must: &'static str, goal: &'static str) -> Column {
    Column {
        name,
        digits,
        must,
        goal,
        less_is_better: true,
    }
}

const fn more(name: &'static str, digits: usize, must: &'static str, goal: &'static str) -> Column {
    Column {
        name,
        digits,
        must,
        goal,
        less_is_better: false,
    }
}

const PLAIN: &[Column] = &[
    less("ms of processor a pod", 3, "8", "20"),
    more("pods/s", 0, "4", "10"),
    less("peak MiB", 1, "", ""),
    less("ms of the stub's processor a pod", 3, "", ""),
];
const OFFERED: &[Column] = &[
    less("p50 ms", 2, "0.3 ms", "0.1 ms"),
    less("p99 ms", 2, "2 ms", "0.5 ms"),
    less("ms of processor a pod", 3, "", ""),
];
const START: &[Column] = &[
    less("s to the first decision", 2, "4", "10"),
    less("peak MiB", 1, "8", "12"),
    less("its processor s", 2, "", ""),
];
const WAITING: &[Column] = &[
    more("events per processor second", 0, "10", "50"),
    more("bound", 0, "", ""),
    less("processor s", 2, "", ""),
];

/// All of them, or the named ones; sizes divided by `scale`.
pub fn workloads(names: &[String], scale: usize, huge: bool) -> Vec<Workload> {
    let of = |count: usize| (count / scale).max(20);
    let mut all = vec![
        plain(of(5_000), of(5_000), of(50_000)),
        Workload {
            name: "B2",
            what: format!(
                "500 pods/s offered, {} nodes: a pod's event until its binding is asked for",
                of(5_000)
            ),
            columns: OFFERED,
            size: Size::Offered(of(5_000), 500, of(10_000)),
        },
        start(of(5_000), of(150_000)),
    ];
    if huge {
        all.push(start(of(100_000), of(1_000_000)));
    }
    for (kind, make) in [
        ("gated", objects::gated as fn(&str, usize) -> Value),
        ("waiting", objects::too_large),
    ] {
        all.push(Workload {
            name: "B4",
            what: format!(
                "{} {kind} pods, {} offered at 500/s, 50/s deleted, {} nodes",
                of(10_000),
                of(20_000),
                of(5_000)
            ),
            columns: WAITING,
            size: Size::Waiting(of(5_000), of(10_000), of(20_000), make),
        });
    }
    all.retain(|own| names.is_empty() || names.iter().any(|name| name == own.name || name == "B"));
    all
}

fn plain(nodes: usize, warm: usize, count: usize) -> Workload {
    Workload {
        name: "B1",
        what: format!("plain: {nodes} nodes, {warm} pods to warm up, {count} pods"),
        columns: PLAIN,
        size: Size::Plain(nodes, warm, count),
    }
}

fn start(nodes: usize, pods: usize) -> Workload {
    Workload {
        name: "B3",
        what: format!("start: {nodes} nodes, {pods} bound pods, one that waits"),
        columns: START,
        size: Size::Start(nodes, pods),
    }
}

impl Workload {
    /// A turn of one scheduler: the figures of its columns.
    pub async fn turn(&self, which: &Which) -> Vec<f64> {
        match self.size {
            Size::Plain(nodes, warm, count) => plain_turn(which, nodes, warm, count).await,
            Size::Offered(nodes, rate, count) => offered_turn(which, nodes, rate, count).await,
            Size::Start(nodes, pods) => start_turn(which, nodes, pods).await,
            Size::Waiting(nodes, waiting, count, make) => {
                waiting_turn(which, nodes, waiting, count, make).await
            }
        }
    }
}

async fn plain_turn(which: &Which, nodes: usize, warm: usize, count: usize) -> Vec<f64> {
    let mut turn = Turn::start(which, nodes, |_| {}).await;
    turn.offer((0..warm).map(|index| objects::pod("warm", index)), 0)
        .await
        .expect("they are put");
    turn.bound(warm).await;
    turn.quiet().await;
    let (before, own_before) = (turn.process.processor_time(), own_processor_time());
    let begin = Instant::now();
    turn.offer((0..count).map(|index| objects::pod("pod", index)), 0)
        .await
        .expect("they are put");
    let end = turn.bound(warm + count).await;
    turn.quiet().await;
    let processor = turn.process.processor_time().saturating_sub(before);
    let own = own_processor_time().saturating_sub(own_before);
    turn.assert_lawful();
    let each = |time: Duration| time.as_secs_f64() * 1e3 / count as f64;
    vec![
        each(processor),
        count as f64 / end.duration_since(begin).as_secs_f64(),
        mebibytes(turn.process.peak_memory()),
        each(own),
    ]
}

async fn offered_turn(which: &Which, nodes: usize, rate: usize, count: usize) -> Vec<f64> {
    let mut turn = Turn::start(which, nodes, |_| {}).await;
    let warm = count / 10;
    turn.offer((0..warm).map(|index| objects::pod("warm", index)), rate)
        .await
        .expect("they are put");
    turn.bound(warm).await;
    turn.quiet().await;
    let before = turn.process.processor_time();
    let put = turn
        .offer((0..count).map(|index| objects::pod("pod", index)), rate)
        .await
        .expect("they are put");
    turn.bound(warm + count).await;
    turn.quiet().await;
    let processor = turn.process.processor_time().saturating_sub(before);
    turn.assert_lawful();
    let mut waits: Vec<f64> = {
        let heard = turn.heard();
        let asked: HashMap<&str, Instant> = heard
            .bindings
            .iter()
            .map(|(name, at)| (name.as_str(), *at))
            .collect();
        let waits = put.iter().enumerate().map(|(index, put)| {
            let at = asked[format!("pod-{index}").as_str()];
            at.duration_since(*put).as_secs_f64() * 1e3
        });
        waits.collect()
    };
    waits.sort_by(f64::total_cmp);
    let at = |share: usize| waits[(waits.len() * share / 100).min(waits.len() - 1)];
    vec![at(50), at(99), processor.as_secs_f64() * 1e3 / count as f64]
}

async fn start_turn(which: &Which, nodes: usize, pods: usize) -> Vec<f64> {
    let fill = |server: &berth_api_server::Server| {
        server.fill(
            "pods",
            (0..pods).map(|index| objects::bound("there", index, nodes)),
        );
        server.put("pods", objects::pod("pod", 0));
    };
    let mut turn = Turn::start(which, nodes, fill).await;
    let end = turn.bound(1).await;
    let took = end.duration_since(turn.began).as_secs_f64();
    let processor = turn.process.processor_time().as_secs_f64();
    turn.quiet().await;
    vec![took, mebibytes(turn.process.peak_memory()), processor]
}

async fn waiting_turn(
    which: &Which,
    nodes: usize,
    waiting: usize,
    count: usize,
    make: fn(&str, usize) -> Value,
) -> Vec<f64> {
    /// What is not bound so long after the last was offered is not waited for.
    const PATIENCE: Duration = Duration::from_secs(20);
    const OFFERED: usize = 500;
    const DELETED: usize = 50;
    let mut turn = Turn::start(which, nodes, |server| {
        server.fill("pods", (0..waiting).map(|index| make("waits", index)));
    })
    .await;
    // These are those that are deleted.
    let gone = count * DELETED / OFFERED;
    turn.offer((0..gone).map(|index| objects::pod("goes", index)), 0)
        .await
        .expect("they are put");
    turn.bound(gone).await;
    turn.quiet().await;
    let (before, patches) = (turn.process.processor_time(), turn.heard().patches);
    let begin = Instant::now();
    let offered = turn.offer((0..count).map(|index| objects::pod("pod", index)), OFFERED);
    let server = turn.server.clone();
    let deleted = tokio::task::spawn_blocking(move || {
        for index in 0..gone {
            let due = begin + Duration::from_secs(1) * index as u32 / DELETED as u32;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            server.remove("pods", "default", &format!("goes-{index}"));
        }
    });
    offered.await.expect("they are put");
    deleted.await.expect("they are deleted");
    let all = gone + count;
    let done = |turn: &Turn| (turn.heard().bindings.len() >= all).then_some(());
    turn.until(PATIENCE, done).await;
    let processor = turn
        .process
        .processor_time()
        .saturating_sub(before)
        .as_secs_f64();
    let (bound, patches) = {
        let heard = turn.heard();
        (heard.bindings.len() - gone, heard.patches - patches)
    };
    turn.assert_lawful();
    let events = count + gone + bound + patches;
    vec![events as f64 / processor, bound as f64, processor]
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
