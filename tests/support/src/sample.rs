//! Small objects for tests that need a few of them.

use serde_json::{Value, json};

/// A node with four cpus, of this name as its host name; `more` is merged in.
pub fn node(name: &str, more: Value) -> Value {
    let mut json = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    });
    merge(&mut json, more);
    json
}

/// A pod that asks for one cpu; `more` is merged in.
pub fn pod(name: &str, more: Value) -> Value {
    let mut json = json!({
        "metadata": {"name": name, "namespace": "default", "labels": {}},
        "spec": {
            "preemptionPolicy": "Never",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        },
    });
    merge(&mut json, more);
    json
}

/// A pod on a node.
pub fn bound(name: &str, node: &str, more: Value) -> Value {
    let mut json = pod(name, more);
    json["spec"]["nodeName"] = json!(node);
    json
}

/// Puts the fields of `more` into `json`, objects field by field.
pub fn merge(json: &mut Value, more: Value) {
    match more {
        Value::Object(fields) if json.is_object() => {
            for (key, value) in fields {
                merge(&mut json[key], value);
            }
        }
        other => *json = other,
    }
}
