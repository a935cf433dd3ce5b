//! Claims by the intake's verbs: those that no pod has to wait for, default classes, and pods that wait
//! for their volumes.

use berth_core::intake::{Intake, Size};
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::Decoded;
use berth_core::{BindOutcome, BoundClaim, Change, Options, Outcome, VolumesBound};
use berth_test_support::object::object;
use berth_test_support::sample::merge;
use serde_json::{Value, json};

const SECOND: u64 = 1_000_000_000;

fn decoded(json: &Value) -> Decoded {
    Decoded::from_value(serde_json::from_value(json.clone()).expect("any value"))
}

fn of_kind(kind: &str, group: &str, name: &str, base: Value, more: Value) -> Value {
    let mut json = json!({"apiVersion": group, "kind": kind, "metadata": {"name": name}});
    merge(&mut json, base);
    merge(&mut json, more);
    json
}

fn class(name: &str, more: Value) -> Value {
    let base = json!({"provisioner": "csi.example.com", "volumeBindingMode": "Immediate"});
    of_kind("StorageClass", "storage.k8s.io/v1", name, base, more)
}

fn claim(name: &str, more: Value) -> Value {
    let base = json!({"spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "now",
        "resources": {"requests": {"storage": "2Gi"}},
    }});
    of_kind("PersistentVolumeClaim", "v1", name, base, more)
}

fn volume(name: &str, size: &str, more: Value) -> Value {
    let base = json!({"spec": {
        "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "now",
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
    }});
    of_kind("PersistentVolume", "v1", name, base, more)
}

fn node(name: &str, zone: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"allocatable": {"cpu": "8", "pods": "110"}},
    })
}

fn pod(name: &str, claim: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "c"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
        },
    })
}

fn empty(size: Option<Size>) -> Intake {
    Intake::new(
        KubeSchedulerConfiguration::default(),
        Options::default(),
        size,
    )
    .expect("an intake")
}

fn loaded(objects: &[Value]) -> Intake {
    let mut intake = empty(None);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let loaded = intake.load(vec![decoded(&list)]).expect("it is loaded");
    assert_eq!(loaded.notes, [""; 0]);
    intake
}

fn apply(intake: &mut Intake, json: &Value) -> Vec<String> {
    let applied = intake.apply(None, decoded(json));
    applied.expect("it is applied").notes
}

/// Whether these objects, as an API server has them once their claims are bound, are what the intake has.
fn is_as_seen(intake: &Intake, objects: &[Value]) -> bool {
    let mut seen = empty(None);
    for json in objects {
        let kind = json["kind"].as_str().expect("a kind");
        let added = seen.put(Change::Added, object(kind, json));
        added.expect("it goes in");
    }
    intake.scheduler().state_hash() == seen.scheduler().state_hash()
}

/// The claim and the volume as they are when they are bound to each other.
fn both(claim: &Value, volume: &Value) -> [Value; 2] {
    let (mut claim, mut volume) = (claim.clone(), volume.clone());
    merge(
        &mut claim,
        json!({
            "metadata": {"namespace": "default", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": volume["metadata"]["name"]}, "status": {"phase": "Bound"},
        }),
    );
    let name = &claim["metadata"]["name"];
    let reference = json!({"namespace": "default", "name": name, "uid": claim["metadata"]["uid"]});
    merge(
        &mut volume,
        json!({"spec": {"claimRef": reference}, "status": {"phase": "Bound"}}),
    );
    [claim, volume]
}

fn namespace() -> Value {
    let labels = json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "default"}}});
    of_kind("Namespace", "v1", "default", labels, json!({}))
}

/// The volume that is provisioned for the claim `c` without a node.
fn provisioned() -> Value {
    volume(
        "dyn-default-c",
        "2Gi",
        json!({"spec": {"csi": {"volumeHandle": "dyn-default-c"}}}),
    )
}

#[test]
fn a_claim_that_binds_at_once_gets_the_smallest_volume_or_a_new_one() {
    let now = class("now", json!({}));
    let wanted = claim("c", json!({"metadata": {"uid": "u"}}));
    let more_modes = json!({"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}});
    let small = volume("small", "1Gi", json!({}));
    let smallest = volume("y", "3Gi", json!({}));
    let others = [
        volume("large", "9Gi", json!({})),
        small,
        volume("z", "3Gi", json!({})),
        volume("other", "2Gi", json!({"spec": {"storageClassName": "x"}})),
        volume("block", "2Gi", json!({"spec": {"volumeMode": "Block"}})),
        volume(
            "going",
            "2Gi",
            json!({"metadata": {"deletionTimestamp": "2000-01-01T00:00:00Z"}}),
        ),
        volume("more", "2Gi", more_modes),
    ];
    let mut given = vec![wanted.clone(), smallest.clone(), now.clone()];
    given.extend(others.iter().cloned());
    let mut expected = vec![namespace(), now.clone()];
    expected.extend(both(&wanted, &smallest));
    expected.extend(others.map(|mut own| {
        merge(&mut own, json!({"status": {"phase": "Available"}}));
        own
    }));
    assert!(is_as_seen(&loaded(&given), &expected));

    let mut expected = vec![namespace(), now.clone()];
    expected.extend(both(&wanted, &provisioned()));
    assert!(is_as_seen(&loaded(&[now, wanted]), &expected));
}

#[test]
fn a_volume_is_provisioned_where_the_class_allows() {
    let zone = |zone: &str| {
        json!({"allowedTopologies": [{"matchLabelExpressions": [
            {"key": "topology.kubernetes.io/zone", "values": [zone]},
        ]}]})
    };
    let nodes = [node("a", "za"), node("b", "zb")];
    for (allowed, expected) in [("zb", "b"), ("nowhere", "")] {
        let objects = [
            nodes[0].clone(),
            nodes[1].clone(),
            class("now", zone(allowed)),
            claim("c", json!({})),
            pod("p", "c"),
        ];
        let mut intake = loaded(&objects);
        let pod = intake.queue()[0];
        let decision = intake.scheduler_mut().schedule(pod);
        match decision.outcome {
            Outcome::Scheduled(node) => assert_eq!(intake.scheduler().node(node).name, expected),
            outcome => assert_eq!((outcome, expected), (Outcome::Unschedulable, "")),
        }
    }
}

#[test]
fn claims_that_name_a_volume_or_that_one_is_kept_for_are_bound_whatever_their_class() {
    let wait = class("now", json!({"volumeBindingMode": "WaitForFirstConsumer"}));
    let kept_for =
        |name: &str| json!({"spec": {"claimRef": {"namespace": "default", "name": name}}});
    let named = claim("named", json!({"spec": {"volumeName": "mine"}}));
    let mine = volume("mine", "2Gi", json!({}));
    let patient = claim("patient", json!({}));
    let kept = volume("kept", "5Gi", kept_for("patient"));
    let mut expected = vec![namespace(), wait.clone()];
    expected.extend(both(&named, &mine));
    expected.extend(both(&patient, &kept));
    // One that names a volume which is too small waits, as does one whose class waits.
    let mut too_large = claim(
        "large",
        json!({"spec": {
            "volumeName": "small", "resources": {"requests": {"storage": "7Gi"}},
        }}),
    );
    let small = volume("small", "1Gi", json!({}));
    let given = [
        named,
        mine,
        patient,
        kept,
        wait,
        too_large.clone(),
        small.clone(),
    ];
    too_large["metadata"]["namespace"] = json!("default");
    let mut available = small;
    available["status"] = json!({"phase": "Available"});
    expected.extend([too_large, available]);
    assert!(is_as_seen(&loaded(&given), &expected));
}

#[test]
fn a_claim_that_a_cluster_left_unbound_stays_unbound() {
    let pending = claim(
        "c",
        json!({"metadata": {"namespace": "default"}, "status": {"phase": "Pending"}}),
    );
    let now = class("now", json!({}));
    let expected = [namespace(), now.clone(), pending.clone()];
    assert!(is_as_seen(&loaded(&[now, pending]), &expected));
}

#[test]
fn a_simulating_intake_binds_claims_when_what_they_lack_comes() {
    let by_hand = class(
        "now",
        json!({"provisioner": "kubernetes.io/no-provisioner"}),
    );
    let mut intake = empty(None);
    intake.set_simulating(true);
    for json in [
        node("a", "za"),
        claim("c", json!({})),
        by_hand,
        pod("p", "c"),
    ] {
        assert_eq!(apply(&mut intake, &json), [""; 0]);
    }
    let pod = intake.queue()[0];
    let outcome = intake.scheduler_mut().schedule(pod).outcome;
    assert_eq!(outcome, Outcome::Unschedulable);
    apply(&mut intake, &volume("v", "2Gi", json!({})));
    let outcome = intake.scheduler_mut().schedule(pod).outcome;
    assert!(matches!(outcome, Outcome::Scheduled(_)), "{outcome:?}");
}

#[test]
fn a_claim_for_which_a_table_has_no_room_is_told_and_bound_later() {
    let mut small = *empty(None).scheduler().capacities();
    small.volumes = 2;
    let config = KubeSchedulerConfiguration::default();
    let mut intake = Intake::with_capacities(config, Options::default(), small).expect("an intake");
    let list = json!({"apiVersion": "v1", "kind": "List",
        "items": [class("now", json!({})), claim("c", json!({}))]});
    let loaded = intake.load(vec![decoded(&list)]).expect("it is loaded");
    assert_eq!(loaded.notes.len(), 1);
    assert!(loaded.notes[0].contains("volumes"), "{:?}", loaded.notes);
    intake.bind_claims().expect_err("there is no room yet");
    intake.set_growing(true);
    intake.bind_claims().expect("there is room");
    let mut expected = vec![namespace(), class("now", json!({}))];
    expected.extend(both(&claim("c", json!({})), &provisioned()));
    assert!(is_as_seen(&intake, &expected));
}

#[test]
fn the_default_class_is_that_of_the_cluster_also_after_a_state_file() {
    let mark = json!({"storageclass.kubernetes.io/is-default-class": "true"});
    let default = |name: &str, year: u32| {
        let created = format!("{year}-01-01T00:00:00Z");
        class(
            name,
            json!({"metadata": {"annotations": mark, "creationTimestamp": created}}),
        )
    };
    let intake = loaded(&[
        default("old", 2001),
        default("new", 2002),
        class("z", json!({})),
    ]);
    let bytes = intake.save_state();
    let config = KubeSchedulerConfiguration::default();
    let mut restored =
        Intake::restore_state(config, Options::default(), None, &bytes).expect("a state");
    let without = |name: &str| claim(name, json!({"spec": {"storageClassName": null}}));
    let class_of = |intake: &Intake, json: &Value| {
        let mut claim = object("PersistentVolumeClaim", json);
        intake.admit(&mut claim).expect("a good claim");
        match claim {
            berth_core::object::Object::PersistentVolumeClaim(claim) => {
                claim.spec.storage_class_name
            }
            other => panic!("{other:?}"),
        }
    };
    for intake in [&intake, &restored] {
        assert_eq!(class_of(intake, &without("c")).as_deref(), Some("new"));
    }
    let none = claim("c", json!({"spec": {"storageClassName": ""}}));
    assert_eq!(class_of(&restored, &none).as_deref(), Some(""));
    let seen = claim(
        "c",
        json!({"spec": {"storageClassName": null}, "status": {"phase": "Pending"}}),
    );
    assert_eq!(class_of(&restored, &seen), None);
    // A load looks at what is there, too, and at what goes.
    let gone = restored.apply(Some(Change::Deleted), decoded(&default("new", 2002)));
    gone.expect("it was there");
    assert_eq!(class_of(&restored, &without("c")).as_deref(), Some("old"));
    restored
        .load(vec![decoded(&without("late"))])
        .expect("it is loaded");
    let found = restored.scheduler().default_class();
    assert_eq!(found.map(|class| class.name).as_deref(), Some("old"));
    let mut expected = vec![namespace(), default("old", 2001), class("z", json!({}))];
    let late = claim("late", json!({"spec": {"storageClassName": "old"}}));
    let made = json!({"spec": {
        "storageClassName": "old", "csi": {"volumeHandle": "dyn-default-late"},
    }});
    expected.extend(both(&late, &volume("dyn-default-late", "2Gi", made)));
    assert!(is_as_seen(&restored, &expected));
}

/// A pod that waits for its volumes, and the pod's id.
fn waiting() -> (Intake, berth_core::id::PodId) {
    let wait = class("now", json!({"volumeBindingMode": "WaitForFirstConsumer"}));
    let mut intake = loaded(&[node("a", "za"), wait, claim("c", json!({})), pod("p", "c")]);
    intake.scheduler_mut().advance(SECOND);
    let decision = intake
        .scheduler_mut()
        .schedule_one(SECOND)
        .expect("a pod waits");
    let bound = intake.bind_volumes(decision.pod).expect("there is room");
    let expected = BoundClaim {
        claim: "default/c".to_owned(),
        volume: Some("dyn-default-c".to_owned()),
        provisioned: true,
    };
    assert_eq!(bound, [expected]);
    intake.wait_for_volumes(decision.pod);
    assert_eq!(intake.next_binding(), Some(2 * SECOND));
    (intake, decision.pod)
}

#[test]
fn a_pod_that_waited_for_its_volumes_is_handed_out_once() {
    let (mut intake, pod) = waiting();
    assert!(intake.fork().is_ok());
    assert_eq!(intake.end_binding(), Some(pod));
    assert_eq!((intake.next_binding(), intake.end_binding()), (None, None));
    assert!(intake.rollback());
    assert_eq!(intake.end_binding(), Some(pod));
    assert!(
        intake
            .scheduler_mut()
            .bound(pod, BindOutcome::Bound, 2 * SECOND)
    );
}

#[test]
fn a_pod_that_is_gone_or_another_one_is_not_bound() {
    for comes_again in [false, true] {
        let (mut intake, id) = waiting();
        let gone = intake.apply(Some(Change::Deleted), decoded(&pod("p", "c")));
        gone.expect("it was there");
        if comes_again {
            apply(&mut intake, &pod("p", "c"));
            let decision = intake.scheduler_mut().schedule_one(SECOND);
            assert_eq!(decision.map(|decision| decision.pod), Some(id));
        }
        assert_eq!(intake.end_binding(), None);
        let is_placed = intake.scheduler().find_pod("default", "p").is_some();
        assert_eq!(is_placed, comes_again);
    }
}

#[test]
fn bindings_of_a_state_end_well() {
    let (intake, id) = waiting();
    let bytes = intake.save_state();
    let config = KubeSchedulerConfiguration::default();
    let mut restored =
        Intake::restore_state(config, Options::default(), None, &bytes).expect("a state");
    assert_eq!(restored.next_binding(), None);
    restored.end_bindings().expect("there is room");
    let scheduler = restored.scheduler();
    assert_eq!(scheduler.volumes_bound(id, SECOND), VolumesBound::Yes);
    assert_eq!(scheduler.queue_part(id), None);
    assert!(scheduler.node_of(id).is_some());
}
