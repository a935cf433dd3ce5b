//! The scripted API server, asked by the client that the daemon has.

use berth_api_server::{Fault, Refusal, Server};
use futures_util::{AsyncBufReadExt, StreamExt};
use http::{Method, Request};
use kube::{Client, Config};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/a/pods";

/// A server with three pods, and a client of it.
async fn cluster() -> (Server, Client) {
    let server = Server::start().await;
    for name in ["p1", "p2", "p3"] {
        server.put("pods", pod(name));
    }
    let client = client(&server);
    (server, client)
}

fn client(server: &Server) -> Client {
    let mut config = Config::new(server.url().parse().expect("a URL"));
    config.default_retry = false;
    Client::try_from(config).expect("a client")
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"namespace": "a", "name": name}, "status": {"phase": "Pending"}})
}

async fn ask(client: &Client, method: &str, path: &str, body: Value) -> kube::Result<Value> {
    let method: Method = method.parse().expect("a method");
    let form = if method == Method::PATCH {
        "application/strategic-merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", form);
    let request = request.body(body.to_string().into_bytes());
    client.request(request.expect("a request")).await
}

async fn get(client: &Client, path: &str) -> kube::Result<Value> {
    ask(client, "GET", path, json!({})).await
}

/// The lines of a watch.
async fn watch(
    client: &Client,
    path: &str,
) -> impl futures_util::Stream<Item = String> + Unpin + use<> {
    let request = Request::get(path).body(Vec::new()).expect("a request");
    let stream = client.request_stream(request).await.expect("it begins");
    Box::pin(
        stream
            .lines()
            .map(|line| line.expect("the stream is whole")),
    )
}

/// An event as `TYPE name version`.
fn event(line: Option<String>) -> String {
    let line = line.expect("the stream goes on");
    let event: Value = serde_json::from_str(&line).expect(&line);
    let object = &event["object"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    let what = text(&event["type"]);
    format!(
        "{what} {} {}",
        text(&metadata["name"]),
        text(&metadata["resourceVersion"])
    )
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().expect("a list");
    items
        .iter()
        .filter_map(|item| item["metadata"]["name"].as_str())
        .collect()
}

/// HTTP's code and Kubernetes' reason of a refusal.
fn refusal(answer: kube::Result<Value>) -> (u16, String) {
    match answer {
        Err(kube::Error::Api(status)) => (status.code, status.reason),
        other => panic!("was not refused: {other:?}"),
    }
}

fn is_cut(answer: &kube::Result<Value>) -> bool {
    !matches!(answer, Ok(_) | Err(kube::Error::Api(_)))
}

fn bind(node: &str, uid: &str) -> Value {
    json!({"metadata": {"name": "p1", "uid": uid}, "target": {"name": node}})
}

#[tokio::test]
async fn pages_are_of_one_version_until_it_is_forgotten() {
    let (server, client) = cluster().await;
    let first = get(&client, "/api/v1/pods?limit=2").await.expect("a page");
    assert_eq!(names(&first), ["p1", "p2"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    let version = first["metadata"]["resourceVersion"].clone();
    server.put("pods", pod("p4"));
    let token = first["metadata"]["continue"]
        .as_str()
        .expect("there is more");
    let path = format!(
        "/api/v1/pods?limit=2&continue={}",
        token.replace('/', "%2F")
    );
    let second = get(&client, &path).await.expect("a page");
    assert_eq!(names(&second), ["p3"]);
    assert_eq!(second["metadata"]["resourceVersion"], version);
    assert_eq!(second["metadata"]["continue"], Value::Null);
    server.forget_history();
    assert_eq!(
        refusal(get(&client, &path).await),
        (410, "Expired".to_owned())
    );
    let all = get(&client, "/api/v1/pods?limit=2&resourceVersion=0").await;
    assert_eq!(names(&all.expect("a cache knows no pages")).len(), 4);
}

#[tokio::test]
async fn a_streaming_list_ends_with_a_bookmark_and_goes_on_as_a_watch() {
    let (server, client) = cluster().await;
    let start = server.version();
    let query =
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = watch(&client, &format!("/api/v1/pods?{query}")).await;
    for name in ["p1", "p2", "p3"] {
        assert!(event(lines.next().await).starts_with(&format!("ADDED {name}")));
    }
    let end = lines.next().await.expect("a bookmark");
    assert!(
        end.contains(r#""k8s.io/initial-events-end":"true""#),
        "{end}"
    );
    assert_eq!(event(Some(end)), format!("BOOKMARK  {start}"));
    server.put("pods", pod("p1"));
    assert_eq!(
        event(lines.next().await),
        format!("MODIFIED p1 {}", start + 1)
    );
    server.remove("pods", "a", "p2");
    assert_eq!(
        event(lines.next().await),
        format!("DELETED p2 {}", start + 2)
    );
    server.put("nodes", json!({"metadata": {"name": "n"}}));
    server.bookmark("pods");
    assert_eq!(
        event(lines.next().await),
        format!("BOOKMARK  {}", start + 3)
    );
    assert_eq!(server.watches("pods"), 1);
    drop(lines);
    drop(client);
    server
        .until("the watch is closed", |server| {
            (server.watches("pods") == 0).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_selection_sees_objects_come_and_go() {
    let (server, client) = cluster().await;
    let path = format!(
        "{PODS}?watch=1&resourceVersion={}&fieldSelector=spec.nodeName%3D",
        server.version()
    );
    let mut lines = watch(&client, &path).await;
    let mut bound = pod("p1");
    bound["spec"]["nodeName"] = json!("n");
    server.put("pods", bound);
    assert!(event(lines.next().await).starts_with("DELETED p1"));
    server.put("pods", pod("p1"));
    assert!(event(lines.next().await).starts_with("ADDED p1"));
    let list = get(&client, &format!("{PODS}?fieldSelector=metadata.name!=p2")).await;
    assert_eq!(names(&list.expect("a list")), ["p1", "p3"]);
}

#[tokio::test]
async fn watches_end_fall_silent_lose_and_hear_nonsense_as_ordered() {
    let (server, client) = cluster().await;
    let path = format!("{PODS}?watch=1&resourceVersion={}", server.version());
    let mut lines = watch(&client, &path).await;
    server.say("pods", b"{nonsense\n");
    assert_eq!(lines.next().await.expect("a line"), "{nonsense");
    let huge = "x".repeat(3 << 20) + "\n";
    server.say("pods", huge.as_bytes());
    assert_eq!(lines.next().await.expect("a line").len(), 3 << 20);
    server.lose_changes(true);
    server.put("pods", pod("lost"));
    server.lose_changes(false);
    server.put("pods", pod("told"));
    assert!(event(lines.next().await).starts_with("ADDED told"));
    server.silence_watches("pods", true);
    server.put("pods", pod("late"));
    server.say("pods", b"unheard\n");
    server.silence_watches("pods", false);
    assert!(event(lines.next().await).starts_with("ADDED late"));
    assert_eq!(lines.next().await.expect("a line"), "unheard");
    server.end_watches("pods");
    assert_eq!(lines.next().await, None);

    let old = server.version();
    server.put("pods", pod("p9"));
    server.forget_history();
    let mut lines = watch(&client, &format!("{PODS}?watch=1&resourceVersion={old}")).await;
    let line = lines.next().await.expect("an error");
    assert!(
        line.contains(r#""code":410"#) && line.contains(r#""type":"ERROR""#),
        "{line}"
    );
    assert_eq!(lines.next().await, None);
    let path = format!(
        "{PODS}?watch=1&resourceVersion={}&timeoutSeconds=0",
        server.version()
    );
    assert_eq!(
        watch(&client, &path).await.next().await,
        None,
        "its time is over"
    );
    assert_eq!(server.count("watch", "pods"), 3);
}

#[tokio::test]
async fn a_binding_has_one_effect_and_four_refusals() {
    let (server, client) = cluster().await;
    let path = format!("{PODS}/p1/binding");
    let conflict = (409, "Conflict".to_owned());
    let wrong = ask(&client, "POST", &path, bind("n", "another")).await;
    assert_eq!(refusal(wrong), conflict);
    let mut gated = pod("p1");
    gated["spec"]["schedulingGates"] = json!([{"name": "g"}]);
    server.put("pods", gated);
    assert_eq!(
        refusal(ask(&client, "POST", &path, bind("n", "")).await),
        conflict
    );
    server.put("pods", pod("p1"));
    server.order("create", "pods/binding", 1, Fault::LoseAnswer);
    assert!(is_cut(&ask(&client, "POST", &path, bind("n", "")).await));
    let bound = server.get("pods", "a", "p1").expect("it is there");
    assert_eq!(bound["spec"]["nodeName"], "n");
    assert_eq!(
        bound["status"]["conditions"],
        json!([{"type": "PodScheduled", "status": "True"}])
    );
    assert_eq!(
        refusal(ask(&client, "POST", &path, bind("n", "")).await),
        conflict
    );
    let going = ask(&client, "DELETE", &format!("{PODS}/p1"), json!({})).await;
    assert!(going.expect("it begins to go")["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        refusal(ask(&client, "POST", &path, bind("m", "")).await),
        conflict
    );
    let calls = server.calls();
    let codes: Vec<u16> = calls.iter().map(|call| call.code).collect();
    assert_eq!(codes, [409, 409, 0, 409, 200, 409]);
    let gone = ask(
        &client,
        "POST",
        &format!("{PODS}/none/binding"),
        bind("n", ""),
    )
    .await;
    assert_eq!(refusal(gone), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn writes_go_by_uid_and_version_where_they_name_them() {
    let (server, client) = cluster().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/a/leases";
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}});
    let mut mine = ask(&client, "POST", leases, lease.clone())
        .await
        .expect("it is new");
    let again = ask(&client, "POST", leases, lease.clone()).await;
    assert_eq!(refusal(again), (409, "AlreadyExists".to_owned()));
    let path = format!("{leases}/l");
    let blind = ask(&client, "PUT", &path, lease).await;
    assert_eq!(refusal(blind), (422, "Invalid".to_owned()));
    let renewed = ask(&client, "PUT", &path, mine.clone())
        .await
        .expect("nobody came between");
    assert_ne!(
        renewed["metadata"]["resourceVersion"],
        mine["metadata"]["resourceVersion"]
    );
    mine["spec"]["holderIdentity"] = json!("y");
    let late = ask(&client, "PUT", &path, mine).await;
    assert_eq!(refusal(late), (409, "Conflict".to_owned()));

    let path = format!("{PODS}/p1");
    let other = json!({"preconditions": {"uid": "another"}});
    assert_eq!(refusal(ask(&client, "DELETE", &path, other).await).0, 409);
    let status = json!({"metadata": {"uid": "another"}, "status": {}});
    let status = ask(&client, "PATCH", &format!("{path}/status"), status).await;
    assert_eq!(refusal(status).0, 409);
    let before = server.version();
    let same = json!({"status": {"phase": "Pending"}, "spec": {"ignored": true}});
    let same = ask(&client, "PATCH", &format!("{path}/status"), same).await;
    same.expect("what changes nothing is fine");
    assert_eq!(server.version(), before);
    let uid = server.get("pods", "a", "p1").expect("it is there")["metadata"]["uid"].clone();
    let own = json!({"preconditions": {"uid": uid}});
    ask(&client, "DELETE", &path, own).await.expect("it goes");
    assert_eq!(server.get("pods", "a", "p1"), None, "it ran nowhere");
}

#[tokio::test]
async fn faults_come_in_their_order_and_as_often_as_ordered() {
    let (server, client) = cluster().await;
    server.order(
        "list",
        "pods",
        2,
        Fault::Refuse(Refusal::too_many_requests(7)),
    );
    server.order("*", "*", 1, Fault::Cut);
    for _ in 0..2 {
        let answer = get(&client, PODS).await;
        let Err(kube::Error::Api(status)) = answer else {
            panic!("{answer:?}");
        };
        let details = status
            .details
            .as_ref()
            .map(|details| details.retry_after_seconds);
        assert_eq!((status.code, details), (429, Some(7)));
    }
    assert!(is_cut(&get(&client, PODS).await));
    assert_eq!(
        names(&get(&client, PODS).await.expect("all is over")).len(),
        3
    );

    let old = server.version();
    server.put("pods", pod("p4"));
    server.order("list", "pods", 1, Fault::Stale(old));
    assert_eq!(names(&get(&client, PODS).await.expect("a list")).len(), 3);
    let html = Fault::Answer {
        code: 200,
        content_type: "text/html".to_owned(),
        body: "<html>".to_owned(),
    };
    server.order("get", "pods", 1, html);
    assert!(
        is_cut(&get(&client, &format!("{PODS}/p1")).await),
        "that is no JSON"
    );

    for (fault, done) in [(Fault::Hold, false), (Fault::HoldAnswer, true)] {
        let order = server.order("delete", "pods", 1, fault);
        let asked = client.clone();
        let path = format!("{PODS}/p2");
        let deletion = tokio::spawn(async move { ask(&asked, "DELETE", &path, json!({})).await });
        let came = |server: &Server| (server.count("delete", "pods") > 0).then_some(());
        server.until("the request is there", came).await;
        if done {
            let gone = |server: &Server| server.get("pods", "a", "p2").is_none().then_some(());
            server.until("it is carried out", gone).await;
        } else {
            assert!(server.get("pods", "a", "p2").is_some());
        }
        assert!(!deletion.is_finished());
        server.lift(order);
        deletion.await.expect("it ends").expect("it is answered");
        server.put("pods", pod("p2"));
    }
}

#[tokio::test]
async fn time_can_go_back_and_the_server_away() {
    let (mut server, client) = cluster().await;
    let saved = server.save();
    server.put("pods", pod("p4"));
    let newer = server.version();
    let mut lines = watch(&client, &format!("{PODS}?watch=1&resourceVersion={newer}")).await;
    server.restore(saved);
    assert_eq!(lines.next().await, None);
    assert_eq!(server.version(), newer - 1);
    let future = get(&client, &format!("{PODS}?resourceVersion={newer}")).await;
    assert_eq!(refusal(future), (504, "Timeout".to_owned()));
    assert_eq!(
        names(&get(&client, PODS).await.expect("a list")),
        ["p1", "p2", "p3"]
    );

    server.down().await;
    assert!(is_cut(&get(&client, PODS).await));
    server.up().await;
    assert_eq!(
        names(&get(&client, PODS).await.expect("it is there again")).len(),
        3
    );
}

#[tokio::test]
async fn reviews_say_what_was_granted() {
    let (server, client) = cluster().await;
    server.know_token("secret", "someone", &["readers"]);
    server.allow("someone", "get", "/metrics");
    for (token, known) in [("secret", true), ("guess", false)] {
        let review = json!({"spec": {"token": token}});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let answer = ask(&client, "POST", path, review).await.expect("a review");
        assert_eq!(answer["status"]["authenticated"], known);
    }
    for (path, allowed) in [("/metrics", true), ("/configz", false)] {
        let asked = json!({"verb": "get", "path": path});
        let review = json!({"spec": {"user": "someone", "nonResourceAttributes": asked}});
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = ask(&client, "POST", path, review).await.expect("a review");
        assert_eq!(answer["status"]["allowed"], allowed);
    }
    let authority = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let authority = get(&client, authority)
        .await
        .expect("it is there from the start");
    assert_eq!(authority["data"]["client-ca-file"], "");
    assert_eq!(refusal(get(&client, "/apis/none/v1/things").await).0, 404);
    assert_eq!(
        get(&client, "/version").await.expect("it says")["gitVersion"],
        "v1.37.2"
    );
}
