//! A watch beside a server that says nothing, by a clock that the test moves.

use super::{Batch, News, Watch};
use crate::run::client::{Api, connection};
use crate::run::kept::Keeps;
use crate::run::lead::Lead;
use crate::run::limiter::Limiter;
use crate::run::resources::{NODES, RESOURCES};
use berth_api_server::{Fault, Server};
use berth_core::object::Object;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

fn node(name: &str) -> serde_json::Value {
    json!({"metadata": {"name": name}, "status": {"allocatable": {"cpu": "1"}}})
}

/// Names of the nodes that are told of, until `last` is among them.
async fn told(news: &mut Receiver<Batch>, last: &str) -> Vec<String> {
    let mut names = Vec::new();
    while names.last().is_none_or(|name| name != last) {
        let batch = news.recv().await.expect("the watch runs");
        for one in batch.news {
            if let News::Applied(object, _) = one
                && let Object::Node(node) = *object
            {
                names.push(node.metadata.name);
            }
        }
    }
    names
}

/// A watch of nodes and what it tells.
async fn nodes_of(server: &Server, lead: &Lead) -> Receiver<Batch> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let way = connection("", Some(&server.url())).await.expect("a server");
    let api = Api::new(&way, "test", Limiter::new(-1.0, 0)).expect("a client");
    let (to, news) = channel(64);
    let resource = RESOURCES.into_iter().nth(NODES).expect("nodes are watched");
    let (health, keeps) = (Arc::default(), Keeps::default());
    let watch = Watch::new(api, resource, NODES, to, health, lead.terms(), keeps);
    tokio::spawn(watch.run());
    news
}

fn lists(server: &Server) -> usize {
    let calls = server.calls();
    let lists = calls
        .iter()
        .filter(|call| call.query.contains("sendInitialEvents"));
    lists.count()
}

#[tokio::test(start_paused = true)]
async fn f5_a_watch_that_says_nothing_is_opened_anew_from_its_version() {
    let server = Server::start().await;
    server.put("nodes", node("n1"));
    let mut news = nodes_of(&server, &Lead::new()).await;
    assert_eq!(told(&mut news, "n1").await, ["n1"]);
    server.silence_watches("nodes", true);
    server.put("nodes", node("n2"));
    let (silent, opened) = (Instant::now(), server.count("watch", "nodes"));
    server
        .until("it is opened anew", |server| {
            (server.count("watch", "nodes") > opened).then_some(())
        })
        .await;
    // By the test's clock, on which nothing else takes time.
    assert!(silent.elapsed() >= Duration::from_mins(1));
    assert!(silent.elapsed() <= Duration::from_secs(70));
    server.silence_watches("nodes", false);
    assert_eq!(told(&mut news, "n2").await, ["n2"]);
    assert_eq!(lists(&server), 1, "nothing is listed anew");
}

#[tokio::test(start_paused = true)]
async fn f15_who_takes_the_lead_lists_anew() {
    let server = Server::start().await;
    server.put("nodes", node("n1"));
    let lead = Lead::new();
    let mut news = nodes_of(&server, &lead).await;
    assert_eq!(told(&mut news, "n1").await, ["n1"]);
    // What the leader before wrote last never reaches the watch.
    server.lose_changes(true);
    server.put("nodes", node("n2"));
    server.order("watch", "nodes", 1, Fault::Cut);
    let began = Instant::now();
    lead.begin_term();
    assert_eq!(told(&mut news, "n2").await, ["n1", "n2"]);
    assert_eq!(lists(&server), 3, "the second was cut");
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "by the test's clock"
    );
}
