use super::*;
use crate::object::decode::{Decoded, decode};
use alloc::boxed::Box;

fn object(json: &str) -> Object {
    match serde_json::from_str(json).unwrap() {
        Decoded::Object(object) => *object,
        other => panic!("no object: {other:?}"),
    }
}

fn pod(json: &str) -> Box<Pod> {
    let mut reader = serde_json::Deserializer::from_str(json);
    match decode("Pod", &mut reader).unwrap() {
        Some(Object::Pod(pod)) => pod,
        other => panic!("no pod: {other:?}"),
    }
}

fn amount(text: &str) -> crate::Quantity {
    serde_json::from_str(&format!("{text:?}")).unwrap()
}

#[test]
fn requests_come_from_limits_and_limit_ranges() {
    let range = object(
        r#"{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [
        {"type": "Pod", "default": {"cpu": "9"}},
        {"type": "Container", "defaultRequest": {"cpu": "100m"}, "max": {"memory": "2Gi"}}]}}"#,
    );
    let mut pod = pod(r#"{"spec": {"containers": [{"resources": {"limits": {"cpu": "2"}}}, {}]}}"#);
    Defaults::new([&range]).apply(&mut pod).unwrap();
    let requests = |index: usize| {
        pod.spec.containers[index]
            .resources
            .requests
            .clone()
            .unwrap()
    };
    assert_eq!(requests(0)["cpu"], amount("2"));
    assert_eq!(requests(0)["memory"], amount("2Gi"));
    assert_eq!(requests(1)["cpu"], amount("100m"));
}

#[test]
fn pod_level_limits_become_requests_unless_containers_request() {
    let mut pod = pod(
        r#"{"spec": {"resources": {"limits": {"cpu": "4", "memory": "4Gi"}},
        "containers": [{"resources": {"requests": {"cpu": "1"}}}]}}"#,
    );
    Defaults::default().apply(&mut pod).unwrap();
    let requests = pod.spec.resources.unwrap().requests.unwrap();
    assert_eq!(requests.get("cpu"), None);
    assert_eq!(requests["memory"], amount("4Gi"));
}

#[test]
fn ports_get_their_protocol_and_host_network_its_ports() {
    let mut pod = pod(
        r#"{"spec": {"hostNetwork": true, "containers": [{"ports": [{"containerPort": 80}]}]}}"#,
    );
    Defaults::default().apply(&mut pod).unwrap();
    let port = &pod.spec.containers[0].ports[0];
    assert_eq!((port.host_port, &*port.protocol), (80, "TCP"));
    assert_eq!(pod.metadata.namespace, "default");
    assert_eq!(pod.spec.scheduler_name, "default-scheduler");
}

#[test]
fn nodes_in_trouble_are_tolerated_for_a_while() {
    let mut pod = pod(
        r#"{"spec": {"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}}"#,
    );
    let mut defaults = Defaults::default();
    defaults.apply(&mut pod).unwrap();
    let keys: Vec<_> = pod
        .spec
        .tolerations
        .iter()
        .map(|one| one.key.clone())
        .collect();
    assert_eq!(keys, TOLERATED_FOR_A_WHILE);
    let once = pod.clone();
    defaults.apply(&mut pod).unwrap();
    assert_eq!(pod, once);
}

#[test]
fn b48_priority_comes_from_the_class_or_the_global_default() {
    let class = |name, value, default| {
        object(&format!(
            r#"{{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {{"name": "{name}"}},
            "value": {value}, "globalDefault": {default}, "preemptionPolicy": "Never"}}"#
        ))
    };
    let classes = [class("high", 1000, false), class("usual", 10, true)];
    let mut defaults = Defaults::new(&classes);
    let mut priority = |spec: &str| {
        let mut pod = pod(&format!(r#"{{"spec": {{{spec}}}}}"#));
        defaults.apply(&mut pod).unwrap();
        (pod.spec.priority.unwrap(), pod.spec.preemption_policy)
    };
    let never = || "Never".to_owned();
    let usual = || "PreemptLowerPriority".to_owned();
    assert_eq!(priority(r#""priorityClassName": "high""#), (1000, never()));
    assert_eq!(priority(""), (10, never()));
    assert_eq!(
        priority(r#""priorityClassName": "system-node-critical""#),
        (2_000_001_000, usual())
    );
    assert_eq!(priority(r#""priority": 5"#), (5, usual()));
    assert_eq!(priority(r#""priorityClassName": "gone""#), (10, never()));
    assert_eq!(priority(r#""priorityClassName": "gone""#), (10, never()));
    assert_eq!(defaults.into_notes().len(), 1);
}

#[test]
fn b48_a_runtime_class_gives_overhead_selector_and_tolerations() {
    let class = object(
        r#"{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vm"},
        "overhead": {"podFixed": {"memory": "64Mi"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]}}"#,
    );
    let mut defaults = Defaults::new([&class]);
    let mut vm = pod(r#"{"spec": {"runtimeClassName": "vm"}}"#);
    defaults.apply(&mut vm).unwrap();
    assert_eq!(vm.spec.overhead["memory"], amount("64Mi"));
    assert_eq!(vm.spec.node_selector.as_ref().unwrap()["vm"], "yes");
    assert_eq!(vm.spec.tolerations.len(), 3);
    let once = vm.clone();
    defaults.apply(&mut vm).unwrap();
    assert_eq!(vm, once);

    let mut other = pod(r#"{"spec": {"runtimeClassName": "vm", "nodeSelector": {"vm": "no"}}}"#);
    assert_eq!(
        defaults.apply(&mut other).unwrap_err().field,
        "spec.nodeSelector.vm"
    );
    let mut absent = pod(r#"{"spec": {"runtimeClassName": "gone"}}"#);
    assert_eq!(
        defaults.apply(&mut absent).unwrap_err().field,
        "spec.runtimeClassName"
    );
    let mut running =
        pod(r#"{"spec": {"runtimeClassName": "gone"}, "status": {"phase": "Running"}}"#);
    defaults.apply(&mut running).unwrap();
    assert_eq!(defaults.into_notes().len(), 1);
}

#[test]
fn b35_label_keys_are_merged_once_and_absent_labels_skipped() {
    let mut pod = pod(r#"{"metadata": {"labels": {"app": "web"}}, "spec": {
        "topologySpreadConstraints": [{"labelSelector": {}, "matchLabelKeys": ["app", "absent"]},
                                      {"matchLabelKeys": ["app"]}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {}, "mismatchLabelKeys": ["app"]}]}}}}"#);
    let mut defaults = Defaults::default();
    defaults.apply(&mut pod).unwrap();
    let constraints = &pod.spec.topology_spread_constraints;
    let selector = constraints[0].label_selector.as_ref().unwrap();
    assert_eq!(selector.match_expressions.len(), 1);
    assert!(selector.match_expressions[0].is_merged("In", "web"));
    assert_eq!(constraints[1].label_selector, None);
    let affinity = pod.spec.affinity.as_ref().unwrap();
    let term = &affinity.pod_anti_affinity.as_ref().unwrap().required[0];
    let selector = term.label_selector.as_ref().unwrap();
    assert!(selector.match_expressions[0].is_merged("NotIn", "web"));
    let once = pod.clone();
    defaults.apply(&mut pod).unwrap();
    assert_eq!(pod, once);
}

#[test]
fn a_field_behind_a_gate_that_is_off_is_not_kept_in_a_new_pod() {
    let json = |status: &str| {
        let mounts = r#"[{"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}]"#;
        let containers = format!(r#"[{{"name": "c", "volumeMounts": {mounts}}}]"#);
        pod(&format!(
            r#"{{"spec": {{"containers": {containers}}}, "status": {status}}}"#
        ))
    };
    let options = |status: &str| {
        let mut pod = json(status);
        Defaults::default().apply(&mut pod).unwrap();
        pod.spec.containers[0].volume_mounts[0]
            .bind_mount_options
            .len()
    };
    assert_eq!(options("{}"), 0);
    assert_eq!(options(r#"{"phase": "Pending"}"#), 1);
}

#[test]
fn a_list_of_no_preferences_is_none_as_it_is_after_any_encoding() {
    let affinity = r#"{"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}"#;
    let mut pod = pod(&format!(r#"{{"spec": {{"affinity": {affinity}}}}}"#));
    Defaults::default().apply(&mut pod).unwrap();
    let affinity = pod.spec.affinity.unwrap().node_affinity.unwrap();
    assert_eq!(affinity.preferred, None);
}
