//! The scheduler's own promises: refusals change nothing, evaluations neither, memory is as stated.

use berth_core::id::{NodeId, PodId};
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Namespace, Node, Object, Pod, Service, Workload};
use berth_core::{
    ApplyError, AttemptError, Capacities, Change, Detail, Fidelity, Options, Outcome, PodResult,
    Scheduler,
};
use serde_json::{Value, json};

fn scheduler(capacities: Capacities) -> Scheduler {
    let config = KubeSchedulerConfiguration::default();
    Scheduler::new(&config, Options::default(), capacities).expect("the default configuration")
}

fn node(name: &str) -> Object {
    with_labels(name, &json!({"kubernetes.io/hostname": name}))
}

fn with_labels(name: &str, labels: &Value) -> Object {
    let node: Node = serde_json::from_value(json!({
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }))
    .expect("a node");
    Object::Node(Box::new(node))
}

fn pod(name: &str, spec: &Value) -> Object {
    let mut spec = spec.clone();
    if spec.get("containers").is_none() {
        spec["containers"] = json!([{"name": "c", "resources": {"requests": {"cpu": "1"}}}]);
    }
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": spec,
    }))
    .expect("a pod");
    Object::Pod(Box::new(pod))
}

fn add(scheduler: &mut Scheduler, object: &Object) {
    scheduler
        .apply(Change::Added, object)
        .unwrap_or_else(|error| panic!("{error}: {object:?}"));
}

/// Schedules a pod that was added, and returns the node's name.
fn place(scheduler: &mut Scheduler, name: &str) -> Option<String> {
    let id = scheduler
        .find_pod("default", name)
        .expect("the pod was added");
    let decision = scheduler.schedule(id);
    scheduler.record(&decision, Detail::None).node
}

#[test]
fn a_pod_whose_selector_does_not_parse_is_refused() {
    let mut scheduler = scheduler(Capacities::default());
    let bad = pod(
        "a",
        &json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
        ]}}}),
    );
    let before = scheduler.state_hash();
    assert!(matches!(
        scheduler.apply(Change::Added, &bad),
        Err(ApplyError::Selector(_))
    ));
    assert_eq!(scheduler.state_hash(), before);
}

#[test]
fn pods_that_services_select_are_spread_by_default() {
    let mut scheduler = scheduler(Capacities::default());
    for zone in ["a", "b"] {
        add(
            &mut scheduler,
            &with_labels(
                zone,
                &json!({"kubernetes.io/hostname": zone, "topology.kubernetes.io/zone": zone}),
            ),
        );
    }
    for name in ["s1", "s2"] {
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "default"}, "spec": {"selector": {"app": "web"}},
        }))
        .expect("a service");
        add(&mut scheduler, &Object::Service(service));
    }
    let web = |name: &str| match pod(name, &json!({})) {
        Object::Pod(mut pod) => {
            pod.metadata.labels.insert("app".into(), "web".into());
            Object::Pod(pod)
        }
        other => other,
    };
    add(&mut scheduler, &web("w1"));
    add(&mut scheduler, &web("w2"));
    let first = place(&mut scheduler, "w1");
    let second = place(&mut scheduler, "w2");
    assert!(
        first.is_some() && second.is_some() && first != second,
        "{first:?} {second:?}"
    );
}

#[test]
fn an_evaluation_judges_a_bound_pod_as_if_it_were_not_bound() {
    let mut scheduler = scheduler(Capacities::default());
    add(&mut scheduler, &node("n1"));
    add(
        &mut scheduler,
        &pod(
            "a",
            &json!({"nodeName": "n1", "containers": [
                {"name": "c", "resources": {"requests": {"cpu": "4"}}},
            ]}),
        ),
    );
    let before = scheduler.state_hash();
    let id = scheduler
        .find_pod("default", "a")
        .expect("the pod was added");
    let (decision, record) = scheduler.explain(id, Detail::Full);
    assert!(
        matches!(decision.outcome, Outcome::Scheduled(_)),
        "{record:?}"
    );
    assert_eq!(
        scheduler.schedule(id).outcome,
        Outcome::Error(AttemptError::NotPending)
    );
    assert_eq!(scheduler.state_hash(), before);
}

#[test]
fn an_id_that_no_pod_has_is_an_error_of_its_own() {
    let mut scheduler = scheduler(Capacities::default());
    add(&mut scheduler, &node("n1"));
    let object = pod("a", &json!({}));
    add(&mut scheduler, &object);
    let removed = scheduler
        .find_pod("default", "a")
        .expect("the pod was added");
    scheduler
        .apply(Change::Deleted, &object)
        .expect("the pod is there");
    let before = scheduler.state_hash();
    for id in [removed, PodId(7), PodId(u32::MAX)] {
        let expected = Outcome::Error(AttemptError::NoPod);
        assert_eq!(scheduler.schedule(id).outcome, expected);
        assert_eq!(scheduler.evaluate(id).outcome, expected);
        let (decision, record) = scheduler.explain(id, Detail::Full);
        assert_eq!(decision.outcome, expected);
        assert_eq!(scheduler.feasible(&decision).count(), 0);
        assert_eq!(
            (record.result, record.error.as_deref()),
            (
                PodResult::Error,
                Some("no pod has this id; it may have been deleted")
            )
        );
        scheduler.forget(id);
        assert!(!scheduler.has_pod(id) && !scheduler.waits(id));
        assert_eq!(
            (
                scheduler.pod_name(id),
                scheduler.priority(id),
                scheduler.node_of(id)
            ),
            (("", ""), 0, None)
        );
    }
    for id in [NodeId(7), NodeId(u32::MAX)] {
        let node = scheduler.node(id);
        assert!(node.name.is_empty() && node.resources().next().is_none());
    }
    assert_eq!(scheduler.state_hash(), before);
}

#[test]
fn gates_unsupported_fields_and_foreign_schedulers_have_their_own_results() {
    let mut scheduler = scheduler(Capacities::default());
    add(&mut scheduler, &node("n1"));
    let cases = [
        (
            json!({"schedulingGates": [{"name": "wait"}]}),
            PodResult::Gated,
            None,
        ),
        (
            json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}),
            PodResult::Unschedulable,
            None,
        ),
        (
            json!({"resourceClaims": [{"name": "gpu"}]}),
            PodResult::Unsupported,
            Some("spec.resourceClaims"),
        ),
        (json!({"schedulerName": "other"}), PodResult::Error, None),
        (
            json!({"volumes": [{"name": "v", "configMap": {"name": "c"}}]}),
            PodResult::Scheduled,
            None,
        ),
    ];
    for (at, (spec, result, field)) in cases.into_iter().enumerate() {
        let name = format!("p{at}");
        add(&mut scheduler, &pod(&name, &spec));
        let id = scheduler
            .find_pod("default", &name)
            .expect("the pod was added");
        let decision = scheduler.schedule(id);
        let record = scheduler.record(&decision, Detail::Full);
        assert_eq!(
            (record.result, record.field.as_deref()),
            (result, field),
            "{spec}"
        );
    }
}

#[test]
fn pods_wait_for_a_node_that_comes_later_and_keep_it_when_it_goes() {
    let mut scheduler = scheduler(Capacities::default());
    add(&mut scheduler, &pod("a", &json!({"nodeName": "n1"})));
    let id = scheduler
        .find_pod("default", "a")
        .expect("the pod was added");
    assert_eq!(scheduler.node_of(id), None);
    let n1 = node("n1");
    add(&mut scheduler, &n1);
    let bound = scheduler.state_hash();
    let row = scheduler.node_of(id).expect("the node came");
    assert_eq!(scheduler.node(row).pods, 1);
    scheduler
        .apply(Change::Deleted, &n1)
        .expect("the node is there");
    assert_eq!(scheduler.node_of(id), None);
    add(&mut scheduler, &n1);
    assert_eq!(scheduler.state_hash(), bound);
}

#[test]
fn best_fidelity_takes_turns_among_equal_nodes() {
    let config = KubeSchedulerConfiguration::default();
    let options = Options {
        fidelity: Fidelity::Best,
        ..Options::default()
    };
    let mut scheduler =
        Scheduler::new(&config, options, Capacities::default()).expect("the default configuration");
    for name in ["n1", "n2", "n3"] {
        add(&mut scheduler, &node(name));
    }
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        add(
            &mut scheduler,
            &pod(name, &json!({"containers": [{"name": "c"}]})),
        );
        nodes.push(place(&mut scheduler, name).expect("there is room"));
    }
    assert_eq!(nodes, ["n1", "n2", "n3"]);
}

#[test]
fn other_kinds_come_and_go_by_name() {
    let mut scheduler = scheduler(Capacities::default());
    let empty = scheduler.state_hash();
    let namespace: Namespace =
        serde_json::from_value(json!({"metadata": {"name": "team"}})).expect("a namespace");
    let set: Workload =
        serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "team"}}))
            .expect("a workload");
    for object in [Object::Namespace(namespace), Object::ReplicaSet(set)] {
        add(&mut scheduler, &object);
        assert_eq!(
            scheduler.apply(Change::Added, &object),
            Err(ApplyError::AlreadyExists)
        );
        scheduler
            .apply(Change::Modified, &object)
            .expect("it is there");
        scheduler
            .apply(Change::Deleted, &object)
            .expect("it is there");
        assert_eq!(
            scheduler.apply(Change::Deleted, &object),
            Err(ApplyError::NotFound)
        );
    }
    assert_eq!(scheduler.state_hash(), empty);
}

#[test]
fn of_many_resources_the_one_that_is_short_is_named() {
    let mut scheduler = scheduler(Capacities {
        resources: 100,
        ..Capacities::default()
    });
    let (mut has, mut asks) = (json!({"pods": "10"}), json!({}));
    for number in 0..90 {
        let name = format!("example.com/r{number:02}");
        has[&name] = json!(if number == 77 { "1" } else { "2" });
        asks[&name] = json!("2");
    }
    let node = json!({"metadata": {"name": "n1"}, "status": {"allocatable": has}});
    let node: Node = serde_json::from_value(node).expect("a node");
    add(&mut scheduler, &Object::Node(Box::new(node)));
    let containers = json!([{"name": "c", "resources": {"requests": asks}}]);
    add(
        &mut scheduler,
        &pod("many", &json!({"containers": containers})),
    );
    let id = scheduler.find_pod("default", "many").expect("the pod");
    let (_, record) = scheduler.explain(id, Detail::Reasons);
    let message = "0/1 nodes are available: 1 Insufficient example.com/r77.";
    assert_eq!(record.message.as_deref(), Some(message));
}
