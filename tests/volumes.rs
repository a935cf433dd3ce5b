//! Volumes by the scheduler's verbs: choices among equals, claims that are of no use, what a placed pod
//! reserves, and what becomes of it.

use berth_core::id::PodId;
use berth_core::{
    AttemptError, BindOutcome, CapacityExceeded, Change, Detail, Options, Outcome, VolumeAction,
    VolumesBound,
};
use berth_test_support::object::object;
use berth_test_support::replay::Replay;
use berth_test_support::sample::{bound, merge, node, pod};
use serde_json::{Value, json};

const SECOND: u64 = 1_000_000_000;
const START: u64 = 1_000 * SECOND;

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

fn bound_claim(name: &str, volume: &str) -> Value {
    claim(
        name,
        json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": volume},
        }),
    )
}

fn volume(name: &str, more: Value) -> Value {
    let mut json = json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "wait", "csi": {"driver": "d", "volumeHandle": name},
        },
        "status": {"phase": "Available"},
    });
    merge(&mut json, more);
    json
}

fn class() -> Value {
    json!({"metadata": {"name": "wait"}, "provisioner": "d", "volumeBindingMode": "WaitForFirstConsumer"})
}

fn using(mut pod: Value, claims: &[&str]) -> Value {
    let volumes = claims.iter().enumerate().map(|(at, claim)| {
        json!({"name": format!("v{at}"), "persistentVolumeClaim": {"claimName": claim}})
    });
    pod["spec"]["volumes"] = volumes.collect();
    pod
}

/// A scheduler with one node, the class, and these objects.
fn cluster(objects: &[(&str, Value)]) -> Replay {
    cluster_with(None, objects)
}

fn cluster_with(config: Option<&Value>, objects: &[(&str, Value)]) -> Replay {
    let mut replay = Replay::new(config, Options::default(), 16, 64);
    replay.scheduler.advance(START);
    replay.add("Node", &node("a", json!({})));
    replay.add("StorageClass", &class());
    for (kind, json) in objects {
        replay.add(kind, json);
    }
    replay
}

/// Adds a pod and takes one turn at it.
fn place(replay: &mut Replay, pod: &Value) -> (PodId, Outcome) {
    let id = replay.add_pod(pod);
    let decision = replay.scheduler.schedule_one(START).expect("a pod waits");
    assert_eq!(decision.pod, id);
    (id, decision.outcome)
}

fn actions(replay: &Replay, pod: PodId) -> Vec<String> {
    let actions = replay.scheduler.volume_actions(pod);
    let told = actions.map(|action| match action {
        VolumeAction::BindVolume { volume, claim, .. } => format!("{volume} to {claim}"),
        VolumeAction::SelectNode { claim, node, .. } => format!("{claim} on {node}"),
    });
    told.collect()
}

fn message(replay: &mut Replay, pod: &Value) -> String {
    let id = replay.add_pod(pod);
    let decision = replay.scheduler.schedule(id);
    let record = replay.scheduler.record(&decision, Detail::Reasons);
    replay.remove_pod(pod);
    record.message.or(record.error).unwrap_or_default()
}

#[test]
fn of_equal_volumes_the_first_name_is_taken() {
    let volumes = ["c", "a", "b"].map(|name| ("PersistentVolume", volume(name, json!({}))));
    let claims = ["x", "y"].map(|name| ("PersistentVolumeClaim", claim(name, json!({}))));
    let mut replay = cluster(&[&volumes[..], &claims[..]].concat());
    let (id, _) = place(&mut replay, &using(pod("p", json!({})), &["y", "x"]));
    assert_eq!(actions(&replay, id), ["a to y", "b to x"]);
    // Of several that are kept for a claim, the smallest.
    let kept = |name, size| {
        let of_z = json!({"namespace": "default", "name": "z", "uid": "z"});
        let spec = json!({"spec": {"capacity": {"storage": size}, "claimRef": of_z}});
        ("PersistentVolume", volume(name, spec))
    };
    let claim = ("PersistentVolumeClaim", claim("z", json!({})));
    let mut replay = cluster(&[kept("d", "9Gi"), kept("e", "3Gi"), claim]);
    let (id, _) = place(&mut replay, &using(pod("p", json!({})), &["z"]));
    assert_eq!(actions(&replay, id), ["e to z"]);
}

#[test]
fn the_smallest_volume_that_fits_is_taken_and_the_rest_is_provisioned() {
    let sized = |name, size| {
        let capacity = json!({"spec": {"capacity": {"storage": size}}});
        ("PersistentVolume", volume(name, capacity))
    };
    let wants = |name, size| {
        let resources = json!({"spec": {"resources": {"requests": {"storage": size}}}});
        ("PersistentVolumeClaim", claim(name, resources))
    };
    let mut replay = cluster(&[
        sized("large", "9Gi"),
        sized("small", "3Gi"),
        wants("x", "4Gi"),
        wants("y", "2Gi"),
        wants("z", "20Gi"),
    ]);
    let (id, _) = place(&mut replay, &using(pod("p", json!({})), &["x", "y", "z"]));
    assert_eq!(actions(&replay, id), ["small to y", "large to x", "z on a"]);
}

/// Each promise is carried out, and the claim keeps what it got first.
#[test]
fn a_claim_that_a_pod_names_twice_is_bound_to_its_end() {
    let free = |name| ("PersistentVolume", volume(name, json!({})));
    let wanted = ("PersistentVolumeClaim", claim("x", json!({})));
    for (volumes, told) in [
        (vec![free("a"), free("b")], ["a to x", "b to x"]),
        (vec![free("a")], ["a to x", "x on a"]),
    ] {
        let mut replay = cluster(&[&volumes[..], std::slice::from_ref(&wanted)].concat());
        let (id, _) = place(&mut replay, &using(pod("p", json!({})), &["x", "x"]));
        assert_eq!(actions(&replay, id), told);
        replay.bind_volumes(id);
        assert_eq!(replay.scheduler.volumes_bound(id, 0), VolumesBound::Yes);
        let bound = replay.scheduler.volumes_of(id).next().expect("a claim");
        assert_eq!(bound.volume.as_deref(), Some("a"));
    }
}

/// What was bound for a pod and then goes takes no other object's place among the free volumes.
#[test]
fn a_volume_that_was_bound_and_goes_is_no_choice_any_more() {
    let free = |name| ("PersistentVolume", volume(name, json!({})));
    let claims = ["x", "y", "z"].map(|name| ("PersistentVolumeClaim", claim(name, json!({}))));
    let mut replay = cluster(&[&[free("a"), free("b")][..], &claims[..]].concat());
    let (id, _) = place(&mut replay, &using(pod("p", json!({})), &["x"]));
    replay.bind_volumes(id);
    let gone = object("PersistentVolume", &volume("a", json!({})));
    replay.apply(Change::Deleted, &gone);
    replay.apply(
        Change::Added,
        &object("PersistentVolumeClaim", &claim("w", json!({}))),
    );
    let (id, _) = place(&mut replay, &using(pod("q", json!({})), &["y", "z"]));
    assert_eq!(actions(&replay, id), ["b to y", "z on a"]);
}

#[test]
fn a_pod_with_too_many_unbound_claims_is_an_error() {
    let names: Vec<String> = (0..129).map(|at| format!("c{at}")).collect();
    let claims = names
        .iter()
        .map(|name| ("PersistentVolumeClaim", claim(name, json!({}))));
    let mut replay = cluster(&claims.collect::<Vec<_>>());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (_, outcome) = place(&mut replay, &using(pod("p", json!({})), &names));
    let full = CapacityExceeded {
        which: "claims of a pod to be bound",
        limit: 128,
    };
    assert_eq!(outcome, Outcome::Error(AttemptError::Capacity(full)));
}

#[test]
fn what_was_assumed_of_a_volume_ends_with_its_next_change() {
    let mut replay = cluster(&[
        ("PersistentVolume", volume("v", json!({}))),
        ("PersistentVolumeClaim", claim("x", json!({}))),
        ("PersistentVolumeClaim", claim("y", json!({}))),
    ]);
    let (first, _) = place(&mut replay, &using(pod("p", json!({})), &["x"]));
    assert_eq!(actions(&replay, first), ["v to x"]);
    // The same object once more tells nothing: the volume is taken.
    let same = object("PersistentVolume", &volume("v", json!({})));
    replay.apply(Change::Modified, &same);
    let (second, _) = place(&mut replay, &using(pod("q", json!({})), &["y"]));
    assert_eq!(actions(&replay, second), ["y on a"]);
    // A newer one without the claim is free again, and the binding has failed.
    let newer = volume("v", json!({"metadata": {"labels": {"k": "v"}}}));
    replay.apply(Change::Modified, &object("PersistentVolume", &newer));
    let progress = replay.scheduler.volumes_bound(first, START);
    assert_eq!(progress, VolumesBound::Failed);
}

#[test]
fn volume_zone_needs_its_pre_filter() {
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"preFilter": {"disabled": [{"name": "VolumeZone"}]}}}],
    });
    let mut replay = cluster_with(Some(&config), &[]);
    let (_, outcome) = place(&mut replay, &pod("p", json!({})));
    let plugin = berth_core::plugins::Plugin::VolumeZone;
    assert_eq!(
        outcome,
        Outcome::Error(AttemptError::MissingState { plugin })
    );
}

#[test]
fn a_claim_that_is_of_no_use_is_named() {
    let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "other", "uid": "other", "controller": true}]);
    let mut replay = cluster(&[
        (
            "PersistentVolumeClaim",
            claim(
                "going",
                json!({"metadata": {"deletionTimestamp": "2000-01-01T00:00:00Z"}}),
            ),
        ),
        (
            "PersistentVolumeClaim",
            claim(
                "lost",
                json!({"spec": {"volumeName": "v"}, "status": {"phase": "Lost"}}),
            ),
        ),
        (
            "PersistentVolumeClaim",
            claim("p-own", json!({"metadata": {"ownerReferences": owner}})),
        ),
        (
            "PersistentVolumeClaim",
            claim("classless", json!({"spec": {"storageClassName": null}})),
        ),
        ("PersistentVolumeClaim", bound_claim("torn", "nowhere")),
    ]);
    let ephemeral = |volume: &str| {
        let source = json!({"volumeClaimTemplate": {"spec": {}}});
        pod(
            "p",
            json!({"spec": {"volumes": [{"name": volume, "ephemeral": source}]}}),
        )
    };
    let of = |name: &str| using(pod("p", json!({})), &[name]);
    let expected = [
        (of("absent"), "persistentvolumeclaim \"absent\" not found"),
        (
            of("going"),
            "persistentvolumeclaim \"going\" is being deleted",
        ),
        (
            of("lost"),
            "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"v\"",
        ),
        (
            ephemeral("own"),
            "PVC default/p-own was not created for pod default/p (pod is not owner)",
        ),
        (
            ephemeral("other"),
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-other\"",
        ),
        (
            of("classless"),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (of("torn"), "persistentvolume \"nowhere\" not found"),
    ];
    let before = replay.scheduler.state_hash();
    for (pod, reason) in expected {
        let text = format!("0/1 nodes are available: {reason}.");
        assert_eq!(message(&mut replay, &pod), text);
        assert_eq!(replay.scheduler.state_hash(), before, "{reason}");
    }
}

/// Whatever ends a pod's binding takes back what was reserved for it.
#[test]
fn a_pod_that_goes_in_the_middle_of_its_binding_leaves_nothing() {
    let objects = [
        ("PersistentVolume", volume("v", json!({}))),
        ("PersistentVolumeClaim", claim("x", json!({}))),
        (
            "PersistentVolumeClaim",
            claim(
                "y",
                json!({"spec": {"resources": {"requests": {"storage": "9Gi"}}}}),
            ),
        ),
    ];
    let user = using(pod("p", json!({})), &["x", "y"]);
    for end in ["deleted", "forgotten", "failed", "terminating", "replaced"] {
        let mut replay = cluster(&objects);
        let empty = replay.scheduler.state_hash();
        let id = replay.add_pod(&user);
        let waits = replay.scheduler.state_hash();
        let decision = replay.scheduler.schedule_one(START).expect("a pod waits");
        assert!(matches!(decision.outcome, Outcome::Scheduled(_)));
        assert_eq!(actions(&replay, id), ["v to x", "y on a"]);
        assert_ne!(replay.scheduler.state_hash(), waits);
        let expected = match end {
            "deleted" => {
                replay.remove_pod(&user);
                empty
            }
            "forgotten" => {
                replay.scheduler.forget(id);
                waits
            }
            "failed" => {
                replay.scheduler.bound(id, BindOutcome::Failed, START);
                waits
            }
            "replaced" => {
                let mut other = pod("p", json!({"metadata": {"uid": "another"}}));
                other["spec"]["containers"][0]["name"] = json!("d");
                replay.apply(Change::Modified, &object("Pod", &other));
                replay.remove_pod(&other);
                empty
            }
            _ => {
                let mut going = user.clone();
                going["metadata"]["deletionTimestamp"] = json!("2000-01-01T00:00:00Z");
                replay.apply(Change::Modified, &object("Pod", &going));
                replay.remove_pod(&going);
                empty
            }
        };
        assert_eq!(replay.scheduler.state_hash(), expected, "{end}");
        assert!(actions(&replay, id).is_empty(), "{end}");
    }
}

/// The binding fails, and the state is that of a scheduler that saw neither the pod nor what went.
#[test]
fn a_claim_or_volume_that_goes_in_the_middle_of_a_binding_fails_it() {
    let kept = ("PersistentVolumeClaim", claim("y", json!({})));
    let going = [
        ("PersistentVolume", volume("v", json!({}))),
        ("PersistentVolumeClaim", claim("x", json!({}))),
    ];
    let user = using(pod("p", json!({})), &["x"]);
    for (place, (kind, gone)) in going.iter().enumerate() {
        let rest = [kept.clone(), going[1 - place].clone()];
        let never = cluster(&rest).scheduler.state_hash();
        let mut replay = cluster(&[&rest[..], &going[place..=place]].concat());
        let (id, _) = crate::place(&mut replay, &user);
        assert_eq!(actions(&replay, id), ["v to x"]);
        replay.apply(Change::Deleted, &object(kind, gone));
        let progress = replay.scheduler.volumes_bound(id, START);
        assert_eq!(progress, VolumesBound::Failed, "{kind}");
        assert!(replay.scheduler.bound(id, BindOutcome::Failed, START));
        replay.remove_pod(&user);
        assert_eq!(replay.scheduler.state_hash(), never, "{kind}");
    }
}

/// Who binds a pod elsewhere, or before its volumes are there, does so without us.
#[test]
fn what_was_promised_is_free_once_another_scheduler_binds_the_pod() {
    for name in ["a", "b"] {
        let mut replay = cluster(&[
            ("Node", node("b", json!({}))),
            ("PersistentVolume", volume("v", json!({}))),
            ("PersistentVolumeClaim", claim("x", json!({}))),
            ("PersistentVolumeClaim", claim("y", json!({}))),
        ]);
        let user = using(pod("p", json!({})), &["x"]);
        let (id, _) = place(&mut replay, &user);
        assert_eq!(actions(&replay, id), ["v to x"]);
        let mut seen = user.clone();
        seen["spec"]["nodeName"] = json!(name);
        replay.apply(Change::Modified, &object("Pod", &seen));
        assert!(actions(&replay, id).is_empty(), "{name}");
        let (next, _) = place(&mut replay, &using(pod("q", json!({})), &["y"]));
        assert_eq!(actions(&replay, next), ["v to y"], "{name}");
    }
}

#[test]
fn a_pod_is_bound_once_its_volumes_are_and_not_later_than_its_timeout() {
    let mut replay = cluster(&[("PersistentVolumeClaim", claim("x", json!({})))]);
    let (id, _) = place(&mut replay, &using(pod("p", json!({})), &["x"]));
    let ask = |replay: &Replay, now| replay.scheduler.volumes_bound(id, now);
    assert_eq!(ask(&replay, START), VolumesBound::NotYet);
    assert_eq!(ask(&replay, START + 599 * SECOND), VolumesBound::NotYet);
    assert_eq!(ask(&replay, START + 600 * SECOND), VolumesBound::TimedOut);
    // The node is selected, and the volume on its way.
    let selected =
        json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "a"}}});
    replay.apply(
        Change::Modified,
        &object("PersistentVolumeClaim", &claim("x", selected.clone())),
    );
    assert_eq!(ask(&replay, START), VolumesBound::NotYet);
    let mut done = bound_claim("x", "v");
    merge(&mut done, selected);
    replay.apply(Change::Modified, &object("PersistentVolumeClaim", &done));
    assert_eq!(ask(&replay, START), VolumesBound::NotYet, "no volume yet");
    let of_x = json!({"namespace": "default", "name": "x", "uid": "x"});
    let provisioned = json!({"spec": {"claimRef": of_x}, "status": {"phase": "Bound"}});
    replay.add("PersistentVolume", &volume("v", provisioned));
    assert_eq!(ask(&replay, START), VolumesBound::Yes);
    assert!(replay.scheduler.pre_bound(id));
    assert!(replay.scheduler.bound(id, BindOutcome::Bound, START));
    assert!(actions(&replay, id).is_empty());
    // Of the next pod's claim the provisioner takes the node back.
    replay.add("PersistentVolumeClaim", &claim("y", json!({})));
    let (next, _) = place(&mut replay, &using(pod("q", json!({})), &["y"]));
    let selected =
        json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "a"}}});
    for more in [selected, json!({})] {
        let seen = object("PersistentVolumeClaim", &claim("y", more));
        replay.apply(Change::Modified, &seen);
    }
    assert_eq!(
        replay.scheduler.volumes_bound(next, START),
        VolumesBound::Failed
    );
}

/// Disks of in-tree plugins count as their drivers' volumes on nodes that have a CSINode, and their
/// zone label as the driver's topology on nodes where the plugin is migrated.
#[test]
fn volumes_of_migrated_plugins_are_those_of_their_drivers() {
    let zone = "topology.kubernetes.io/zone";
    let mut disk = volume("v", json!({"metadata": {"labels": {(zone): "z"}}}));
    disk["spec"]["csi"] = json!(null);
    disk["spec"]["gcePersistentDisk"] = json!({"pdName": "disk"});
    let csi_node = |count: u32, plugins: &str| {
        json!({
            "metadata": {"name": "a", "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": plugins}},
            "spec": {"drivers": [{"name": "pd.csi.storage.gke.io", "nodeID": "a", "allocatable": {"count": count}}]},
        })
    };
    let there = |count, plugins| {
        [
            ("PersistentVolume", disk.clone()),
            ("PersistentVolumeClaim", bound_claim("x", "v")),
            ("CSINode", csi_node(count, plugins)),
        ]
    };
    let user = using(pod("p", json!({})), &["x"]);
    let reason = "0/1 nodes are available: 1 node(s) exceed max volume count.";
    assert_eq!(message(&mut cluster(&there(0, "")), &user), reason);
    assert_eq!(message(&mut cluster(&there(1, "")), &user), "");
    let reason =
        "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity.";
    let mut migrated = cluster(&there(1, "kubernetes.io/gce-pd"));
    assert_eq!(message(&mut migrated, &user), reason);
    let labels = json!({"metadata": {"labels": {"topology.gke.io/zone": "z", (zone): "z"}}});
    migrated.apply(Change::Modified, &object("Node", &node("a", labels)));
    assert_eq!(message(&mut migrated, &user), "");
}

/// A claim for one pod alone is free once its user is a victim, wherever that runs.
#[test]
fn a_victim_frees_the_claim_that_it_alone_may_use() {
    let mut replay = cluster(&[
        ("PersistentVolume", volume("v", json!({}))),
        ("PersistentVolumeClaim", {
            let mut own = bound_claim("x", "v");
            own["spec"]["accessModes"] = json!(["ReadWriteOncePod"]);
            own
        }),
        (
            "Pod",
            using(bound("low", "a", json!({"spec": {"priority": -1}})), &["x"]),
        ),
    ]);
    let high = json!({"spec": {"priority": 1, "preemptionPolicy": "PreemptLowerPriority"}});
    let id = replay.add_pod(&using(pod("p", high), &["x"]));
    let decision = replay.scheduler.schedule_one(START).expect("a pod waits");
    assert_eq!(
        (decision.pod, decision.outcome),
        (id, Outcome::Unschedulable)
    );
    let victims = replay.scheduler.victims();
    assert_eq!(victims.len(), 1);
    assert_eq!(replay.scheduler.pod_name(victims[0].pod).1, "low");
}
