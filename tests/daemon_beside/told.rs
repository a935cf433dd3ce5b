//! What a scheduler made of pods, as the API tells it.

use berth_control_plane::api::{Api, pods};
use berth_control_plane::load::NAMESPACE;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What became of a pod.
#[derive(Debug, PartialEq)]
pub struct Told {
    pub node: Value,
    pub nominated: Value,
    /// Type, status, reason and message of each condition.
    pub conditions: Vec<[Value; 4]>,
    /// Of each event, without those that repeat another.
    pub events: BTreeSet<String>,
}

/// A pod that has a node, or of which is said why not.
pub fn is_settled(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let told = |condition: &Value| condition["type"] == "PodScheduled";
    pod["spec"]["nodeName"].is_string() || conditions.is_some_and(|all| all.iter().any(told))
}

/// What of an event does not differ from run to run.
fn text(event: &Value) -> String {
    let node = |field: &str| event["regarding"][field].clone();
    let parts = [
        event["type"].clone(),
        event["reason"].clone(),
        event["action"].clone(),
        event["note"].clone(),
        event["reportingController"].clone(),
        node("kind"),
        node("apiVersion"),
        node("namespace"),
        event["related"].clone(),
    ];
    Value::from(parts.to_vec()).to_string()
}

pub async fn what_became(api: &Api) -> BTreeMap<String, Told> {
    let list = api.list(&pods(NAMESPACE)).await.expect("the API answers");
    let path = format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events");
    let events = api.list(&path).await.expect("the API answers");
    let name = |pod: &Value| pod["metadata"]["name"].as_str().expect("a name").to_owned();
    let told = |pod: &Value| {
        let conditions = pod["status"]["conditions"].as_array();
        let own = |event: &&Value| event["regarding"]["uid"] == pod["metadata"]["uid"];
        let fields = ["type", "status", "reason", "message"];
        Told {
            node: pod["spec"]["nodeName"].clone(),
            nominated: pod["status"]["nominatedNodeName"].clone(),
            conditions: conditions
                .into_iter()
                .flatten()
                .map(|condition| fields.map(|field| condition[field].clone()))
                .collect(),
            events: events.iter().filter(own).map(text).collect(),
        }
    };
    list.iter().map(|pod| (name(pod), told(pod))).collect()
}
