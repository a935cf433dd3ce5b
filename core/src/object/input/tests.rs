use super::*;
use crate::object::decode::Decoded;
use alloc::vec;

fn objects(documents: &[&str]) -> Vec<Object> {
    let read = |text: &&str| match serde_json::from_str(text).unwrap() {
        Decoded::Object(object) => *object,
        other => panic!("no object: {other:?}"),
    };
    documents.iter().map(read).collect()
}

fn prepared(documents: &[&str]) -> Prepared {
    prepare(
        objects(documents),
        &InputOptions {
            scheduler_names: &["default-scheduler"],
            made_pods_max: 10,
            storage_class: None,
        },
    )
}

fn pending(prepared: &Prepared) -> Vec<&str> {
    prepared
        .pending
        .iter()
        .map(|pod| pod.metadata.name.as_str())
        .collect()
}

fn pod(name: &str, rest: &str) -> String {
    format!(
        r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}"}}, "spec": {{"containers": [{{}}]{rest}}}}}"#
    )
}

fn deployment(name: &str, replicas: i32) -> String {
    format!(
        r#"{{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {{"name": "{name}"}},
        "spec": {{"replicas": {replicas}, "template": {{"spec": {{"containers": [{{}}]}}}}}}}}"#
    )
}

fn owned(name: &str, owner_kind: &str, owner: &str, labels: &str) -> String {
    format!(
        r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}", "labels": {{{labels}}},
        "ownerReferences": [{{"apiVersion": "apps/v1", "kind": "{owner_kind}", "name": "{owner}", "controller": true}}]}},
        "spec": {{"containers": [{{}}]}}}}"#
    )
}

#[test]
fn a_workloads_pods_stand_where_it_stood() {
    let prepared = prepared(&[&pod("a", ""), &deployment("web", 2), &pod("b", "")]);
    assert_eq!(pending(&prepared), ["a", "web-0", "web-1", "b"]);
    let kinds: Vec<_> = prepared.objects.iter().map(Object::kind).collect();
    assert_eq!(kinds, ["Namespace", "ReplicaSet"]);
    let namespace = prepared.objects[0].metadata();
    assert_eq!(namespace.name, "default");
    assert_eq!(namespace.labels[NAMESPACE_NAME_LABEL], "default");
}

#[test]
fn pods_that_are_there_are_not_made_again() {
    let web = deployment("web", 2);
    for pod in [
        owned("x", "ReplicaSet", "web", ""),
        owned("x", "ReplicaSet", "web-5d8f7c9b4", ""),
        owned("x", "ReplicaSet", "web-1", r#""pod-template-hash": "1""#),
    ] {
        assert_eq!(pending(&prepared(&[&web, &pod])), ["x"], "{pod}");
    }
    for pod in [
        owned("x", "StatefulSet", "web", ""),
        owned("x", "ReplicaSet", "webshop-5d8f7c9b4", ""),
        owned("x", "ReplicaSet", "web-api", ""),
    ] {
        assert_eq!(pending(&prepared(&[&web, &pod])).len(), 3, "{pod}");
    }
    let set = r#"{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-77",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": true}]},
        "spec": {"template": {"spec": {"containers": [{}]}}}}"#;
    assert_eq!(pending(&prepared(&[&web, set])), ["web-77-0"]);
    // A template is not looked at where nothing is made from it.
    let bare = r#"{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}}"#;
    let there = prepared(&[bare, &owned("x", "StatefulSet", "db", "")]);
    assert!(there.problems.is_empty());
    assert_eq!(prepared(&[bare]).problems[0].invalid.field, "spec.template");
}

#[test]
fn names_that_are_taken_are_passed_over() {
    let prepared = prepared(&[&deployment("web", 2), &pod("web-1", "")]);
    assert_eq!(pending(&prepared), ["web-0", "web-2", "web-1"]);
}

#[test]
fn b59_too_many_pods_are_refused_before_they_are_made() {
    let prepared = prepared(&[
        &deployment("a", 8),
        &deployment("b", 2_147_483_647),
        &deployment("c", 2),
    ]);
    assert_eq!(prepared.pending.len(), 10);
    let [problem] = &prepared.problems[..] else {
        panic!("{:?}", prepared.problems);
    };
    assert_eq!(
        (problem.object, &*problem.subject),
        (1, "Deployment default/b")
    );
}

#[test]
fn b45_b46_clashes_name_both_and_keep_the_first() {
    let uid = |name| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "{name}", "uid": "1"}}}}"#
        )
    };
    let nil = uid("n3").replace(
        r#""uid": "1""#,
        r#""uid": "00000000-0000-0000-0000-000000000000""#,
    );
    let in_default =
        pod("a", "").replace(r#""name": "a""#, r#""name": "a", "namespace": "default""#);
    let prepared = prepared(&[
        &pod("a", ""),
        &in_default,
        &uid("n1"),
        &uid("n2"),
        &nil,
        &nil.replace("n3", "n4"),
    ]);
    let clashes: Vec<_> = prepared
        .problems
        .iter()
        .map(|problem| {
            (
                problem.object,
                problem.earlier,
                problem.invalid.field.as_str(),
            )
        })
        .collect();
    assert_eq!(
        clashes,
        [(1, Some(0), "metadata.name"), (3, Some(2), "metadata.uid")]
    );
    assert_eq!(pending(&prepared), ["a"]);
    assert!(prepared.problems[1].invalid.problem.contains("Node n1"));
}

#[test]
fn what_is_pending_bound_finished_or_foreign() {
    let finished = pod("done", "").replace(r#""spec""#, r#""status": {"phase": "Failed"}, "spec""#);
    let prepared = prepared(&[
        &pod("bound", r#", "nodeName": "n1", "schedulerName": "volcano""#),
        &pod("foreign", r#", "schedulerName": "volcano""#),
        &finished,
        &pod("mine", ""),
    ]);
    assert_eq!(pending(&prepared), ["mine"]);
    assert_eq!(prepared.objects[1].metadata().name, "bound");
    assert_eq!((prepared.skipped, prepared.notes.len()), (1, 2));
}

#[test]
fn one_bad_object_is_left_out_and_fully_described() {
    let bad = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "B"}}"#;
    let vm = deployment("vm", 1).replace(
        r#""containers""#,
        r#""runtimeClassName": "gone", "containers""#,
    );
    let prepared = prepared(&[&pod("a", ""), bad, &vm]);
    assert_eq!(pending(&prepared), ["a"]);
    let fields: Vec<_> = prepared
        .problems
        .iter()
        .map(|problem| (problem.object, problem.invalid.field.as_str()))
        .collect();
    assert_eq!(
        fields,
        vec![
            (1, "metadata.name"),
            (1, "spec.containers"),
            (2, "spec.template.spec.runtimeClassName"),
        ]
    );
}
