//! Rows on volumes, claims and the kinds of storage, and on pods that use them.

use super::{Row, added, deleted, modified};
use berth_core::plugins::Plugin;
use berth_test_support::sample::{bound, merge, node, pod};
use serde_json::{Value, json};

const ZONE: &str = "topology.kubernetes.io/zone";

fn using(mut pod: Value, claim: &str) -> Value {
    pod["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]);
    pod
}

fn with_disk(mut pod: Value, disk: &str) -> Value {
    pod["spec"]["volumes"] = json!([{"name": "v", "gcePersistentDisk": {"pdName": disk}}]);
    pod
}

/// A claim for one gibibyte of the class `wait`; `more` is merged in.
fn claim(name: &str, more: Value) -> Value {
    let mut json = json!({
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "wait",
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Pending"},
    });
    merge(&mut json, more);
    json
}

/// A claim that is bound to the volume of its name.
fn bound_claim(name: &str, more: Value) -> Value {
    let mut json = claim(
        name,
        json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": name},
        }),
    );
    merge(&mut json, more);
    json
}

/// A volume of the driver `d`, bound to the claim of its name.
fn volume(name: &str, more: Value) -> Value {
    let mut json = json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "wait",
            "claimRef": {"namespace": "default", "name": name, "uid": name},
            "csi": {"driver": "d", "volumeHandle": name},
        },
        "status": {"phase": "Bound"},
    });
    merge(&mut json, more);
    json
}

fn class(name: &str, mode: &str, more: Value) -> Value {
    let mut json =
        json!({"metadata": {"name": name}, "provisioner": "d", "volumeBindingMode": mode});
    merge(&mut json, more);
    json
}

fn waiting_class(more: Value) -> Value {
    class("wait", "WaitForFirstConsumer", more)
}

fn in_zone(zone: &str) -> Value {
    json!({"allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]}]})
}

fn csi_node(count: u32, more: Value) -> Value {
    let mut json = json!({
        "metadata": {"name": "a"},
        "spec": {"drivers": [{"name": "d", "nodeID": "a", "allocatable": {"count": count}}]},
    });
    merge(&mut json, more);
    json
}

fn driver(name: &str, spec: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": spec})
}

fn room(amount: &str) -> Value {
    json!({
        "metadata": {"name": "r", "namespace": "default"}, "storageClassName": "wait",
        "nodeTopology": {}, "capacity": amount,
    })
}

fn attachment(name: &str, volume: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "attacher": "d", "nodeName": "a", "source": {"persistentVolumeName": volume},
    }})
}

fn in_a() -> Value {
    node("a", json!({"metadata": {"labels": {(ZONE): "a"}}}))
}

/// A node, and a claim with its volume, `x`, that nobody asks for.
fn base() -> Vec<(&'static str, Value)> {
    vec![
        ("Node", in_a()),
        ("PersistentVolume", volume("x", json!({}))),
        ("PersistentVolumeClaim", bound_claim("x", json!({}))),
    ]
}

fn with(more: Vec<(&'static str, Value)>) -> Vec<(&'static str, Value)> {
    base().into_iter().chain(more).collect()
}

fn mine() -> Value {
    using(pod("p", json!({})), "c")
}

fn restrictions() -> Vec<Row> {
    let plugin = Plugin::VolumeRestrictions;
    let exclusive = || {
        with(vec![
            ("PersistentVolume", volume("c", json!({}))),
            (
                "PersistentVolumeClaim",
                bound_claim("c", json!({"spec": {"accessModes": ["ReadWriteOncePod"]}})),
            ),
            ("Pod", using(bound("q", "a", json!({})), "c")),
            ("Pod", using(bound("r", "a", json!({})), "x")),
        ])
    };
    let disks = || {
        with(vec![
            ("Pod", with_disk(bound("q", "a", json!({})), "c")),
            ("Pod", with_disk(bound("r", "a", json!({})), "x")),
        ])
    };
    vec![
        Row {
            about: "claim added",
            plugin,
            there: base(),
            pod: mine(),
            wakes: added("PersistentVolumeClaim", claim("c", json!({}))),
            sleeps: added("PersistentVolumeClaim", claim("d", json!({}))),
        },
        Row {
            about: "the claim's user deleted",
            plugin,
            there: exclusive(),
            pod: mine(),
            wakes: deleted("Pod", using(bound("q", "a", json!({})), "c")),
            sleeps: deleted("Pod", using(bound("r", "a", json!({})), "x")),
        },
        Row {
            about: "the disk's user deleted",
            plugin,
            there: disks(),
            pod: with_disk(pod("p", json!({})), "c"),
            wakes: deleted("Pod", with_disk(bound("q", "a", json!({})), "c")),
            sleeps: deleted("Pod", with_disk(bound("r", "a", json!({})), "x")),
        },
        Row {
            about: "node added",
            plugin,
            there: disks(),
            pod: with_disk(pod("p", json!({})), "c"),
            wakes: added("Node", node("b", json!({}))),
            sleeps: modified("Node", node("a", json!({}))),
        },
    ]
}

fn limits() -> Vec<Row> {
    let plugin = Plugin::NodeVolumeLimits;
    let one = |count: u32, more: Vec<(&'static str, Value)>| {
        let own = vec![
            ("PersistentVolume", volume("c", json!({}))),
            ("PersistentVolumeClaim", bound_claim("c", json!({}))),
            ("CSINode", csi_node(count, json!({}))),
        ];
        with(own.into_iter().chain(more).collect())
    };
    let needed = json!({"preventPodSchedulingIfMissing": true});
    vec![
        Row {
            about: "CSINode added",
            plugin,
            there: with(vec![
                ("CSIDriver", driver("d", &needed)),
                ("PersistentVolume", volume("c", json!({}))),
                ("PersistentVolumeClaim", bound_claim("c", json!({}))),
            ]),
            pod: mine(),
            wakes: added("CSINode", csi_node(5, json!({}))),
            sleeps: modified("CSIDriver", driver("d", &json!({}))),
        },
        Row {
            about: "CSINode updated",
            plugin,
            there: one(0, vec![]),
            pod: mine(),
            wakes: modified("CSINode", csi_node(1, json!({}))),
            sleeps: modified("CSINode", csi_node(0, json!({}))),
        },
        Row {
            about: "a pod with volumes deleted",
            plugin,
            there: one(
                1,
                vec![
                    ("Pod", using(bound("q", "a", json!({})), "x")),
                    ("Pod", bound("r", "a", json!({}))),
                ],
            ),
            pod: mine(),
            wakes: deleted("Pod", using(bound("q", "a", json!({})), "x")),
            sleeps: deleted("Pod", bound("r", "a", json!({}))),
        },
        Row {
            about: "attachment deleted",
            plugin,
            there: one(1, vec![("VolumeAttachment", attachment("t", "x"))]),
            pod: mine(),
            wakes: deleted("VolumeAttachment", attachment("t", "x")),
            sleeps: added("VolumeAttachment", attachment("u", "c")),
        },
    ]
}

fn binding() -> Vec<Row> {
    let plugin = Plugin::VolumeBinding;
    let unbound = |more: Vec<(&'static str, Value)>| {
        let own = vec![("PersistentVolumeClaim", claim("c", json!({})))];
        with(own.into_iter().chain(more).collect())
    };
    let elsewhere = || unbound(vec![("StorageClass", waiting_class(in_zone("b")))]);
    let full = || {
        unbound(vec![
            ("StorageClass", waiting_class(json!({}))),
            ("CSIDriver", driver("d", &json!({"storageCapacity": true}))),
            ("CSIDriver", driver("e", &json!({"storageCapacity": true}))),
            ("CSIStorageCapacity", room("1Mi")),
        ])
    };
    let own = |about, there, wakes, sleeps| Row {
        about,
        plugin,
        there,
        pod: mine(),
        wakes,
        sleeps,
    };
    let migrated = |plugins: &str| {
        let annotations = json!({"storage.alpha.kubernetes.io/migrated-plugins": plugins});
        csi_node(1, json!({"metadata": {"annotations": annotations}}))
    };
    let mut in_line = mine();
    let volumes = in_line["spec"]["volumes"].as_array_mut();
    let volumes = volumes.expect("it has a claim");
    volumes.push(json!({"name": "w", "csi": {"driver": "d"}}));
    vec![
        own(
            "class added",
            unbound(vec![]),
            added("StorageClass", waiting_class(json!({}))),
            deleted("PersistentVolume", volume("x", json!({}))),
        ),
        own(
            "class updated",
            elsewhere(),
            modified("StorageClass", waiting_class(in_zone("a"))),
            modified("StorageClass", waiting_class(in_zone("b"))),
        ),
        own(
            "claim updated",
            unbound(vec![]),
            modified("PersistentVolumeClaim", bound_claim("c", json!({}))),
            modified("PersistentVolumeClaim", bound_claim("x", json!({}))),
        ),
        own(
            "volume added",
            elsewhere(),
            added("PersistentVolume", volume("y", json!({}))),
            deleted("PersistentVolume", volume("x", json!({}))),
        ),
        own(
            "volume updated",
            elsewhere(),
            modified("PersistentVolume", volume("x", json!({}))),
            deleted("PersistentVolume", volume("x", json!({}))),
        ),
        own(
            "node added",
            elsewhere(),
            added("Node", node("b", json!({}))),
            modified("Node", in_a()),
        ),
        own(
            "node label",
            elsewhere(),
            modified("Node", node("a", json!({}))),
            modified("Node", in_a()),
        ),
        own(
            "CSINode added",
            elsewhere(),
            added("CSINode", csi_node(1, json!({}))),
            added("CSIDriver", driver("d", &json!({}))),
        ),
        own(
            "CSINode updated",
            with(vec![
                ("PersistentVolumeClaim", claim("c", json!({}))),
                ("StorageClass", waiting_class(in_zone("b"))),
                ("CSINode", migrated("")),
            ]),
            modified("CSINode", migrated("kubernetes.io/gce-pd")),
            modified("CSINode", csi_node(7, json!({}))),
        ),
        Row {
            pod: in_line,
            ..own(
                "driver updated",
                full(),
                modified("CSIDriver", driver("d", &json!({}))),
                modified("CSIDriver", driver("e", &json!({}))),
            )
        },
        own(
            "room updated",
            full(),
            modified("CSIStorageCapacity", room("2Mi")),
            modified("CSIStorageCapacity", room("1Ki")),
        ),
        own(
            "room added",
            unbound(vec![
                ("StorageClass", waiting_class(json!({}))),
                ("CSIDriver", driver("d", &json!({"storageCapacity": true}))),
            ]),
            added("CSIStorageCapacity", room("1Mi")),
            modified("CSIDriver", driver("d", &json!({}))),
        ),
    ]
}

fn zone() -> Vec<Row> {
    let plugin = Plugin::VolumeZone;
    let labelled = |zone: &str| volume("c", json!({"metadata": {"labels": {(ZONE): zone}}}));
    let there = || {
        with(vec![
            ("PersistentVolume", labelled("b")),
            ("PersistentVolumeClaim", bound_claim("c", json!({}))),
        ])
    };
    let own = |about, wakes, sleeps| Row {
        about,
        plugin,
        there: there(),
        pod: mine(),
        wakes,
        sleeps,
    };
    vec![
        own(
            "class added",
            added("StorageClass", waiting_class(json!({}))),
            added("StorageClass", class("now", "Immediate", json!({}))),
        ),
        own(
            "claim updated",
            modified("PersistentVolumeClaim", bound_claim("c", json!({}))),
            modified("PersistentVolumeClaim", bound_claim("x", json!({}))),
        ),
        own(
            "volume updated",
            modified("PersistentVolume", labelled("a")),
            modified(
                "PersistentVolume",
                volume("x", json!({"metadata": {"labels": {"k": "v"}}})),
            ),
        ),
        own(
            "node label",
            modified("Node", node("a", json!({}))),
            modified("Node", in_a()),
        ),
        own(
            "node added",
            added("Node", node("b", json!({}))),
            modified("Node", in_a()),
        ),
        Row {
            about: "volume added",
            plugin,
            there: with(vec![("PersistentVolumeClaim", bound_claim("c", json!({})))]),
            pod: mine(),
            wakes: added("PersistentVolume", volume("c", json!({}))),
            sleeps: deleted("PersistentVolume", volume("x", json!({}))),
        },
    ]
}

/// All of them.
pub fn rows() -> Vec<Row> {
    [restrictions(), limits(), binding(), zone()]
        .into_iter()
        .flatten()
        .collect()
}
