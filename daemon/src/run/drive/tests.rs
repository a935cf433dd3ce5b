//! F37: attempts that fail inside Berth; F15: what is listed before the first attempt.

use super::{BEAT, Channels, Loop, Request};
use crate::run::client::{Api, connection};
use crate::run::events::Events;
use crate::run::extender::{Extenders, planted};
use crate::run::gates::Gates;
use crate::run::lead::Lead;
use crate::run::limiter::Limiter;
use crate::run::metrics::Metrics;
use crate::run::model::Model;
use crate::run::resources::{NODES, PODS, RESOURCES};
use crate::run::watcher::{Batch, News};
use crate::run::writer::Writer;
use berth_core::intake::Intake;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::decode;
use berth_core::{Capacities, Options};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc::{Sender, channel, unbounded_channel};
use tokio::time::Instant;

/// A loop over one node whose writes go nowhere, and a way to ask it.
async fn alone() -> (Loop, Sender<Request>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let way = connection("", Some("http://127.0.0.1:1")).await;
    let api = Api::new(&way.expect("an address"), "test", Limiter::new(-1.0, 0));
    let api = api.expect("a client");
    let (lead, metrics) = (Lead::new(), Metrics::new(&Gates::default()));
    let metrics = Arc::new(metrics);
    lead.always();
    let (events, _) = Events::new(api.clone(), lead.clone(), "here".to_owned());
    let (report_to, reports) = unbounded_channel();
    let (_, watches) = channel(1);
    let (request_to, requests) = channel(1);
    let config = KubeSchedulerConfiguration::default();
    let capacities = Capacities::for_size(4, 16);
    let intake = Intake::with_capacities(config, Options::default(), capacities);
    let model = Model::new(intake.expect("defaults"), ["default-scheduler".to_owned()]);
    let writer = Writer::new(api, lead.clone(), events.clone(), report_to);
    let channels = Channels {
        watches,
        reports,
        requests,
    };
    let extenders = Extenders::new(Vec::new(), metrics.clone());
    let mut own = Loop::new(model, extenders, writer, events, lead, metrics, channels);
    let node = json!({
        "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    });
    take(&mut own, NODES, "Node", node);
    (own, request_to)
}

fn take(own: &mut Loop, resource: usize, kind: &str, object: Value) {
    let object = decode(kind, object)
        .expect("it is one")
        .expect("it is read");
    let news = vec![News::Applied(Box::new(object), None)];
    own.take(Batch { resource, news });
}

fn pod(own: &mut Loop, name: &str) {
    let pod = json!({
        "metadata": {"namespace": "default", "name": name, "uid": name},
        "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "one"}]},
    });
    take(own, PODS, "Pod", pod);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_on_which_an_attempt_fails_is_set_aside_and_the_others_go_on() {
    let (mut own, _requests) = alone().await;
    pod(&mut own, "bad");
    planted::FAILURES.set(1);
    assert!(own.attempt());
    assert!(!own.attempt(), "nothing waits any more");
    let refused: Vec<&str> = own.model.refused.iter().map(|one| &*one.name).collect();
    assert_eq!(refused, ["bad"]);
    pod(&mut own, "good");
    assert!(own.attempt());
    let good = own.model.scheduler().find_pod("default", "good");
    let good = good.expect("it is there");
    assert!(own.model.scheduler().is_assumed(good));
    // It is told of once more, and comes in anew.
    pod(&mut own, "bad");
    assert!(own.attempt());
    let bad = own.model.scheduler().find_pod("default", "bad");
    assert!(own.model.scheduler().is_assumed(bad.expect("it is there")));
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_fail_again_and_again_end_the_loop() {
    let (mut own, _requests) = alone().await;
    planted::FAILURES.set(4);
    for number in 0..4 {
        assert!(!own.guard.is_over());
        pod(&mut own, &format!("p{number}"));
        assert_eq!(own.attempt(), number < 3);
    }
    assert!(own.guard.is_over());
    Box::pin(own.run()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f15_a_new_leader_tries_nothing_before_lists_of_its_term_are_in() {
    let (mut own, _requests) = alone().await;
    own.lead.end();
    let list = |own: &mut Loop, term| {
        for resource in 0..RESOURCES.len() {
            let news = vec![News::Listing(term), News::Listed];
            own.take(Batch { resource, news });
        }
    };
    list(&mut own, 0);
    assert!(own.is_synced.load(Ordering::Relaxed));
    assert!(!own.may_try(), "nobody leads");
    own.lead.begin_term();
    own.lead.until(Instant::now() + BEAT * 1_000);
    assert!(!own.may_try(), "only older lists are in");
    list(&mut own, 0);
    assert!(!own.may_try(), "a list ends that began before");
    list(&mut own, 1);
    assert!(own.may_try());
    // A renewal is no new term.
    own.lead.until(Instant::now() + BEAT * 2_000);
    assert!(own.may_try());
}
