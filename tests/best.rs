//! The best node is kept from pod to pod, and chosen as a search over all nodes would choose it.

use berth_core::object::Object;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::{Capacities, Change, Detail, Fidelity, Options, Outcome, Scheduler};
use berth_test_support::object::object;
use serde_json::{Value, json};

const NODES: u64 = 150;
const PODS: u64 = 400;

/// Label of a pod, and what it asks beside room.
type Kind = (&'static str, fn() -> Value);

const KINDS: [Kind; 12] = [
    ("plain", || json!({})),
    ("zone", || {
        let zones = json!([{"matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["z1", "z2"]}]}]);
        json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": zones}}}})
    }),
    ("hard", || spread(&[("DoNotSchedule", "zone")])),
    ("soft", || spread(&[("ScheduleAnyway", "zone")])),
    ("hosts", || spread(&[("ScheduleAnyway", HOST)])),
    ("both", || {
        spread(&[("ScheduleAnyway", HOST), ("ScheduleAnyway", "zone")])
    }),
    ("three", || {
        let soft = |key| ("ScheduleAnyway", key);
        spread(&[soft("zone"), soft(HOST), soft("rack")])
    }),
    ("apart", || {
        let term = json!({"labelSelector": {"matchLabels": {"app": "apart"}},
            "topologyKey": HOST});
        json!({"affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
    }),
    (
        "near",
        || json!({"affinity": preferred("podAffinity", &[(7, "zone", "near")])}),
    ),
    (
        "avoiding",
        || json!({"affinity": preferred("podAntiAffinity", &[(3, HOST, "avoiding"), (90, HOST, "plain")])}),
    ),
    ("torn", || {
        let mut spec = spread(&[("ScheduleAnyway", "zone"), ("ScheduleAnyway", HOST)]);
        spec["affinity"] = preferred("podAffinity", &[(5, HOST, "torn"), (50, "rack", "both")]);
        spec
    }),
    ("hosted", || {
        let mut spec = spread(&[("ScheduleAnyway", HOST), ("DoNotSchedule", "rack")]);
        spec["affinity"] = preferred("podAffinity", &[(5, HOST, "plain")]);
        spec
    }),
];

const HOST: &str = "kubernetes.io/hostname";

/// Terms with their weight, key and the label that they select.
fn preferred(kind: &str, terms: &[(i32, &str, &str)]) -> Value {
    let term = |(weight, key, app): &(i32, &str, &str)| {
        json!({"weight": weight, "podAffinityTerm": {
            "topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}})
    };
    let terms: Vec<Value> = terms.iter().map(term).collect();
    json!({kind: {"preferredDuringSchedulingIgnoredDuringExecution": terms}})
}

fn spread(constraints: &[(&str, &str)]) -> Value {
    let constraint = |(when, key): &(&str, &str)| {
        json!({"maxSkew": 2, "topologyKey": key, "whenUnsatisfiable": when,
            "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}})
    };
    let constraints: Vec<Value> = constraints.iter().map(constraint).collect();
    json!({"topologySpreadConstraints": constraints})
}

fn node(number: u64, change: u64) -> Object {
    let mut labels = json!({HOST: format!("n{number}"), "rack": format!("r{}", number % 11)});
    // Some nodes are in no zone, and later some have no host name.
    if number % 17 != 3 {
        labels["zone"] = json!(format!("z{}", (number + change) % 4));
    }
    if change % 9 == 8 {
        labels.as_object_mut().expect("labels").remove(HOST);
    }
    let taints = if change % 5 == 4 {
        json!([{"key": "soft", "effect": "PreferNoSchedule"}])
    } else {
        json!([])
    };
    object(
        "Node",
        &json!({
            "metadata": {"name": format!("n{number}"), "labels": labels},
            "spec": {"unschedulable": change % 7 == 6, "taints": taints},
            "status": {"allocatable": {"cpu": (4 + number % 3).to_string(), "memory": "32Gi", "pods": "8"}},
        }),
    )
}

fn pod(number: u64) -> Object {
    let (name, spec) = KINDS[(number % KINDS.len() as u64) as usize];
    let mut spec = spec();
    let requests = json!({"cpu": format!("{}m", 100 + number % 4 * 150), "memory": "500Mi"});
    spec["containers"] = json!([{"name": "main", "resources": {"requests": requests}}]);
    object(
        "Pod",
        &json!({
            "metadata": {"name": format!("p{number}"), "namespace": "default", "labels": {"app": name}},
            "spec": spec,
        }),
    )
}

#[test]
fn what_is_kept_is_what_a_search_finds() {
    compare(node);
}

/// Where no taint counts, bounds spare most nodes from being scored.
#[test]
fn what_bounds_find_is_what_a_search_finds() {
    compare(|number, change| node(number, change - change % 5));
}

fn compare(node: fn(u64, u64) -> Object) {
    let schedulers = [Detail::Full, Detail::None].map(|detail| {
        let options = Options {
            fidelity: Fidelity::Best,
            preemption: Some(false),
            detail: Some(detail),
            ..Options::default()
        };
        let config = KubeSchedulerConfiguration::default();
        Scheduler::new(&config, options, Capacities::for_size(256, 2048)).expect("a scheduler")
    });
    let mut both = schedulers;
    let apply = |both: &mut [Scheduler; 2], change, object: &Object| {
        for scheduler in both {
            let applied = scheduler.apply(change, object);
            applied.unwrap_or_else(|error| panic!("{error}"));
        }
    };
    for number in 0..NODES {
        apply(&mut both, Change::Added, &node(number, 0));
    }
    let (mut placed, mut without_list, mut bound) = (0_u64, 0_u64, Vec::new());
    for number in 0..PODS {
        apply(&mut both, Change::Added, &pod(number));
        for scheduler in &mut both {
            scheduler.advance(number * 10_000_000_000);
        }
        loop {
            let [searched, kept] = [0, 1].map(|at| both[at].schedule_one(number * 10_000_000_000));
            assert_eq!(searched, kept, "pod {number}");
            let Some(decision) = kept else {
                break;
            };
            if let Outcome::Scheduled(_) = decision.outcome {
                placed += 1;
                let listed = [0, 1].map(|at| both[at].feasible(&decision).count() as u32);
                assert_eq!(listed[0], decision.feasible);
                without_list += u64::from(listed[1] == 0);
                bound.push(both[0].pod_name(decision.pod).1.to_owned());
            }
        }
        // Nodes move, are cordoned and tainted; pods go.
        if number % 3 == 0 {
            let at = number * 37 % NODES;
            apply(&mut both, Change::Modified, &node(at, number / 3));
        }
        if number % 11 == 10 {
            let at = number * 53 % NODES;
            apply(&mut both, Change::Deleted, &node(at, 0));
            apply(&mut both, Change::Added, &node(at, number));
        }
        if number % 4 == 3 && !bound.is_empty() {
            let name = bound.swap_remove((number * 31) as usize % bound.len());
            let number: u64 = name[1..].parse().expect("a number");
            apply(&mut both, Change::Deleted, &pod(number));
        }
    }
    println!("{placed} placed, {without_list} of them without a list of nodes");
    assert!(placed > PODS * 3 / 4, "{placed} placed");
    assert!(without_list > placed * 9 / 10, "{without_list} of {placed}");
    assert_eq!(both[0].state_hash(), both[1].state_hash());
}

/// An explanation tells everything, whatever the options keep.
#[test]
fn an_explanation_searches() {
    let options = Options {
        fidelity: Fidelity::Best,
        detail: Some(Detail::None),
        ..Options::default()
    };
    let config = KubeSchedulerConfiguration::default();
    let mut scheduler =
        Scheduler::new(&config, options, Capacities::for_size(64, 64)).expect("a scheduler");
    for object in (0..20).map(|number| node(number, 0)).chain([pod(0)]) {
        scheduler.apply(Change::Added, &object).expect("it fits");
    }
    let id = scheduler.find_pod("default", "p0").expect("the pod");
    let (decision, record) = scheduler.explain(id, Detail::Full);
    assert_eq!(record.scores.map(|scores| scores.len()), Some(20));
    assert_eq!(decision, scheduler.evaluate(id));
}
