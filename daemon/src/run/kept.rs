//! Whole objects, as extenders get them; nothing is kept where no request carries it.

use berth_core::id::{NodeId, PodId};
use berth_core::object::Object;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Which objects are kept as the API server sent them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keeps {
    /// Pods without a node.
    pub pending: bool,
    /// Pods with one.
    pub bound: bool,
    pub nodes: bool,
}

impl Keeps {
    /// The text of an object that is kept, without its kind, as kube-scheduler's client leaves it; a pod's
    /// without `managedFields` too.
    pub fn text(self, object: &Object, text: &RawValue) -> Option<Box<RawValue>> {
        match object {
            Object::Node(_) if self.nodes => Some(without_kind(text, "Node")),
            Object::Pod(pod) => {
                let has_node = !pod.spec.node_name.is_empty();
                let is_kept = if has_node { self.bound } else { self.pending };
                is_kept.then(|| without_managed_fields(&without_kind(text, "Pod")))
            }
            _ => None,
        }
    }
}

/// Without what the API server begins an object with.
fn without_kind(text: &RawValue, kind: &str) -> Box<RawValue> {
    let head = format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"v1\",");
    let rest = text.get().strip_prefix(&head);
    let rest = rest.and_then(|rest| RawValue::from_string(format!("{{{rest}")).ok());
    rest.unwrap_or_else(|| text.to_owned())
}

/// The text of a pod that has a node as far as we know alone.
pub fn on_node(text: &RawValue, node: &str) -> Box<RawValue> {
    let mut pod: Value = serde_json::from_str(text.get()).unwrap_or_default();
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("nodeName".to_owned(), node.into());
    }
    to_raw_value(&pod).unwrap_or_else(|_| text.to_owned())
}

fn without_managed_fields(text: &RawValue) -> Box<RawValue> {
    let mut pod = Value::Null;
    if text.get().contains("\"managedFields\"") {
        pod = serde_json::from_str(text.get()).unwrap_or_default();
    }
    let metadata = pod.get_mut("metadata").and_then(Value::as_object_mut);
    let has_any = metadata.is_some_and(|own| own.remove("managedFields").is_some());
    let rest = has_any.then(|| to_raw_value(&pod).ok()).flatten();
    rest.unwrap_or_else(|| text.to_owned())
}

/// The objects, by their ids.
#[derive(Default)]
pub struct Kept {
    pods: Vec<Option<Box<RawValue>>>,
    nodes: Vec<Option<Box<RawValue>>>,
}

impl Kept {
    pub fn pod(&self, pod: PodId) -> Option<&RawValue> {
        self.pods.get(pod.index())?.as_deref()
    }

    pub fn node(&self, node: NodeId) -> Option<&RawValue> {
        self.nodes.get(node.index())?.as_deref()
    }

    /// Keeps the text, or nothing any more.
    pub fn put_pod(&mut self, pod: PodId, text: Option<Box<RawValue>>) {
        put(&mut self.pods, pod.index(), text);
    }

    pub fn put_node(&mut self, node: NodeId, text: Option<Box<RawValue>>) {
        put(&mut self.nodes, node.index(), text);
    }
}

fn put(list: &mut Vec<Option<Box<RawValue>>>, at: usize, text: Option<Box<RawValue>>) {
    if list.len() <= at && text.is_some() {
        list.resize_with(at + 1, || None);
    }
    if let Some(entry) = list.get_mut(at) {
        *entry = text;
    }
}

#[cfg(test)]
mod tests {
    use super::{on_node, without_kind, without_managed_fields};
    use serde_json::value::RawValue;
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    #[test]
    fn managed_fields_are_dropped_and_nothing_else() {
        let pod = json!({"metadata": {"name": "p", "managedFields": [{"manager": "kubectl"}],
            "annotations": {"a": "\"managedFields\""}}, "spec": {"x": [1]}});
        let text = to_raw_value(&pod).expect("JSON");
        let kept: Value = serde_json::from_str(without_managed_fields(&text).get()).expect("JSON");
        let expected = json!({"metadata": {"name": "p",
            "annotations": {"a": "\"managedFields\""}}, "spec": {"x": [1]}});
        assert_eq!(kept, expected);
        let text = to_raw_value(&expected).expect("JSON");
        assert_eq!(without_managed_fields(&text).get(), text.get());
    }

    #[test]
    fn kinds_are_dropped_and_an_assumed_pod_has_its_node() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).expect("JSON");
        let pod = raw(r#"{"kind":"Pod","apiVersion":"v1","spec":{"a":1}}"#);
        let text = r#"{"spec":{"a":1}}"#;
        assert_eq!(without_kind(&pod, "Pod").get(), text);
        assert_eq!(without_kind(&pod, "Node").get(), pod.get());
        assert_eq!(without_kind(&raw(text), "Pod").get(), text);
        let there: Value = serde_json::from_str(on_node(&raw(text), "n1").get()).expect("JSON");
        assert_eq!(there, json!({"spec": {"a": 1, "nodeName": "n1"}}));
    }
}
