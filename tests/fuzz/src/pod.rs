//! Pods: decoding, validation, and a decision that is the twin's.

use super::decoding::{object, prepared};
use super::node::usual;
use super::twin::Twin;
use berth_core::object::Object;

/// Decodes a pod both ways, completes it as an API server would, and asks where it goes.
pub fn run(bytes: &[u8]) {
    let Some(pod) = object("Pod", bytes) else {
        return;
    };
    let prepared = prepared(vec![pod]);
    let mut twin = Twin::new();
    for name in ["n1", "n2", "n3"] {
        twin.add(&usual(name));
    }
    for object in &prepared.objects {
        twin.add(object);
    }
    if let Some(pod) = prepared.pending.first() {
        // One like it that is there already.
        let mut other = pod.clone();
        other.metadata.name.push_str("-2");
        other.spec.node_name = "n1".into();
        twin.add(&Object::Pod(other));
        twin.agree_on(pod);
    }
}
