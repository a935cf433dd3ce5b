use super::{Intake, IntakeError, NODES_MAX, Size};
use crate::object::config::KubeSchedulerConfiguration;
use crate::object::decode::Decoded;
use crate::scheduler::{ApplyError, Change, CreateError, Options};
use crate::{Detail, Outcome};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use serde_json::{Value, json};

fn intake() -> Intake {
    let config = KubeSchedulerConfiguration::default();
    Intake::new(config, Options::default(), None).unwrap()
}

fn decoded(json: Value) -> Decoded {
    serde_json::from_value(json).unwrap()
}

fn node(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
    })
}

fn pod(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "web"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
    })
}

fn list(items: &[Value]) -> Vec<Decoded> {
    vec![decoded(
        json!({"apiVersion": "v1", "kind": "List", "items": items}),
    )]
}

fn with_priority_class(mut pod: Value, class: &str) -> Value {
    pod["spec"]["priorityClassName"] = json!(class);
    pod
}

fn priority_class(name: &str, value: i32) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": name}, "value": value,
    })
}

fn queue(intake: &Intake) -> Vec<&str> {
    let queue = intake.queue().into_iter();
    queue
        .map(|pod| intake.scheduler().pod_name(pod).1)
        .collect()
}

#[test]
fn a_load_that_fails_leaves_nothing_behind() {
    let mut intake = intake();
    intake
        .load(list(&[node("n1", "4"), pod("a", "1")]))
        .unwrap();
    let before = intake.scheduler().state_hash();
    let mut other = pod("b", "1");
    other["metadata"]["namespace"] = json!("elsewhere");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}});
    let error = intake.load(list(&[namespace, node("n2", "4"), other, pod("a", "1")]));
    let Err(IntakeError::Apply { subject, error }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(
        (subject.as_str(), error),
        ("Pod web/a", ApplyError::AlreadyExists)
    );
    assert_eq!(intake.scheduler().state_hash(), before);
    assert_eq!(queue(&intake), ["a"]);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let mut bad_node = node("n1", "four");
    bad_node["metadata"]["labels"] = json!({"a b": "c"});
    let error = intake().load(vec![Decoded::from_value(
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "List", "items": [bad_node, pod("a", "-1")],
        }))
        .unwrap(),
    )]);
    let text = error.unwrap_err().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("Node n1: "), "{text}");
    assert!(
        lines[1].starts_with("Pod web/a: spec.containers[0].resources.requests.cpu: "),
        "{text}"
    );
}

#[test]
fn a_first_load_of_any_size_fits_and_leaves_room() {
    let mut items: Vec<Value> = (0..600).map(|n| node(&n.to_string(), "4")).collect();
    items.extend((0..20_000).map(|n| pod(&n.to_string(), &(n % 7).to_string())));
    let mut intake = intake();
    assert_eq!(intake.load(list(&items)).unwrap().pending.len(), 20_000);
    let more: Vec<Value> = (600..750).map(|n| node(&n.to_string(), "4")).collect();
    intake.load(list(&more)).unwrap();
}

#[test]
fn a_given_size_is_kept_to_and_checked() {
    let config = KubeSchedulerConfiguration::default();
    let new = |nodes| {
        let size = Size { nodes, pods: 10 };
        Intake::new(config.clone(), Options::default(), Some(size))
    };
    assert!(
        matches!(new(NODES_MAX + 1), Err(CreateError::Capacity(full)) if full.which == "nodes")
    );
    let mut intake = new(1).unwrap();
    let error = intake
        .load(list(&[node("n1", "4"), node("n2", "4")]))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "Node n2: capacity `nodes` of 1 is used up"
    );
    intake.load(list(&[node("n1", "4")])).unwrap();
}

#[test]
fn the_queue_is_by_priority_then_by_arrival() {
    let mut intake = intake();
    let class = priority_class("high", 100);
    let high = with_priority_class(pod("b", "1"), "high");
    intake
        .load(list(&[pod("a", "1"), class, high, pod("c", "1")]))
        .unwrap();
    assert_eq!(queue(&intake), ["b", "a", "c"]);
    intake
        .apply(Some(Change::Deleted), decoded(pod("a", "1")))
        .unwrap();
    intake.apply(None, decoded(pod("a", "1"))).unwrap();
    assert_eq!(queue(&intake), ["b", "c", "a"]);
    // A later pod is completed by an earlier class.
    intake
        .apply(None, decoded(with_priority_class(pod("d", "1"), "high")))
        .unwrap();
    intake
        .load(list(&[with_priority_class(pod("e", "1"), "high")]))
        .unwrap();
    assert_eq!(queue(&intake), ["b", "d", "e", "c", "a"]);
}

#[test]
fn a_change_must_fit_what_is_there() {
    let mut intake = intake();
    let refused = |intake: &mut Intake, change, json: Value| match intake
        .apply(Some(change), decoded(json))
    {
        Err(IntakeError::Apply { error, .. }) => error,
        other => panic!("{other:?}"),
    };
    for json in [node("n1", "4"), pod("a", "1"), priority_class("high", 1)] {
        for change in [Change::Modified, Change::Deleted] {
            assert_eq!(
                refused(&mut intake, change, json.clone()),
                ApplyError::NotFound
            );
        }
        intake
            .apply(Some(Change::Added), decoded(json.clone()))
            .unwrap();
        assert_eq!(
            refused(&mut intake, Change::Added, json),
            ApplyError::AlreadyExists
        );
    }
    let two = list(&[pod("b", "1"), pod("c", "1")]).remove(0);
    assert!(matches!(
        intake.apply(None, two),
        Err(IntakeError::Invalid(_))
    ));
}

#[test]
fn a_namespace_s_own_object_takes_the_place_of_an_implied_one() {
    let mut intake = intake();
    intake.apply(None, decoded(pod("a", "1"))).unwrap();
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "web", "labels": {"team": "x"}},
    });
    intake
        .apply(Some(Change::Added), decoded(namespace.clone()))
        .unwrap();
    let error = intake.apply(Some(Change::Added), decoded(namespace));
    assert!(matches!(
        error,
        Err(IntakeError::Apply {
            error: ApplyError::AlreadyExists,
            ..
        })
    ));
}

#[test]
fn a_pod_that_is_only_asked_about_leaves_no_trace() {
    let mut intake = intake();
    intake.load(list(&[node("n1", "4")])).unwrap();
    let before = intake.scheduler().state_hash();
    let ask = |cpu: &str, intake: &mut Intake| {
        let pod = decoded(pod("a", cpu));
        let (decision, _) = intake
            .with_pod(pod, |intake, pod| intake.explain(pod, Detail::Full))
            .unwrap();
        decision.outcome
    };
    assert!(matches!(ask("1", &mut intake), Outcome::Scheduled(_)));
    assert_eq!(ask("5", &mut intake), Outcome::Unschedulable);
    assert_eq!(intake.scheduler().state_hash(), before);
    assert!(intake.queue().is_empty());
}

#[test]
fn the_feasible_nodes_of_an_evaluation_have_their_totals() {
    let mut intake = intake();
    let nodes = [node("n1", "4"), node("n2", "8"), node("n3", "1")];
    intake.load(list(&nodes)).unwrap();
    let loaded = intake.load(list(&[pod("a", "2"), pod("b", "6")])).unwrap();
    for (pod, count) in loaded.pending.iter().zip([2, 1]) {
        let (decision, record) = intake.explain(*pod, Detail::Full);
        let scheduler = intake.scheduler();
        let mut ours: Vec<_> = scheduler
            .feasible(&decision)
            .map(|(node, total)| (scheduler.node(node).name, total))
            .collect();
        ours.sort_unstable();
        assert_eq!(ours.len(), count);
        let scores = record.scores.unwrap_or_default();
        assert_eq!(scores.is_empty(), !decision.is_scored());
        for (score, own) in scores.iter().zip(&ours) {
            assert_eq!((score.node.as_str(), score.total), *own);
        }
    }
}

#[test]
fn a_rollback_takes_back_what_the_intake_knows_beside_the_scheduler() {
    let mut intake = intake();
    intake.load(list(&[node("n1", "4")])).unwrap();
    let before = intake.scheduler().state_hash();
    assert!(!intake.rollback() && !intake.commit());
    intake.fork().unwrap();
    // The pod's namespace is implied, and its priority comes from a class that is new.
    let class = priority_class("high", 7);
    intake.load(list(core::slice::from_ref(&class))).unwrap();
    let high = with_priority_class(pod("a", "1"), "high");
    intake.load(list(core::slice::from_ref(&high))).unwrap();
    let pod = intake.queue()[0];
    assert_eq!(intake.scheduler().priority(pod), 7);
    assert!(intake.rollback());
    assert_eq!(intake.scheduler().state_hash(), before);
    assert!(queue(&intake).is_empty());
    // The class is not known any more.
    intake.load(list(&[high])).unwrap();
    assert_eq!(intake.scheduler().priority(intake.queue()[0]), 0);
    intake.fork().unwrap();
    intake.load(list(core::slice::from_ref(&class))).unwrap();
    assert!(intake.commit());
    let again = intake.apply(Some(Change::Added), decoded(class));
    assert!(matches!(
        again,
        Err(IntakeError::Apply {
            error: ApplyError::AlreadyExists,
            ..
        })
    ));
}

#[test]
fn a_first_load_in_a_fork_is_taken_back_too() {
    let mut intake = intake();
    let before = intake.scheduler().state_hash();
    intake.fork().unwrap();
    intake
        .load(list(&[node("n1", "4"), pod("a", "1")]))
        .unwrap();
    assert!(intake.rollback());
    assert_eq!(intake.scheduler().state_hash(), before);
    // It still counts as the first.
    let nodes: Vec<Value> = (0..600).map(|at| node(&at.to_string(), "4")).collect();
    intake.load(list(&nodes)).unwrap();
}

#[test]
fn what_was_said_to_an_empty_scheduler_holds_after_its_first_load() {
    let mut intake = intake();
    intake.scheduler_mut().add_filter("Licence", "no").unwrap();
    intake.scheduler_mut().advance(5_000_000_000);
    let nodes: Vec<Value> = (0..600).map(|at| node(&at.to_string(), "4")).collect();
    intake.load(list(&nodes)).unwrap();
    assert!(intake.scheduler().has_external("Licence"));
    assert_eq!(intake.scheduler().now(), 5_000_000_000);
}

#[test]
fn a_class_that_is_held_outlives_its_pods() {
    let mut intake = intake();
    intake
        .load(list(&[node("n1", "4"), pod("a", "1")]))
        .unwrap();
    let id = intake.queue()[0];
    let class = intake.scheduler().class_of(id).unwrap();
    let mut object = crate::object::Object::Pod(serde_json::from_value(pod("b", "1")).unwrap());
    intake.admit(&mut object).unwrap();
    let crate::object::Object::Pod(like_it) = object else {
        unreachable!("it was one");
    };
    assert_eq!(intake.create_class(&like_it), Ok(class));
    intake
        .apply(Some(Change::Deleted), decoded(pod("a", "1")))
        .unwrap();
    intake
        .apply(Some(Change::Added), decoded(pod("c", "2")))
        .unwrap();
    intake
        .apply(Some(Change::Added), decoded(pod("d", "1")))
        .unwrap();
    let class_of = |intake: &Intake, name| {
        let pod = intake.scheduler().find_pod("web", name).unwrap();
        intake.scheduler().class_of(pod).unwrap()
    };
    assert_ne!(class_of(&intake, "c"), class);
    assert_eq!(class_of(&intake, "d"), class);
    intake.scheduler_mut().release_class(class);
}

#[cfg(feature = "state-file")]
#[test]
fn a_state_is_taken_in_the_room_that_was_given_and_plugins_stay() {
    use crate::Capacities;
    let mut saved = intake();
    let nodes: Vec<Value> = (0..20).map(|at| node(&at.to_string(), "4")).collect();
    saved.load(list(&nodes)).unwrap();
    let (bytes, hash) = (saved.save_state(), saved.scheduler().state_hash());
    let config = KubeSchedulerConfiguration::default();
    for (capacities, fits) in [
        (Capacities::for_size(20, 10), true),
        (Capacities::for_size(19, 10), false),
    ] {
        let options = Options::default();
        let mut other = Intake::with_capacities(config.clone(), options, capacities).unwrap();
        other.scheduler_mut().add_score("Near", 2).unwrap();
        assert_eq!(other.load_state(&bytes).is_ok(), fits);
        assert_eq!(*other.scheduler().capacities(), capacities);
        assert!(other.scheduler().has_external("Near"));
        assert_eq!(other.scheduler().state_hash() == hash, fits);
    }
}

#[cfg(feature = "state-file")]
#[test]
fn a_load_that_is_too_large_for_its_tables_grows_them_if_it_may() {
    let load = |spacing| {
        let mut intake = intake();
        intake.set_spacing(spacing);
        intake
            .load(list(&[node("n0", "4"), pod("p0", "1m")]))
            .unwrap();
        intake
    };
    let nodes: Vec<Value> = (1..200).map(|n| node(&n.to_string(), "4")).collect();
    let mut strict = load(0);
    let before = strict.scheduler().state_hash();
    let refused = strict.load(list(&nodes)).unwrap_err();
    assert!(refused.to_string().contains("`nodes`"), "{refused}");
    assert_eq!(strict.scheduler().state_hash(), before);

    let mut growing = load(1);
    growing.set_growing(true);
    growing.scheduler_mut().fork().unwrap();
    growing.load(list(&nodes)).unwrap();
    assert_eq!(growing.scheduler().nodes().count(), 200);
    // Of two pods of equal priority the one that came first.
    growing
        .load(list(&[pod("p2", "1m"), pod("p1", "1m")]))
        .unwrap();
    let now = growing.scheduler().now();
    let turns = (0..3).map(|_| {
        let decision = growing.scheduler_mut().schedule_one(now).unwrap();
        growing.scheduler().pod_name(decision.pod).1.to_string()
    });
    assert_eq!(turns.collect::<Vec<_>>(), ["p0", "p2", "p1"]);
    assert!(growing.scheduler_mut().rollback());
    assert_eq!(growing.scheduler().nodes().count(), 1);
    let nothing = crate::CapacityExceeded {
        which: "nothing",
        limit: 0,
    };
    assert_eq!(growing.grow(nothing), Err(nothing));

    let size = Size { nodes: 1, pods: 1 };
    let config = KubeSchedulerConfiguration::default();
    let mut given = Intake::new(config, Options::default(), Some(size)).unwrap();
    assert!(given.load(list(&nodes)).is_err());
    given.set_growing(true);
    given.load(list(&nodes)).unwrap();
    assert_eq!(given.scheduler().nodes().count(), 199);
}

#[test]
fn room_for_the_next_pod_is_known_before_its_attempt() {
    let mut capacities = crate::Capacities::for_size(4, 4);
    capacities.port_counts = 1;
    let config = KubeSchedulerConfiguration::default();
    let mut intake = Intake::with_capacities(config, Options::default(), capacities).unwrap();
    let with_port = |name: &str, port: u16| {
        let mut pod = pod(name, "1m");
        pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": 1, "hostPort": port}]);
        pod
    };
    let pods = [with_port("p1", 1), with_port("p2", 2)];
    intake
        .load(list(&[node("n0", "4"), pods[0].clone(), pods[1].clone()]))
        .unwrap();
    let scheduler = intake.scheduler_mut();
    assert_eq!(scheduler.make_room(), Ok(()));
    scheduler.schedule_one(1).unwrap();
    assert_eq!(scheduler.make_room().unwrap_err().which, "port_counts");
    let full = scheduler.make_room().unwrap_err();
    let counted: Vec<_> = scheduler.queue_incoming().collect();
    assert!(!counted.is_empty());
    intake.grow(full).unwrap();
    let scheduler = intake.scheduler_mut();
    assert_eq!(scheduler.queue_incoming().collect::<Vec<_>>(), counted);
    assert_eq!(scheduler.make_room(), Ok(()));
    let decision = scheduler.schedule_one(2).unwrap();
    assert!(matches!(decision.outcome, Outcome::Scheduled(_)));
    assert_eq!(scheduler.make_room(), Ok(()));
}

#[test]
fn a_pod_is_assumed_where_the_caller_says() {
    let mut intake = intake();
    intake
        .load(list(&[node("n0", "1"), pod("p0", "9")]))
        .unwrap();
    let scheduler = intake.scheduler_mut();
    let pod = scheduler.find_pod("web", "p0").unwrap();
    let node = scheduler.find_node("n0").unwrap();
    assert_eq!(scheduler.assume(pod, crate::id::NodeId(7)), Ok(false));
    assert_eq!(scheduler.assume(pod, node), Ok(true));
    assert_eq!(scheduler.assume(pod, node), Ok(false));
    assert_eq!(scheduler.node_of(pod), Some(node));
    assert_eq!(scheduler.schedule_one(1), None);
    assert!(scheduler.seen_bound(pod));
}
