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
    /// The text of an object that is kept; a pod's without `managedFields`, as kube-scheduler drops them.
    pub fn text(self, object: &Object, text: &RawValue) -> Option<Box<RawValue>> {
        match object {
            Object::Node(_) if self.nodes => Some(text.to_owned()),
            Object::Pod(pod) => {
                let has_node = !pod.spec.node_name.is_empty();
                let is_kept = if has_node { self.bound } else { self.pending };
                is_kept.then(|| without_managed_fields(text))
            }
            _ => None,
        }
    }
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
    use super::without_managed_fields;
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
}
