//! Two of `berth run` on a real API server that goes, falls silent and comes again, and a leader that is
//! stopped: no pod is lost or bound twice, and who was stopped writes nothing when it wakes.
//!
//! `BERTH_OUTAGE=SECONDS` says how long each outage lasts, under the lease that kube-scheduler has by
//! default; without it they are short, under a short lease.

use berth_control_plane::api::Api;
use berth_control_plane::audit::Row;
use berth_control_plane::control_plane::{ControlPlane, Scheduler};
use berth_control_plane::load::Load;
use berth_control_plane::settle::{SCHEDULER, read};
use berth_control_plane::wait::until;
use berth_test_support::command::berth;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler";
/// Each is told from the other by its user.
const USERS: [&str; 2] = ["system:kube-scheduler", "second"];
/// Pods of each part of the test.
const STEP: usize = 40;

/// How long an outage is, and the lease: its duration, deadline and pause in milliseconds.
fn times() -> (Duration, [u64; 3]) {
    let asked = std::env::var("BERTH_OUTAGE").ok();
    match asked.map(|text| text.parse()) {
        None => (Duration::from_secs(4), [3_000, 2_000, 500]),
        Some(Ok(seconds)) => (Duration::from_secs(seconds), [15_000, 10_000, 2_000]),
        Some(Err(error)) => panic!("BERTH_OUTAGE takes whole seconds: {error}"),
    }
}

/// The control plane with two schedulers on it.
struct Pair {
    plane: ControlPlane,
    api: Api,
    load: Load,
    schedulers: [Scheduler; 2],
    /// Pods that were created.
    created: usize,
}

impl Pair {
    async fn start(lease: [u64; 3]) -> Option<Self> {
        let plane = ControlPlane::start(FOLDER).await?;
        let api = plane.admin().await;
        let load = Load { nodes: 50, pods: 0 };
        load.create_nodes(&api).await;
        let [duration, deadline, retry] = lease.map(|millis| format!("{millis}ms"));
        let config = json!({
            "clientConnection": {"qps": 1000, "burst": 1000},
            "leaderElection": {
                "leaseDuration": duration, "renewDeadline": deadline, "retryPeriod": retry,
            },
        });
        // The second has more rights than it needs, so that it can have a name of its own.
        let users = [
            plane.scheduler_user(),
            plane.user(USERS[1], &["system:masters"]),
        ];
        let schedulers = [0, 1].map(|number| {
            let mut command = berth();
            command.args(["run", "-v=2"]);
            let name = format!("berth-{number}");
            plane.start_scheduler_as(&users[number], &name, command, config.clone())
        });
        Some(Self {
            plane,
            api,
            load,
            schedulers,
            created: 0,
        })
    }

    async fn create_pods(&mut self) {
        let next = self.created + STEP;
        self.load.create_pods(&self.api, self.created..next).await;
        self.created = next;
    }

    /// Starts again who has ended, as a kubelet does; one that could not renew its lease ends with code 1.
    fn revive(&mut self) {
        for scheduler in &mut self.schedulers {
            if let Some(status) = scheduler.process.exit_status() {
                assert_eq!(status.code(), Some(1), "{}", scheduler.process.log());
                scheduler.process.restart();
            }
        }
    }

    /// Waits until all is done that can be, whoever does it.
    async fn done(&mut self) {
        let api = self.api.clone();
        until("all is done that can be", async || {
            self.revive();
            read(&api)
                .await
                .violations(SCHEDULER)
                .is_empty()
                .then_some(())
        })
        .await;
        let all = Load {
            pods: self.created,
            ..self.load
        };
        assert_eq!(read(&self.api).await.bound(), all.fitting(), "none is lost");
        self.assert_bound_once();
    }

    /// Nothing is bound twice, and who has bound a pod does not ask for it again, though the answer was lost.
    fn assert_bound_once(&self) {
        let rows = self.plane.audit();
        let mut bound = BTreeMap::new();
        for row in rows.iter().filter(|row| row.is_binding()) {
            let before: Option<&&Row> = bound.get(&row.uid);
            if let Some(before) = before {
                assert_ne!(row.code, 201, "bound twice: {before:?}, {row:?}");
                assert_ne!(
                    row.user, before.user,
                    "asked for again: {before:?}, {row:?}"
                );
            }
            if row.code == 201 {
                bound.insert(&row.uid, row);
            }
        }
    }

    /// A server that has just started refuses what it allows once it has loaded its roles; nothing else was
    /// refused, and nobody took that for the last word.
    async fn assert_allowed_in_the_end(&self) {
        until(
            "what was refused was asked for again and allowed",
            async || {
                let rows = self.plane.audit();
                let question =
                    |row: &Row| (row.user.clone(), row.verb.clone(), row.resource.clone());
                let mut refused = BTreeSet::new();
                for row in rows.iter().filter(|row| USERS.contains(&row.user.as_str())) {
                    match row.code {
                        403 => {
                            refused.insert(question(row));
                        }
                        // A watch's end says nothing of those that came after it.
                        200..300 if row.verb != "watch" || row.stage == "ResponseStarted" => {
                            refused.remove(&question(row));
                        }
                        _ => {}
                    }
                }
                refused.is_empty().then_some(())
            },
        )
        .await;
    }

    /// Who leads, by its place; it has renewed its lease since this was asked.
    async fn leader(&mut self) -> usize {
        let before = self.plane.audit().len();
        until("one leads", async || {
            self.revive();
            let rows = self.plane.audit();
            let mut new = rows.iter().skip(before).rev();
            let row = new.find(|row| is_renewal(row) && row.code == 200)?;
            USERS.iter().position(|user| *user == row.user)
        })
        .await
    }
}

fn is_renewal(row: &Row) -> bool {
    row.verb == "update" && row.resource == "leases"
}

fn is_write(row: &Row) -> bool {
    !["get", "list", "watch"].contains(&row.verb.as_str()) && !row.resource.ends_with("reviews")
}

fn text(lease: &Value, field: &str) -> String {
    lease["spec"][field].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn outages_of_the_api_server_lose_and_double_nothing() {
    let (outage, lease) = times();
    let Some(mut pair) = Pair::start(lease).await else {
        return;
    };
    pair.create_pods().await;
    pair.done().await;

    // Killed in the middle of its work, and there again at once.
    pair.create_pods().await;
    pair.plane.apiserver.restart();
    pair.plane.ready().await;
    pair.create_pods().await;
    pair.done().await;

    // Away: connections are refused, and the leader's time runs out.
    pair.create_pods().await;
    pair.plane.apiserver.kill();
    tokio::time::sleep(outage).await;
    pair.plane.apiserver.start_again();
    pair.plane.ready().await;
    pair.create_pods().await;
    pair.done().await;

    // Silent: connections stay open, and nothing comes.
    pair.create_pods().await;
    pair.plane.apiserver.pause();
    tokio::time::sleep(outage).await;
    pair.plane.apiserver.resume();
    pair.create_pods().await;
    pair.done().await;

    // Its storage is silent: it answers, but not with objects.
    pair.create_pods().await;
    pair.plane.etcd.pause();
    tokio::time::sleep(outage).await;
    pair.plane.etcd.resume();
    pair.plane.ready().await;
    pair.create_pods().await;
    pair.done().await;
    pair.assert_allowed_in_the_end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_was_stopped_writes_nothing_when_it_wakes() {
    let (outage, lease) = times();
    let Some(mut pair) = Pair::start(lease).await else {
        return;
    };
    pair.create_pods().await;
    pair.done().await;
    let leader = pair.leader().await;
    let other = 1 - leader;
    // Stopped with bindings under way.
    pair.create_pods().await;
    let api = pair.api.clone();
    pair.schedulers[leader].process.pause();
    let mut renewed = (Instant::now(), String::new(), String::new());
    let took = until("the other leads", async || {
        let now = api.get(LEASE).await.ok()?;
        let (holder, time) = (text(&now, "holderIdentity"), text(&now, "renewTime"));
        if !renewed.1.is_empty() && holder != renewed.1 {
            return Some(renewed.0.elapsed());
        }
        if time != renewed.2 {
            renewed = (Instant::now(), holder, time);
        }
        None
    })
    .await;
    let [duration, _, retry] = lease;
    println!(
        "the other led {} ms after the stopped one was last seen to renew; {duration} + 4.4 x {retry} is {}",
        took.as_millis(),
        duration + 44 * retry / 10
    );
    pair.create_pods().await;
    tokio::time::sleep(outage).await;
    let name = USERS[leader];
    let writes = |pair: &Pair| {
        let rows = pair.plane.audit().into_iter();
        rows.filter(|row| row.user == name && is_write(row)).count()
    };
    let before = writes(&pair);
    let stopped = &mut pair.schedulers[leader].process;
    stopped.resume();
    let ended = until("who was stopped ends", async || stopped.exit_status()).await;
    assert_eq!(ended.code(), Some(1), "{}", stopped.log());
    assert_eq!(writes(&pair), before, "it wrote when it woke");
    let status = pair.schedulers[other].process.exit_status();
    assert_eq!(status, None, "the other goes on");
    pair.done().await;
}
