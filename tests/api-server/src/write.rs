//! Create, update, patch, delete, and the subresources that a scheduler writes.

use crate::kind::{Kind, Target};
use crate::merge::merge;
use crate::read::{get, key};
use crate::refusal::Refusal;
use crate::store::{CREATED, Store};
use crate::stored::Stored;
use serde_json::{Value, json};
use std::sync::Arc;

/// An object that is to be.
pub(crate) fn create(
    store: &mut Store,
    target: &Target,
    mut object: Value,
    lost: bool,
) -> Result<Arc<Stored>, Refusal> {
    let metadata = &object["metadata"];
    let name = match (metadata["name"].as_str(), metadata["generateName"].as_str()) {
        (None | Some(""), Some(prefix)) => format!("{prefix}{}", store.version() + 1),
        (name, _) => name.unwrap_or_default().to_owned(),
    };
    let target = Target {
        name,
        ..target.clone()
    };
    if target.name.is_empty() {
        let why = "metadata.name: Required value: name or generateName is required";
        return Err(Refusal::invalid(&target, why));
    }
    if target.kind.namespaced && target.namespace.is_empty() {
        return Err(Refusal::bad_request(
            "an object of this kind needs a namespace",
        ));
    }
    if store.get(&key(&target)).is_some() {
        return Err(Refusal::already_exists(&target));
    }
    set_defaults(target.kind, &mut object);
    Ok(store.put(&key(&target), object, lost))
}

/// What a scheduler goes by and a server fills in.
pub(crate) fn set_defaults(kind: &Kind, object: &mut Value) {
    if kind.kind == "Pod" {
        for (part, field, default) in [
            ("spec", "schedulerName", "default-scheduler"),
            ("status", "phase", "Pending"),
        ] {
            let value = &mut object[part][field];
            if value.is_null() {
                *value = json!(default);
            }
        }
    }
}

/// PUT of an object, or of its status.
pub(crate) fn replace(
    store: &mut Store,
    target: &Target,
    mut object: Value,
    lost: bool,
) -> Result<Arc<Stored>, Refusal> {
    let mut now = get(store, target)?.value().into_owned();
    let given = object["metadata"]["resourceVersion"].as_str();
    if target.kind.kind == "Lease" && given.is_none_or(str::is_empty) {
        let why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update";
        return Err(Refusal::invalid(target, why));
    }
    precondition(target, &object["metadata"], &now)?;
    if target.subresource == "status" {
        now["status"] = object["status"].take();
        return Ok(store.put(&key(target), now, lost));
    }
    for field in ["uid", "creationTimestamp"] {
        object["metadata"][field] = now["metadata"][field].take();
    }
    Ok(store.put(&key(target), object, lost))
}

/// PATCH of an object, or of its status.
pub(crate) fn patch(
    store: &mut Store,
    target: &Target,
    change: &Value,
    strategic: bool,
    lost: bool,
) -> Result<Arc<Stored>, Refusal> {
    let stored = get(store, target)?;
    let now = stored.value();
    precondition(target, &change["metadata"], &now)?;
    let mut then = now.clone().into_owned();
    if target.subresource == "status" {
        merge(&mut then["status"], &change["status"], strategic);
    } else {
        merge(&mut then, change, strategic);
    }
    // What changes nothing is no new version.
    if then == *now {
        drop(now);
        return Ok(stored);
    }
    Ok(store.put(&key(target), then, lost))
}

/// A pod with a node only begins to go, as its kubelet must end it first, unless the grace is 0.
pub(crate) fn delete(
    store: &mut Store,
    target: &Target,
    options: &Value,
    lost: bool,
) -> Result<Arc<Stored>, Refusal> {
    let mut now = get(store, target)?.value().into_owned();
    precondition(target, &options["preconditions"], &now)?;
    let running = now["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    let grace = options["gracePeriodSeconds"].as_u64().unwrap_or(30);
    if target.kind.kind == "Pod" && running && grace > 0 {
        if now["metadata"]["deletionTimestamp"].is_null() {
            now["metadata"]["deletionTimestamp"] = json!(CREATED);
            now["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
            return Ok(store.put(&key(target), now, lost));
        }
        return get(store, target);
    }
    let gone = store.remove(&key(target), lost);
    gone.ok_or_else(|| Refusal::not_found(target))
}

/// Puts a pod on a node, with kube-apiserver's four refusals.
pub(crate) fn bind(
    store: &mut Store,
    target: &Target,
    binding: &Value,
    lost: bool,
) -> Result<Value, Refusal> {
    let mut pod = get(store, target)?.value().into_owned();
    let name = &target.name;
    precondition(target, &binding["metadata"], &pod)?;
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        let why = format!("pod {name} is being deleted, cannot be assigned to a host");
        return Err(Refusal::conflict(target, &why));
    }
    if let Some(node) = pod["spec"]["nodeName"]
        .as_str()
        .filter(|node| !node.is_empty())
    {
        let why = format!("pod {name} is already assigned to node {node:?}");
        return Err(Refusal::conflict(target, &why));
    }
    let gates = pod["spec"]["schedulingGates"].as_array();
    if gates.is_some_and(|gates| !gates.is_empty()) {
        let why = format!("pod {name} has non-empty .spec.schedulingGates");
        return Err(Refusal::conflict(target, &why));
    }
    pod["spec"]["nodeName"] = binding["target"]["name"].clone();
    let scheduled = json!({
        "nominatedNodeName": null,
        "conditions": [{
            "type": "PodScheduled", "status": "True", "reason": null, "message": null,
        }],
    });
    merge(&mut pod["status"], &scheduled, true);
    store.put(&key(target), pod, lost);
    Ok(
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}),
    )
}

/// The uid and the version that a request goes by, where it names them.
fn precondition(target: &Target, wanted: &Value, now: &Value) -> Result<(), Refusal> {
    let text = |from: &Value, field: &str| from[field].as_str().unwrap_or_default().to_owned();
    let (wanted_uid, uid) = (text(wanted, "uid"), text(&now["metadata"], "uid"));
    if !wanted_uid.is_empty() && wanted_uid != uid {
        let why = format!(
            "Precondition failed: UID in precondition: {wanted_uid}, UID in object meta: {uid}"
        );
        return Err(Refusal::conflict(target, &why));
    }
    let wanted_version = text(wanted, "resourceVersion");
    let version = text(&now["metadata"], "resourceVersion");
    if !wanted_version.is_empty() && wanted_version != version {
        let why = "the object has been modified; please apply your changes to the latest version \
                   and try again";
        return Err(Refusal::conflict(target, why));
    }
    Ok(())
}
