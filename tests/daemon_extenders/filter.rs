//! Nodes and scores.

use super::{always, bound, entry, names, node, pod, start, told, with};
use berth_api_server::Server;
use berth_test_support::extender::{Extender, Reply};
use serde_json::{Value, json};

async fn three_nodes() -> Server {
    let server = Server::start().await;
    for name in ["n1", "n2", "n3"] {
        server.put("nodes", node(name));
    }
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_filtered_by_name_and_their_texts_are_told() {
    let server = three_nodes().await;
    let extender = Extender::start(|_, body| {
        Reply::Json(match body["Pod"]["metadata"]["name"].as_str() {
            Some("fits") => json!({"NodeNames": ["n2"], "FailedNodes": {"n1": "too hot"}}),
            // Neither list: no node is left.
            _ => json!({
                "FailedNodes": {"n1": "too hot", "n2": "too hot", "n3": "never mind"},
                "FailedAndUnresolvableNodes": {"n3": "too far"},
            }),
        })
    });
    let fields = json!({"filterVerb": "filter", "nodeCacheCapable": true});
    let _daemon = start(&server, &json!([entry(&extender, fields)]));
    let mut fits = pod("fits", "1");
    fits["metadata"]["managedFields"] = json!([{"manager": "kubectl"}]);
    fits["metadata"]["annotations"] = json!({"example.com/a": "b"});
    server.put("pods", fits);
    assert_eq!(bound(&server, "fits").await, "n2");
    let asked = extender.bodies("filter");
    let body = &asked[0];
    let mut sent = names(&body["NodeNames"]);
    sent.sort_unstable();
    assert_eq!(sent, ["n1", "n2", "n3"]);
    assert_eq!(body["Nodes"], Value::Null);
    let metadata = &body["Pod"]["metadata"];
    assert_eq!(metadata["annotations"]["example.com/a"], "b");
    assert_eq!(metadata["managedFields"], Value::Null);
    server.put("pods", pod("nowhere", "1"));
    let (message, reason) = told(&server, "nowhere", "0/3").await;
    assert_eq!(reason, "Unschedulable");
    assert_eq!(
        message,
        "0/3 nodes are available: 1 too far, 2 too hot. preemption: 0/3 nodes are available: \
         1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    );
}

/// Upstream scores what came back as it came: empty nodes, so that the full one would do as well.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_come_back_as_objects_are_taken_by_name() {
    let server = three_nodes().await;
    let mut full = pod("full", "3");
    full["spec"]["nodeName"] = "n1".into();
    full["status"]["phase"] = "Running".into();
    server.put("pods", full);
    let mut marked = node("n2");
    marked["metadata"]["annotations"] = json!({"example.com/mark": "yes"});
    server.put("nodes", marked);
    let extender = Extender::start(|_, body| {
        let items = body["Nodes"]["items"].as_array().expect("objects");
        assert_eq!(body["NodeNames"], Value::Null);
        let find = |name: &str| items.iter().find(|node| node["metadata"]["name"] == name);
        let marked = find("n2").expect("it was sent");
        let annotations = &marked["metadata"]["annotations"];
        assert_eq!(annotations["example.com/mark"], "yes");
        let kept = ["n1", "n2"].map(|name| json!({"metadata": {"name": name}}));
        Reply::Json(json!({"Nodes": {"items": kept}, "NodeNames": ["n3"]}))
    });
    let fields = json!({"filterVerb": "filter"});
    let _daemon = start(&server, &json!([entry(&extender, fields)]));
    server.put("pods", pod("one", "1"));
    assert_eq!(bound(&server, "one").await, "n2");
}

/// The order is that of the configuration, with those that may fail behind the others.
#[tokio::test(flavor = "multi_thread")]
async fn extenders_are_asked_one_after_another_about_what_is_left() {
    let server = three_nodes().await;
    let keep = |kept: &'static [&str]| {
        Extender::start(move |_, body| {
            let sent = names(&body["NodeNames"]);
            let left: Vec<_> = kept.iter().filter(|own| sent.contains(own)).collect();
            Reply::Json(json!({"nodenames": left}))
        })
    };
    let (ignorable, first) = (keep(&["n1", "n2"]), keep(&["n2", "n3"]));
    let fields = json!({"filterVerb": "filter", "nodeCacheCapable": true});
    let mut last = entry(&ignorable, fields.clone());
    last["ignorable"] = json!(true);
    let _daemon = start(&server, &json!([last, entry(&first, fields)]));
    server.put("pods", pod("one", "1"));
    assert_eq!(bound(&server, "one").await, "n2");
    assert_eq!(names(&first.bodies("filter")[0]["NodeNames"]).len(), 3);
    let asked = ignorable.bodies("filter");
    assert_eq!(names(&asked[0]["NodeNames"]), ["n2", "n3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scores_change_the_choice_as_far_as_they_can_be_summed_up() {
    let server = three_nodes().await;
    let by_name = Extender::start(|_, body| {
        let favourite = body["Pod"]["metadata"]["name"].as_str().unwrap_or_default();
        let nodes = names(&body["NodeNames"]);
        let score = |node: &str| if favourite == node { 10 } else { -10 };
        let list = nodes
            .iter()
            .map(|node| json!({"Host": node, "Score": score(node)}));
        Reply::Json(list.collect())
    });
    // What leaves 64 bits counts nothing, also of the node that could be summed up.
    let beyond = always(Reply::Json(json!([
        {"Host": "n1", "Score": 1_000_000}, {"Host": "n3", "Score": i64::MAX},
    ])));
    let broken = always(Reply::Bytes(500, Vec::new()));
    let fields = json!({"prioritizeVerb": "prioritize", "nodeCacheCapable": true, "weight": 50});
    let all = [&beyond, &broken, &by_name].map(|own| entry(own, fields.clone()));
    let daemon = start(&server, &json!(all));
    for name in ["n2", "n3", "n1", "n2"] {
        server.put("pods", pod(name, "100m"));
        assert_eq!(bound(&server, name).await, name);
        server.remove("pods", "default", name);
    }
    assert!(daemon.log().contains("its scores leave 64 bits"));
}

/// B127: an extender with resources of its own is not shown pods that do not name them.
#[tokio::test(flavor = "multi_thread")]
async fn b127_only_pods_that_name_a_managed_resource_are_shown() {
    let server = Server::start().await;
    server.put("nodes", node("n1"));
    let extender = always(Reply::Bytes(500, Vec::new()));
    let fields = json!({
        "filterVerb": "filter", "prioritizeVerb": "prioritize", "preemptVerb": "preempt",
        "bindVerb": "bind", "weight": 1,
        // The node has none, but that is the extender's business.
        "managedResources": [{"name": "example.com/x", "ignoredByScheduler": true}],
    });
    let _daemon = start(&server, &json!([entry(&extender, fields)]));
    server.put("pods", pod("low", "4"));
    assert_eq!(bound(&server, "low").await, "n1");
    let mut high = pod("high", "4");
    high["spec"]["priority"] = json!(10);
    server.put("pods", high);
    super::preempt::goes(&server, "low").await;
    server.remove("pods", "default", "low");
    assert_eq!(bound(&server, "high").await, "n1");
    assert!(extender.asked().is_empty(), "{:?}", extender.asked());
    server.remove("pods", "default", "high");
    for (name, list, kind) in [
        ("a", "containers", "limits"),
        ("b", "initContainers", "requests"),
    ] {
        let mut named = pod(name, "1");
        let wants = json!({kind: {"example.com/x": "1"}});
        named["spec"][list] = json!([{"name": "two", "image": "two", "resources": wants}]);
        server.put("pods", named);
        let (message, _) = told(&server, name, "failed filter").await;
        assert_eq!(
            message,
            format!(
                "failed filter with extender at URL {}/filter, code 500",
                extender.url()
            )
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_that_are_left_to_an_extender_are_not_looked_at() {
    let server = Server::start().await;
    server.put("nodes", node("n1"));
    let extender = Extender::start(|_, body| Reply::Json(json!({"NodeNames": body["NodeNames"]})));
    let fields = json!({
        "filterVerb": "filter", "nodeCacheCapable": true,
        "managedResources": [
            {"name": "example.com/x", "ignoredByScheduler": true}, {"name": "example.com/y"},
        ],
    });
    let args = json!({"ignoredResources": ["example.com/z"]});
    let config = json!({
        "extenders": [entry(&extender, fields)],
        "profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}],
    });
    let _daemon = with(&server, config);
    for (name, resource) in [("y", "example.com/y"), ("z", "example.com/z")] {
        let mut wants = pod(name, "1");
        wants["spec"]["containers"][0]["resources"] =
            json!({"requests": {resource: "1"}, "limits": {resource: "1"}});
        server.put("pods", wants);
        let short = format!("Insufficient {resource}");
        told(&server, name, &short).await;
    }
    let mut wants = pod("x", "1");
    wants["spec"]["containers"][0]["resources"] =
        json!({"requests": {"example.com/x": "1"}, "limits": {"example.com/x": "1"}});
    server.put("pods", wants);
    assert_eq!(bound(&server, "x").await, "n1");
}
