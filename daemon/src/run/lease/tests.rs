//! F15, F24, F26: who leads, by a clock that the test moves and whatever times leases name.

use super::{Elector, Term};
use crate::run::client::{Api, connection};
use crate::run::lead::Lead;
use crate::run::limiter::Limiter;
use berth_api_server::{Fault, Server};
use berth_core::object::config::KubeSchedulerConfiguration;
use serde_json::json;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const HOUR: i64 = 3600;

/// One that takes part, under upstream's own times: 15 s, 10 s, 2 s.
async fn elector(server: &Server, lead: &Lead) -> Elector {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let way = connection("", Some(&server.url())).await.expect("a server");
    let api = Api::new(&way, "test", Limiter::new(-1.0, 0)).expect("a client");
    let config = KubeSchedulerConfiguration::default().completed();
    let election = config.leader_election;
    Elector::new(api, lead.clone(), &election, "me".to_owned()).expect("upstream's times")
}

/// Another one renews, by a wall clock that is wrong by so many seconds.
fn renew(server: &Server, number: u64, wrong: i64) {
    hold(server, "another", number, wrong);
}

/// The lease is somebody's, or nobody's without a name.
fn hold(server: &Server, holder: &str, number: u64, wrong: i64) {
    let now = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(wrong);
    let spec = json!({
        "holderIdentity": holder,
        "leaseDurationSeconds": 15,
        "leaseTransitions": number,
        "renewTime": format!("{now:.6}"),
    });
    let metadata = json!({"namespace": "kube-system", "name": "kube-scheduler"});
    server.put("leases", json!({"metadata": metadata, "spec": spec}));
}

#[tokio::test(start_paused = true)]
async fn f26_a_lease_ends_when_it_was_not_seen_to_change_whatever_time_it_names() {
    for wrong in [-HOUR, 0, HOUR] {
        let server = Server::start().await;
        renew(&server, 0, wrong);
        let lead = Lead::new();
        let mut elector = elector(&server, &lead).await;
        let acquired = tokio::spawn(async move { elector.acquire().await });
        // It is not taken while it is renewed.
        for number in 1..=6 {
            sleep(Duration::from_secs(10)).await;
            assert!(
                !acquired.is_finished() && !lead.holds(),
                "{wrong}: {number}"
            );
            renew(&server, number, wrong);
        }
        let renewed = Instant::now();
        acquired.await.expect("it acquires");
        assert!(lead.holds());
        // By the test's clock: seen after a pause at most, and taken after another.
        let took = renewed.elapsed();
        assert!(took >= Duration::from_secs(15), "{wrong}: {took:?}");
        assert!(
            took <= Duration::from_millis(15_000 + 2 * 4_400),
            "{wrong}: {took:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn f24_the_lead_ends_at_the_deadline_after_the_last_renewal() {
    let server = Server::start().await;
    let lead = Lead::new();
    let mut elector = elector(&server, &lead).await;
    elector.acquire().await;
    let acquired = Instant::now();
    // Silence, as of a server that is stopped.
    server.order("*", "leases", u64::MAX, Fault::Hold);
    let own = lead.clone();
    let held = tokio::spawn(async move {
        while own.holds() {
            sleep(Duration::from_millis(10)).await;
        }
        Instant::now()
    });
    assert_eq!(elector.renew().await, Term::Lost);
    let (ended, held) = (Instant::now(), held.await.expect("it ends"));
    let limit = Duration::from_secs(10);
    assert!(held.duration_since(acquired) <= limit + Duration::from_millis(10));
    assert!(held <= ended, "nothing is written by the time it is said");
    assert!(ended.duration_since(acquired) <= limit + Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn f15_a_term_begins_unless_nobody_led_since_before_the_lists() {
    for (before, looks, between, term) in [
        (None, true, None, 0),
        (Some(""), true, None, 0),
        (Some(""), true, Some(""), 1),
        (Some("another"), true, None, 1),
        (None, true, Some(""), 1),
        (Some(""), false, None, 1),
    ] {
        let server = Server::start().await;
        let lead = Lead::new();
        if let Some(holder) = before {
            hold(&server, holder, 0, 0);
        }
        let mut elector = elector(&server, &lead).await;
        if looks {
            elector.look().await;
        }
        // Somebody led and gave it back.
        if let Some(holder) = between {
            hold(&server, holder, 1, 0);
        }
        elector.acquire().await;
        assert!(lead.holds());
        assert_eq!(lead.term(), term, "{before:?} {looks} {between:?}");
    }
}
