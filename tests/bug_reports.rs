//! Faults that users met in schedulers, a test a report: `cases/bug_reports.yaml`, and what no table
//! can say.
//!
//! Reports on the queue, preemption, volumes, extenders, the daemon and the faces have their tests
//! beside those.

use berth_core::Change;
use berth_core::{Options, Outcome};
use berth_test_support::object::object;
use berth_test_support::replay::{Replay, VERDICTS};
use berth_test_support::table_tests;
use serde_json::{Value, json};

table_tests! {
    "bug_reports.yaml";
    b003_init_containers_count_for_a_pods_whole_life "B003";
    b004_restartable_init_containers_run_beside_the_apps "B004";
    b006_a_request_of_0_asks_for_nothing "B006";
    b007_only_the_slots_stop_a_pod_without_requests "B007";
    b008_pods_without_requests_do_not_pile_up "B008";
    b010_containers_without_requests_count_in_one_score_only "B010";
    b011_a_deferred_resize_counts_the_larger_amount "B011";
    b014_an_exa_cpu_is_much "B014";
    b015_one_digit_more_than_64_bits_hold "B015";
    b016_scores_of_the_largest_nodes "B016";
    b019_ki_and_k_and_the_exponent "B019";
    b020_every_suffix "B020";
    b021_suffixes_that_do_not_exist "B021";
    b022_no_request_ever_adds_room "B022";
    b023_only_cpu_counts_in_thousandths "B023";
    b024_a_name_that_no_node_has "B024";
    b026_field_selectors_know_one_field_and_one_value "B026";
    b028_comparisons_know_integers_only "B028";
    b029_each_node_is_counted_once "B029";
    b032_self_match_while_no_pair_is_there "B032";
    b033_self_match_still_needs_every_key "B033";
    b034_self_match_of_a_negative_selector "B034";
    b036_no_namespaces_mean_the_pods_own "B036";
    b043_tainted_nodes_are_domains_by_default "B043";
    b046_terminating_pods_and_other_namespaces_do_not_count "B046";
    b048_a_missing_key_cannot_be_cured "B048";
    b049_default_spreading_does_not_ask_for_every_key "B049";
    b050_nodes_without_the_key_score_0 "B050";
    b051_no_node_stays_empty "B051";
    b056_gated_operators_match_nothing "B056";
    b057_the_message_does_not_carry_the_taint "B057";
    b059_protocol_and_address_are_part_of_a_port "B059";
    b060_ports_of_init_containers_are_not_reserved "B060";
    b075_images_raise_the_ceiling_wherever_they_stand "B075";
    b077_a_registry_is_never_added "B077";
    b125_no_nodes_at_all "B125";
    b130_each_node_has_a_reason "B130";
    b139_namespaces_that_are_listed_last "B139";
    b140_a_pods_rule_holds_although_its_node_came_later "B140";
    b156_a_node_that_holds_more_than_it_has "B156";
    b158_nodes_whose_totals_are_zero "B158";
    b162_the_slots_of_a_node "B162";
    b165_a_narrowing_never_widens "B165";
    b166_unusable_nodes_are_not_counted "B166";
    b167_pod_level_limits "B167";
    b169_what_is_decided_is_charged_at_once "B169";
}

fn node(name: &str, labels: &Value) -> Value {
    let allocatable = json!({"cpu": "4", "memory": "2Gi", "pods": "110"});
    json!({"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}})
}

fn pod(name: &str, requests: &Value, spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["containers"] = json!([{"name": "c", "resources": {"requests": requests}}]);
    json!({"metadata": {"name": name, "namespace": "default", "labels": {"app": "x"}}, "spec": spec})
}

/// A cluster of so many equal nodes, `percentage` of which are looked at.
fn equal_nodes(count: usize, percentage: u32) -> Replay {
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": percentage,
    });
    let mut replay = Replay::new(Some(&config), Options::default(), count, 8);
    for number in 0..count {
        replay.add("Node", &node(&format!("n{number:05}"), &json!({})));
    }
    replay
}

/// Name of the node that the pod was placed on, if it was.
fn place(replay: &mut Replay, pod: &Value) -> Option<String> {
    let id = replay.add_pod(pod);
    match replay.scheduler.schedule(id).outcome {
        Outcome::Scheduled(node) => Some(replay.scheduler.node(node).name.to_owned()),
        Outcome::Unschedulable => None,
        other => panic!("{other:?}: {pod}"),
    }
}

/// What pods ask for on a node, and what it has, by resource.
fn room(replay: &Replay, node: &str) -> Vec<(String, i128, i64)> {
    let node = replay.scheduler.find_node(node).expect("the node is there");
    let resources = replay.scheduler.node(node).resources();
    resources
        .map(|(name, requested, allocatable)| (name.to_owned(), requested, allocatable))
        .collect()
}

#[test]
fn b037_what_affinity_needs_may_be_missing() {
    let near = |kind: &str, key: &str| {
        let term = json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": "x"}},
            "namespaceSelector": {"matchLabels": {"team": "x"}}});
        json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
    };
    let zone = json!({"zone": "z"});
    let objects = [
        (
            "Namespace",
            json!({"metadata": {"name": "default", "labels": {"team": "x"}}}),
        ),
        ("Node", node("n1", &zone)),
        ("Pod", pod("peer", &json!({}), &json!({"nodeName": "n1"}))),
        (
            "Pod",
            pod("rules", &json!({}), &{
                let mut spec = near("podAntiAffinity", "zone");
                spec["nodeName"] = json!("n1");
                spec
            }),
        ),
    ];
    // Each of them missing in turn, at first and later; also the node's label.
    for missing in 0..=objects.len() {
        let mut replay = Replay::new(None, VERDICTS, 4, 16);
        replay.add("Node", &node("other", &json!({})));
        for (index, (kind, object)) in objects.iter().enumerate() {
            if index != missing {
                replay.add(kind, object);
            }
        }
        let wants = pod("wants", &json!({}), &near("podAffinity", "zone"));
        let avoids = pod("avoids", &json!({}), &near("podAntiAffinity", "zone"));
        for wanted in [&wants, &avoids] {
            let id = replay.add_pod(wanted);
            let decision = replay.scheduler.evaluate(id);
            assert!(
                !matches!(decision.outcome, Outcome::Error(_)),
                "{missing}: {decision:?}"
            );
        }
        if let Some((kind, object)) = objects.get(missing) {
            replay.add(kind, object);
        }
        if missing != 1 {
            replay.apply(Change::Modified, &object("Node", &node("n1", &json!({}))));
        }
        for (kind, json) in objects.iter().rev() {
            replay.apply(Change::Deleted, &object(kind, json));
            for name in ["wants", "avoids"] {
                let id = replay
                    .scheduler
                    .find_pod("default", name)
                    .expect("it waits");
                let decision = replay.scheduler.evaluate(id);
                assert!(
                    !matches!(decision.outcome, Outcome::Error(_)),
                    "{missing}: {decision:?}"
                );
            }
        }
    }
}

#[test]
fn b116_a_pod_that_comes_again_under_its_name_finds_its_room_free() {
    let mut replay = Replay::new(None, VERDICTS, 1, 2);
    replay.add("Node", &node("n1", &json!({})));
    let pod = pod("p", &json!({"memory": "1500Mi"}), &json!({}));
    for _ in 0..2 {
        assert_eq!(place(&mut replay, &pod).as_deref(), Some("n1"));
        replay.remove_pod(&pod);
    }
}

#[test]
fn b122_the_search_goes_on_where_the_last_one_stopped() {
    let mut replay = equal_nodes(5000, 5);
    // Equal scores: the first node of each search is taken.
    for (name, first) in [("a", "n00000"), ("b", "n00250"), ("c", "n00500")] {
        let pod = pod(name, &json!({}), &json!({}));
        assert_eq!(place(&mut replay, &pod).as_deref(), Some(first));
    }
}

#[test]
fn b124_so_many_nodes_are_looked_at() {
    for (nodes, feasible) in [(1000, 100), (20_000, 200)] {
        let mut replay = equal_nodes(nodes, 1);
        let id = replay.add_pod(&pod("p", &json!({}), &json!({})));
        assert_eq!(
            replay.scheduler.evaluate(id).feasible,
            feasible,
            "{nodes} nodes"
        );
    }
}

#[test]
fn b163_totals_of_a_node_that_comes_again_are_those_of_its_pods() {
    let mut replay = Replay::new(None, VERDICTS, 1, 4);
    let n1 = node("n1", &json!({}));
    replay.add("Node", &n1);
    for name in ["a", "b"] {
        let pod = pod(name, &json!({"cpu": "1"}), &json!({"nodeName": "n1"}));
        replay.add("Pod", &pod);
    }
    let before = room(&replay, "n1");
    assert_eq!(before[0], ("cpu".to_owned(), 2000, 4000));
    replay.apply(Change::Deleted, &object("Node", &n1));
    replay.add("Node", &n1);
    assert_eq!(room(&replay, "n1"), before);
}

#[test]
fn b172_what_is_allocatable_does_not_shrink() {
    let mut replay = Replay::new(None, VERDICTS, 1, 4);
    replay.add("Node", &node("n1", &json!({})));
    for name in ["a", "b", "c"] {
        let pod = pod(name, &json!({"cpu": "1"}), &json!({}));
        assert_eq!(place(&mut replay, &pod).as_deref(), Some("n1"));
    }
    assert_eq!(room(&replay, "n1")[0], ("cpu".to_owned(), 3000, 4000));
}
