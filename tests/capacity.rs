//! Every table that fills up refuses by its name, again and again, and changes nothing; what was
//! refused goes in where the table is larger.

use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Node, Object, Pod};
use berth_core::{
    ApplyError, AttemptError, Capacities, CapacityExceeded, Change, CreateError, Options, Outcome,
    Scheduler,
};
use berth_test_support::generate::case;
use berth_test_support::generate::profile::configuration;
use berth_test_support::generate::world::{Step, World};
use berth_test_support::object::object;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Refusals that each table must give.
const REFUSALS: u32 = 10;
/// Histories after which a table that never filled up fails the test.
const HISTORIES: u32 = 200;

/// A limit of `Capacities`.
enum Limit {
    Narrow(fn(&mut Capacities) -> &mut u32),
    Wide(fn(&mut Capacities) -> &mut u64),
}

/// All limits.
const LIMITS: [(&str, Limit); 31] = [
    ("nodes", Limit::Narrow(|c| &mut c.nodes)),
    ("pods", Limit::Narrow(|c| &mut c.pods)),
    ("classes", Limit::Narrow(|c| &mut c.classes)),
    ("class_words", Limit::Wide(|c| &mut c.class_words)),
    ("live_words", Limit::Narrow(|c| &mut c.live_words)),
    ("texts", Limit::Narrow(|c| &mut c.texts)),
    ("text_bytes", Limit::Wide(|c| &mut c.text_bytes)),
    ("node_words", Limit::Wide(|c| &mut c.node_words)),
    ("record_words", Limit::Narrow(|c| &mut c.record_words)),
    ("resources", Limit::Narrow(|c| &mut c.resources)),
    ("topology_keys", Limit::Narrow(|c| &mut c.topology_keys)),
    ("domains", Limit::Narrow(|c| &mut c.domains)),
    ("terms", Limit::Narrow(|c| &mut c.terms)),
    ("term_words", Limit::Wide(|c| &mut c.term_words)),
    ("term_counts", Limit::Narrow(|c| &mut c.term_counts)),
    ("links", Limit::Narrow(|c| &mut c.links)),
    ("images", Limit::Narrow(|c| &mut c.images)),
    ("image_words", Limit::Wide(|c| &mut c.image_words)),
    ("image_counts", Limit::Narrow(|c| &mut c.image_counts)),
    ("ports", Limit::Narrow(|c| &mut c.ports)),
    ("port_counts", Limit::Narrow(|c| &mut c.port_counts)),
    ("objects", Limit::Narrow(|c| &mut c.objects)),
    ("object_words", Limit::Wide(|c| &mut c.object_words)),
    ("volumes", Limit::Narrow(|c| &mut c.volumes)),
    ("volume_words", Limit::Wide(|c| &mut c.volume_words)),
    ("volume_bindings", Limit::Narrow(|c| &mut c.volume_bindings)),
    ("volume_uses", Limit::Narrow(|c| &mut c.volume_uses)),
    (
        "volume_use_counts",
        Limit::Narrow(|c| &mut c.volume_use_counts),
    ),
    ("live_classes", Limit::Narrow(|c| &mut c.live_classes)),
    (
        "in_flight_events",
        Limit::Narrow(|c| &mut c.in_flight_events),
    ),
    ("event_words", Limit::Narrow(|c| &mut c.event_words)),
];

/// Limits that these histories never meet. Of `live_classes` the coldest makes room. Events are kept
/// only for pods in flight, and a pod that the caller picks never is: that both tables refuse is
/// tested on the loop, by `a_full_table_of_events_refuses_the_change`.
/// Claims that are bound for a placed pod are too rare here to fill their table:
/// `a_full_table_of_claims_being_bound_refuses_the_pod` fills it.
const NEVER_MET: [&str; 4] = [
    "live_classes",
    "in_flight_events",
    "event_words",
    "volume_bindings",
];

fn capacities(limit: &Limit, value: u64) -> Capacities {
    let mut capacities = Capacities::for_size(320, 256);
    match limit {
        Limit::Narrow(field) => *field(&mut capacities) = value as u32,
        Limit::Wide(field) => *field(&mut capacities) = value,
    }
    capacities
}

fn take(engine: &mut Scheduler, step: &Step) -> Result<Option<String>, CapacityExceeded> {
    let find = |engine: &Scheduler, key: &(String, String)| {
        engine.find_pod(&key.0, &key.1).expect("the pod")
    };
    match step {
        Step::Apply(change, object) => match engine.apply(*change, object) {
            Ok(()) => Ok(None),
            Err(ApplyError::Capacity(full)) => Err(full),
            Err(error) => panic!("{error}"),
        },
        Step::Schedule(key) => match engine.schedule(find(engine, key)).outcome {
            Outcome::Scheduled(node) => Ok(Some(engine.node(node).name.to_owned())),
            Outcome::Error(AttemptError::Capacity(full)) => Err(full),
            _ => Ok(None),
        },
        Step::Ask(key) => match engine.evaluate(find(engine, key)).outcome {
            Outcome::Error(AttemptError::Capacity(full)) => Err(full),
            _ => Ok(None),
        },
        Step::Forget(key) => {
            engine.forget(find(engine, key));
            Ok(None)
        }
    }
}

#[test]
fn b29_every_full_table_refuses_by_name_and_changes_nothing() {
    let fields = format!("{:?}", Capacities::default()).matches(": ").count();
    assert_eq!(LIMITS.len(), fields, "a limit is missing");
    for (which, limit) in &LIMITS {
        let mut runner = TestRunner::deterministic();
        let mut refusals = 0;
        for _ in 0..HISTORIES {
            refusals += refusals_of(which, limit, &mut runner);
            if refusals >= REFUSALS || NEVER_MET.contains(which) {
                break;
            }
        }
        println!("{which}: refused {refusals} times");
        let expected = if NEVER_MET.contains(which) {
            0..=0
        } else {
            REFUSALS..=u32::MAX
        };
        assert!(
            expected.contains(&refusals),
            "{which} refused {refusals} times"
        );
    }
}

/// A class whose list of terms is longer than `live_words` holds is refused in the middle of it. What
/// it had interned by then must not stay: the tables of terms and keys hold one such list only.
#[test]
fn a_class_that_does_not_go_live_gives_back_its_terms_and_keys() {
    let mut capacities = Capacities::for_size(1, 1);
    // Three constraints of seven words each: the third begins before the limit and ends behind it.
    // Each counts by row and by domain.
    capacities.live_words = 16;
    capacities.terms = 6;
    capacities.topology_keys = 3;
    let full =
        |which, limit| Outcome::Error(AttemptError::Capacity(CapacityExceeded { which, limit }));
    let pod = |app: &str, constraints: usize| -> Object {
        let constraint = |at: usize| {
            json!({
                "maxSkew": 1, "topologyKey": format!("{app}-{at}"), "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": app, "at": at.to_string()}},
            })
        };
        let constraints: Vec<_> = (0..constraints).map(constraint).collect();
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": app, "namespace": "default", "labels": {"app": app}},
            "spec": {"containers": [{"name": "c"}], "topologySpreadConstraints": constraints},
        }))
        .expect("a pod");
        Object::Pod(Box::new(pod))
    };
    let config = KubeSchedulerConfiguration::default();
    let mut engine =
        Scheduler::new(&config, Options::default(), capacities).expect("room for a profile");
    let node: Node = serde_json::from_value(json!({
        "metadata": {"name": "n1", "labels": {"small-0": "a"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }))
    .expect("a node");
    engine
        .apply(Change::Added, &Object::Node(Box::new(node)))
        .expect("room for a node");
    let before = engine.state_hash();
    for app in ["a", "b", "c", "d"] {
        let object = pod(app, 3);
        engine
            .apply(Change::Added, &object)
            .expect("room for a pod");
        let id = engine.find_pod("default", app).expect("the pod");
        let added = engine.state_hash();
        for _ in 0..2 {
            assert_eq!(engine.schedule(id).outcome, full("live_words", 16), "{app}");
            assert_eq!(engine.state_hash(), added, "{app}");
        }
        engine
            .apply(Change::Deleted, &object)
            .expect("the pod is there");
        assert_eq!(engine.state_hash(), before, "{app}");
    }
    // One constraint fits.
    engine
        .apply(Change::Added, &pod("small", 1))
        .expect("room for a pod");
    let id = engine.find_pod("default", "small").expect("the pod");
    let outcome = engine.schedule(id).outcome;
    assert!(matches!(outcome, Outcome::Scheduled(_)), "{outcome:?}");
}

/// Two pods with two claims each that wait for them, and room for two promises: the second pod is placed
/// once the first one's claims are bound.
#[test]
fn a_full_table_of_claims_being_bound_refuses_the_pod() {
    let mut capacities = Capacities::for_size(1, 2);
    capacities.volume_bindings = 2;
    let config = KubeSchedulerConfiguration::default();
    let mut engine =
        Scheduler::new(&config, Options::default(), capacities).expect("room for a profile");
    let mut add = |kind: &str, json: Value| {
        let added = engine.apply(Change::Added, &object(kind, &json));
        added.unwrap_or_else(|error| panic!("{json}: {error}"));
    };
    add(
        "Node",
        json!({"metadata": {"name": "n1"}, "status": {"allocatable": {"pods": "10"}}}),
    );
    add(
        "StorageClass",
        json!({"metadata": {"name": "fast"}, "provisioner": "csi.example.com",
            "volumeBindingMode": "WaitForFirstConsumer"}),
    );
    for pod in ["a", "b"] {
        let claims = ["data", "logs"].map(|volume| format!("{volume}-{pod}"));
        for claim in &claims {
            add(
                "PersistentVolumeClaim",
                json!({"metadata": {"name": claim, "namespace": "default"}, "spec": {
                    "storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}}}}),
            );
        }
        let volumes = claims
            .map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}}));
        add(
            "Pod",
            json!({"metadata": {"name": pod, "namespace": "default"},
                "spec": {"containers": [{"name": "c"}], "volumes": volumes}}),
        );
    }
    let [first, second] = ["a", "b"].map(|pod| engine.find_pod("default", pod).expect("the pod"));
    let placed = engine.schedule(first).outcome;
    assert!(matches!(placed, Outcome::Scheduled(_)), "{placed:?}");
    let before = engine.state_hash();
    let full = CapacityExceeded {
        which: "volume_bindings",
        limit: 2,
    };
    for _ in 0..2 {
        let refused = engine.schedule(second).outcome;
        assert_eq!(refused, Outcome::Error(AttemptError::Capacity(full)));
        assert_eq!(engine.state_hash(), before);
    }
    engine.bind_volumes(first).expect("room for volumes");
    engine.seen_bound(first);
    let placed = engine.schedule(second).outcome;
    assert!(matches!(placed, Outcome::Scheduled(_)), "{placed:?}");
}

/// Plays a history on a scheduler whose table is too small, and grows it at each refusal.
fn refusals_of(which: &str, limit: &Limit, runner: &mut TestRunner) -> u32 {
    let case = case().new_tree(runner).expect("a case").current();
    let config = configuration(&case.profiles);
    let mut value = 1;
    let made = |value: &mut u64, log: &[Step]| 'larger: loop {
        let options = Options::default();
        let mut engine = match Scheduler::new(&config, options, capacities(limit, *value)) {
            Ok(engine) => engine,
            Err(CreateError::Capacity(full)) => {
                assert_eq!((full.which, full.limit), (which, *value));
                *value *= 2;
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        for step in log {
            if let Err(full) = take(&mut engine, step) {
                assert_eq!((full.which, full.limit), (which, *value));
                *value *= 2;
                continue 'larger;
            }
        }
        return engine;
    };
    let mut engine = made(&mut value, &[]);
    let mut world = World::new(&case);
    let mut log = Vec::new();
    let mut refusals = 0;
    for event in &case.events {
        let mut steps: VecDeque<Step> = world.steps(event).into();
        while let Some(step) = steps.pop_front() {
            let placed = loop {
                let before = engine.state_hash();
                let full = match take(&mut engine, &step) {
                    Ok(placed) => break placed,
                    Err(full) => full,
                };
                assert_eq!((full.which, full.limit), (which, value), "by {step:?}");
                assert_eq!(
                    engine.state_hash(),
                    before,
                    "{full} left a trace of {step:?}"
                );
                for _ in 0..3 {
                    assert_eq!(take(&mut engine, &step), Err(full), "by {step:?}");
                    assert_eq!(
                        engine.state_hash(),
                        before,
                        "{full} left a trace of {step:?}"
                    );
                }
                refusals += 1;
                value *= 2;
                engine = made(&mut value, &log);
                assert_eq!(engine.state_hash(), before, "{which} of {value}");
            };
            if let (Step::Schedule(key), Some(node)) = (&step, placed) {
                world.assume(key, &node);
                let id = engine.find_pod(&key.0, &key.1).expect("the pod");
                for step in world
                    .bind_volumes(engine.volume_actions(id))
                    .into_iter()
                    .rev()
                {
                    steps.push_front(step);
                }
            }
            log.push(step);
        }
    }
    refusals
}
