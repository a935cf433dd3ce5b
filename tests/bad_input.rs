//! Bad and extreme input, a test a row: `cases/bad_input.yaml` through the core's intake and the
//! command. Rows on files, the configuration and flags are tested beside the command; rows on sizes
//! that no table holds, in `attack_shapes.rs`.

use berth_core::id::PodId;
use berth_core::intake::Intake;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::Decoded;
use berth_core::{Change, Detail, Quantity};
use berth_test_support::object::object;
use berth_test_support::replay::{Replay, VERDICTS};
use berth_test_support::table_tests;
use serde_json::{Value, json};

table_tests! {
    "bad_input.yaml";
    b1_memory_beyond_64_bits "B1";
    b2_cpu_beyond_64_bits "B2";
    b3_sums_beyond_64_bits "B3";
    b4_extended_resources_beyond_64_bits "B4";
    b5_nodes_that_hold_more_than_64_bits "B5";
    b6_amounts_finer_than_the_unit "B6";
    b7_requests_below_zero "B7";
    b8_allocatable_below_zero "B8";
    b9_allocatable_beyond_64_bits "B9";
    b10_scores_of_huge_capacities "B10";
    b11_what_is_no_quantity "B11";
    b12_unusual_quantities "B12";
    b13_texts_without_a_digit "B13";
    b15_fractions_and_names_without_domain "B15";
    b16_pod_level_requests_below_the_sum "B16";
    b30_pods_of_other_schedulers "B30";
    b31_empty_node_selector_terms "B31";
    b32_selectors_that_say_nothing "B32";
    b33_comparisons_with_what_is_no_integer "B33";
    b34_absent_and_empty_selectors "B34";
    b35_label_keys_that_the_pod_lacks "B35";
    b36_label_values "B36";
    b37_names "B37";
    b38_nul_in_a_name "B38";
    b39_host_ports "B39";
    b40_host_addresses_and_protocols "B40";
    b41_tolerations "B41";
    b42_skews_domains_and_weights "B42";
    b43_required_affinity_to_itself "B43";
    b44_pods_that_have_a_node "B44";
    b45_one_name_twice "B45";
    b46_one_uid_under_two_names "B46";
    b47_objects_that_lack_a_part "B47";
    b48_classes_that_are_not_there "B48";
    b49_resource_versions "B49";
    b50_terminal_escapes "B50";
}

fn node(name: &str) -> Value {
    let allocatable = json!({"cpu": "4", "memory": "8Gi", "pods": "10"});
    json!({"metadata": {"name": name, "labels": {"name": name}}, "status": {"allocatable": allocatable}})
}

fn pod(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    spec["containers"] = json!([{"name": "c", "resources": {"requests": {"cpu": "3"}}}]);
    json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

fn of_kind(kind: &str, mut object: Value) -> Value {
    object["apiVersion"] = json!("v1");
    object["kind"] = json!(kind);
    object
}

/// The objects in an intake, with the pods that wait.
fn load(objects: &[Value]) -> (Intake, Vec<PodId>) {
    let config = KubeSchedulerConfiguration::default();
    let mut intake = Intake::new(config, VERDICTS, None).expect("the default configuration");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let document = serde_json::from_value(list).expect("any value");
    let loaded = intake.load(vec![Decoded::from_value(document)]);
    let pending = loaded.expect("the objects are right").pending;
    (intake, pending)
}

fn replay(nodes: &[&str]) -> Replay {
    let mut replay = Replay::new(None, VERDICTS, 4, 8);
    for name in nodes {
        replay.add("Node", &node(name));
    }
    replay
}

/// Each of a million letters, whatever they say.
#[test]
fn b14_texts_of_a_megabyte_are_answered() {
    let (digits, zeros) = ("9".repeat(1_000_000), "0".repeat(1_000_000));
    let saturated = Some(i64::MAX);
    for (text, value) in [
        (digits.clone(), saturated),
        (format!("{digits}Ki"), saturated),
        (format!("1{zeros}"), saturated),
        (format!("{zeros}1"), Some(1)),
        (format!(".{zeros}1"), Some(1)),
        (format!("-.{zeros}1"), Some(-1)),
        (format!("1e{zeros}3"), Some(1000)),
        (format!("1E+{zeros}3"), Some(1000)),
        (format!("1000e-{zeros}3"), Some(1)),
        (format!("1e-{zeros}9000000000000000000"), Some(1)),
        (format!("1e{zeros}9000000000000000000"), saturated),
        (format!("-1e{zeros}9000000000000000000"), Some(i64::MIN)),
        (format!("0e{zeros}9000000000000000000"), Some(0)),
        // What one end says, the other takes back.
        (format!("1{zeros}e-1000000"), Some(1)),
        (format!(".{zeros}5e1000001"), Some(5)),
        (format!("1e{digits}"), None),
        (format!("1e-{digits}"), None),
        ("e".repeat(1_000_000), None),
        ("+".repeat(1_000_000), None),
        (" ".repeat(1_000_000), None),
    ] {
        let read = Quantity::parse(&text).map(Quantity::value).ok();
        let start = text.get(..20).unwrap_or(&text);
        assert_eq!(read, value, "{start}..");
    }
}

#[test]
fn b30_a_scheduler_s_name_of_64_kilobytes_is_skipped_and_not_kept() {
    let plain = of_kind("Pod", pod("plain", json!({})));
    let mut objects = vec![of_kind("Node", node("n1")), plain];
    let (intake, _) = load(&objects);
    let without = intake.scheduler().state_hash();
    let name = "a".repeat(65_536);
    objects.push(of_kind("Pod", pod("p", json!({"schedulerName": name}))));
    let (intake, pending) = load(&objects);
    assert_eq!((pending.len(), intake.scheduler().pods().count()), (1, 1));
    assert_eq!(intake.scheduler().state_hash(), without);
}

#[test]
fn b17_priorities_are_compared_without_a_difference() {
    let pods: Vec<Value> = [("low", i32::MIN), ("none", 0), ("high", i32::MAX)]
        .into_iter()
        .map(|(name, priority)| of_kind("Pod", pod(name, json!({"priority": priority}))))
        .collect();
    let (intake, _) = load(&pods);
    let scheduler = intake.scheduler();
    let names: Vec<&str> = intake
        .queue()
        .iter()
        .map(|pod| scheduler.pod_name(*pod).1)
        .collect();
    assert_eq!(names, ["high", "none", "low"]);
}

#[test]
fn b17_the_weights_of_many_terms_do_not_overflow() {
    // 20,000 x 100 for n1, 20,000 x 1 for n2; normalized to 100 and 1 of 100, weight 2.
    let terms = |name: &str, weight: i32| {
        let term = json!({"weight": weight, "preference": {"matchExpressions": [
            {"key": "name", "operator": "In", "values": [name]}]}});
        vec![term; 20_000]
    };
    let mut preferred = terms("n1", 100);
    preferred.extend(terms("n2", 1));
    let affinity = json!({"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": preferred}});
    let mut objects = vec![of_kind("Pod", pod("p", json!({"affinity": affinity})))];
    objects.extend(["n1", "n2"].map(|name| of_kind("Node", node(name))));
    let (mut intake, pending) = load(&objects);
    let (_, record) = intake.explain(pending[0], Detail::Full);
    let scores = record.scores.expect("two nodes are scored");
    let of = |name: &str| {
        let score = scores.iter().find(|score| score.node == name);
        score.map(|score| score.plugins["NodeAffinity"])
    };
    assert_eq!((of("n1"), of("n2")), (Some(200), Some(2)));
}

#[test]
fn b51_another_uid_is_another_pod() {
    let mut replay = replay(&["n1"]);
    let with_uid = |uid: &str| {
        let mut pod = pod("p", json!({}));
        pod["metadata"]["uid"] = json!(uid);
        pod
    };
    let id = replay.add_pod(&with_uid("one"));
    replay.scheduler.schedule(id);
    assert!(replay.scheduler.node_of(id).is_some());
    // The same pod, seen again without its node, keeps what was assumed of it.
    replay.apply(Change::Modified, &object("Pod", &with_uid("one")));
    assert!(replay.scheduler.node_of(id).is_some());
    replay.apply(Change::Modified, &object("Pod", &with_uid("two")));
    assert_eq!(replay.scheduler.node_of(id), None);
    assert!(replay.scheduler.waits(id));
    let node = replay.scheduler.find_node("n1").expect("n1");
    assert_eq!(replay.scheduler.node(node).pods, 0);
    let before = replay.scheduler.state_hash();
    // Deleted and added says the same.
    replay.remove_pod(&with_uid("two"));
    replay.add_pod(&with_uid("two"));
    assert_eq!(replay.scheduler.state_hash(), before);
}

/// So many pods, one after another, each with a label value that no pod had before.
#[test]
fn b25_the_texts_of_pods_that_are_gone_are_given_back() {
    let mut replay = replay(&["n1"]);
    let texts = replay.scheduler.capacities().texts;
    let empty = replay.scheduler.state_hash();
    for number in 0..2 * texts {
        let mut pod = pod("p", json!({}));
        pod["metadata"]["labels"] = json!({"id": format!("value-{number}")});
        let id = replay.add_pod(&pod);
        replay.scheduler.schedule(id);
        replay.remove_pod(&pod);
    }
    assert_eq!(replay.scheduler.state_hash(), empty);
}

#[test]
fn b27_annotations_and_managed_fields_take_no_room() {
    let plain = pod("p", json!({}));
    let mut large = plain.clone();
    let text = "x".repeat(1_400_000);
    large["metadata"]["annotations"] = json!({"a": text});
    large["metadata"]["managedFields"] = json!([{"manager": text}]);
    assert_eq!(object("Pod", &large), object("Pod", &plain));
}

#[test]
fn b28_image_names_are_equal_in_every_form_upstream_takes() {
    let mut replay = replay(&["n2"]);
    let mut n1 = node("n1");
    let digest = format!("registry.example:5000/a/web@sha256:{}", "0".repeat(64));
    n1["status"]["images"] = json!([
        {"names": [digest, "registry.example:5000/a/web:latest", "UPPER/Case:1"], "sizeBytes": 900_000_000},
    ]);
    replay.add("Node", &n1);
    for (image, is_there) in [
        ("registry.example:5000/a/web", true),
        ("registry.example:5000/a/web:latest", true),
        (digest.as_str(), true),
        ("UPPER/Case:1", true),
        ("upper/case:1", false),
        ("registry.example:5000/a/web:other", false),
    ] {
        let mut pod = pod("p", json!({}));
        pod["spec"]["containers"][0]["image"] = json!(image);
        let id = replay.add_pod(&pod);
        let decision = replay.scheduler.schedule(id);
        let scores = replay
            .answer(&decision)
            .scores
            .expect("two nodes are scored");
        let score = scores.iter().find(|score| score.node == "n1").expect("n1");
        assert_eq!(score.plugins["ImageLocality"] > 0, is_there, "{image}");
        replay.remove_pod(&pod);
    }
}
