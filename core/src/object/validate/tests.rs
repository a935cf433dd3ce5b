use super::*;
use crate::object::decode::decode;
use alloc::format;

/// The problems of an object, as `field: problem`.
fn problems(kind: &str, json: &str) -> Vec<String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let object = decode(kind, &mut reader).unwrap().unwrap();
    let problems = validate(&object).into_iter();
    problems
        .map(|invalid| format!("{}: {}", invalid.field, invalid.problem))
        .collect()
}

/// The fields that are wrong in a pod of this spec.
fn wrong(spec: &str) -> Vec<String> {
    let pod = format!(
        r#"{{"metadata": {{"name": "a", "labels": {{"app": "web"}}}}, "spec": {{"containers": [{{}}], {spec}}}}}"#
    );
    let problems = problems("Pod", &pod).into_iter();
    problems
        .map(|problem| problem.split(": ").next().unwrap_or_default().into())
        .collect()
}

fn wrong_container(container: &str) -> Vec<String> {
    let pod = format!(
        r#"{{"metadata": {{"name": "a"}}, "spec": {{"containers": [{{}}, {container}]}}}}"#
    );
    let problems = problems("Pod", &pod).into_iter();
    problems
        .map(|problem| problem.split(": ").next().unwrap_or_default().into())
        .collect()
}

#[test]
fn b7_b15_requests_are_not_negative_and_extended_ones_whole() {
    let requests = r#"{"resources": {"requests":
        {"cpu": "-1", "memory": "1.5", "foo": "0.5", "nvidia.com/gpu": "500m"}}}"#;
    assert_eq!(
        wrong_container(requests),
        [
            "spec.containers[1].resources.requests.cpu",
            "spec.containers[1].resources.requests[nvidia.com/gpu]"
        ]
    );
}

#[test]
fn b4_an_extended_request_beyond_every_limit_is_no_fraction() {
    let requests = r#"{"resources": {"requests": {"nvidia.com/gpu": "1e30"}}}"#;
    assert!(wrong_container(requests).is_empty());
}

#[test]
fn b16_pod_level_requests_cover_the_containers() {
    let pod = |cpu| {
        format!(
            r#"{{"metadata": {{"name": "a"}}, "spec": {{"resources": {{"requests": {{"cpu": "{cpu}"}}}},
            "containers": [{{"resources": {{"requests": {{"cpu": "1"}}}}}},
                           {{"resources": {{"limits": {{"cpu": "500m"}}}}}}]}}}}"#
        )
    };
    assert_eq!(problems("Pod", &pod("1499m")).len(), 1);
    assert!(problems("Pod", &pod("1500m")).is_empty());
}

#[test]
fn b31_b32_b33_node_selector_terms() {
    let affinity = |terms: &str| {
        format!(
            r#""affinity": {{"nodeAffinity": {{"requiredDuringSchedulingIgnoredDuringExecution":
            {{"nodeSelectorTerms": {terms}}}}}}}"#
        )
    };
    let path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    assert_eq!(wrong(&affinity("[]")), [path]);
    assert!(wrong(&affinity("[{}]")).is_empty());
    for value in ["abc", "007", "+5", "9223372036854775808"] {
        let term = format!(
            r#"[{{"matchExpressions": [{{"key": "a", "operator": "Gt", "values": ["{value}"]}}]}}]"#
        );
        assert!(wrong(&affinity(&term)).is_empty(), "{value}");
    }
    let bad = r#"[{"matchExpressions": [
        {"key": "a", "operator": "In", "values": []}, {"key": "a", "operator": "Is"}]}]"#;
    let expressions = format!("{path}[0].matchExpressions");
    assert_eq!(
        wrong(&affinity(bad)),
        [
            format!("{expressions}[0].values"),
            format!("{expressions}[1].operator")
        ]
    );
}

#[test]
fn b36_b37_names_and_labels() {
    let node = r#"{"metadata": {"name": "Node_1", "labels": {"a": "bad key!", "é": ""}}}"#;
    let found = problems("Node", node);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].starts_with("metadata.name: \"Node_1\" must be"),
        "{found:?}"
    );
    assert!(problems("Node", r#"{"metadata": {"name": "x.y"}}"#).is_empty());
    assert_eq!(
        problems("Node", r#"{"metadata": {}}"#),
        ["metadata.name: is missing"]
    );
}

#[test]
fn b39_b40_ports_and_protocols() {
    let ports = |ports| wrong_container(&format!(r#"{{"ports": [{ports}]}}"#));
    assert_eq!(
        ports(r#"{"hostPort": 70000, "containerPort": 1}"#),
        ["spec.containers[1].ports[0].hostPort"]
    );
    assert_eq!(
        ports(r#"{"protocol": "X"}"#),
        ["spec.containers[1].ports[0].protocol"]
    );
    let twice = r#"{"hostPort": 80, "hostIP": "999.1.1.1"}, {"hostPort": 80}, {"hostPort": 0}"#;
    assert!(ports(twice).is_empty());
}

#[test]
fn b41_b42_tolerations_weights_and_spreading() {
    let tolerations = r#""tolerations": [{"operator": "Exists"}, {"key": "a", "operator": "Gt", "value": "1"},
        {"key": "a", "operator": "Lik"}, {"value": "x"}, {"key": "a", "effect": "Never"}]"#;
    assert_eq!(
        wrong(tolerations),
        [
            "spec.tolerations[2].operator",
            "spec.tolerations[3].operator",
            "spec.tolerations[4].effect"
        ]
    );
    let weights = r#""affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 0, "podAffinityTerm": {"topologyKey": "a"}},
        {"weight": 100, "podAffinityTerm": {}}]}}"#;
    let path = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution";
    assert_eq!(
        wrong(weights),
        [
            format!("{path}[0].weight"),
            format!("{path}[1].podAffinityTerm.topologyKey")
        ]
    );
    let spreading = r#""topologySpreadConstraints": [
        {"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway"},
        {"maxSkew": 2147483647, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 0}]"#;
    assert_eq!(
        wrong(spreading),
        [
            "spec.topologySpreadConstraints[0].maxSkew",
            "spec.topologySpreadConstraints[1].minDomains"
        ]
    );
}

#[test]
fn b35_match_label_keys_stand_in_the_selector_only_as_merged() {
    let spreading = |expressions| {
        wrong(&format!(
            r#""topologySpreadConstraints": [{{"maxSkew": 1, "topologyKey": "a",
            "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["app", "absent"],
            "labelSelector": {{"matchExpressions": {expressions}}}}}]"#
        ))
    };
    assert!(spreading("[]").is_empty());
    assert!(spreading(r#"[{"key": "app", "operator": "In", "values": ["web"]}]"#).is_empty());
    assert!(spreading(r#"[{"key": "absent", "operator": "Exists"}]"#).is_empty());
    assert_eq!(
        spreading(r#"[{"key": "app", "operator": "Exists"}]"#).len(),
        1
    );
}

#[test]
fn b47_b59_pods_have_containers_and_workloads_templates() {
    assert_eq!(
        problems("Pod", r#"{"metadata": {"name": "a"}}"#),
        ["spec.containers: must have at least one container"]
    );
    assert!(problems("Node", r#"{"metadata": {"name": "a"}}"#).is_empty());
    let deployment = r#"{"metadata": {"name": "a"}, "spec": {"replicas": -1}}"#;
    assert_eq!(
        problems("Deployment", deployment),
        [
            "spec.replicas: -1 must be 0 or more",
            "spec.template: is missing"
        ]
    );
    let job = r#"{"metadata": {"name": "a"}, "spec": {"jobTemplate": {"spec": {"template":
        {"spec": {"tolerations": [{}]}}}}}}"#;
    let found = problems("CronJob", job);
    assert!(
        found[0].starts_with("spec.jobTemplate.spec.template.spec.tolerations[0]"),
        "{found:?}"
    );
}

#[test]
fn a_selector_must_select_its_template() {
    let set = |label| {
        format!(
            r#"{{"metadata": {{"name": "a"}}, "spec": {{"selector": {{"matchLabels": {{"app": "web"}}}},
            "template": {{"metadata": {{"labels": {{"app": "{label}"}}}}}}}}}}"#
        )
    };
    assert!(problems("ReplicaSet", &set("web")).is_empty());
    assert_eq!(problems("ReplicaSet", &set("db")).len(), 1);
}
