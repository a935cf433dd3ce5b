use super::*;
use crate::object::decode::Decoded;

fn object(json: &str) -> Object {
    match serde_json::from_str(json).unwrap() {
        Decoded::Object(object) => *object,
        other => panic!("no object: {other:?}"),
    }
}

/// A workload of the namespace `ns` with the given spec, `TEMPLATE` being a template.
fn workload(kind: &str, spec: &str) -> Object {
    let api_version = match kind {
        "ReplicationController" => "v1",
        "Job" | "CronJob" => "batch/v1",
        _ => "apps/v1",
    };
    let template = r#""template": {"metadata": {"labels": {"app": "web"}}, "spec": {
        "containers": [{}], "volumes": [{"name": "data", "emptyDir": {}}, {"name": "other", "emptyDir": {}}]}}"#;
    let spec = spec.replace("TEMPLATE", template);
    object(&format!(
        r#"{{"apiVersion": "{api_version}", "kind": "{kind}", "metadata": {{"name": "web", "namespace": "ns"}}, "spec": {{{spec}}}}}"#
    ))
}

fn pods(object: &Object, nodes: &[&Node]) -> Vec<Pod> {
    let expansion = Expansion::of(object, nodes).unwrap();
    let first = expansion.first_ordinal();
    let all = 0..expansion.count();
    all.map(|index| expansion.pod(index, first + index))
        .collect()
}

fn counts(kind: &str, spec: &str) -> u64 {
    Expansion::of(&workload(kind, spec), &[]).unwrap().count()
}

#[test]
fn b59_absent_replicas_are_one() {
    assert_eq!(counts("ReplicaSet", "TEMPLATE"), 1);
    assert_eq!(
        counts("ReplicationController", r#""replicas": 0, TEMPLATE"#),
        0
    );
    assert_eq!(
        counts("StatefulSet", r#""replicas": 2147483647, TEMPLATE"#),
        2_147_483_647
    );
}

#[test]
fn a_job_makes_as_many_pods_as_run_at_once() {
    assert_eq!(counts("Job", "TEMPLATE"), 1);
    assert_eq!(counts("Job", r#""parallelism": 5, TEMPLATE"#), 5);
    assert_eq!(
        counts("Job", r#""parallelism": 5, "completions": 3, TEMPLATE"#),
        3
    );
    assert_eq!(counts("Job", r#""completions": 1000000000, TEMPLATE"#), 1);
    assert_eq!(counts("Job", r#""suspend": true, TEMPLATE"#), 0);
    assert_eq!(
        counts("CronJob", r#""jobTemplate": {"spec": {TEMPLATE}}"#),
        1
    );
    assert_eq!(
        counts(
            "CronJob",
            r#""suspend": true, "jobTemplate": {"spec": {TEMPLATE}}"#
        ),
        0
    );
}

#[test]
fn a_deployments_pods_belong_to_its_implied_replica_set() {
    let deployment = workload(
        "Deployment",
        r#""replicas": 2, "selector": {"matchLabels": {"app": "web"}}, TEMPLATE"#,
    );
    let pods = pods(&deployment, &[]);
    assert_eq!(pods[1].metadata.name, "web-1");
    assert_eq!(pods[1].metadata.uid, "ns-web-1");
    let owner = pods[1].metadata.controller().unwrap();
    assert_eq!(
        (&*owner.api_version, &*owner.kind, &*owner.name),
        ("apps/v1", "ReplicaSet", "web")
    );
    let Object::Deployment(deployment) = &deployment else {
        panic!("no Deployment");
    };
    let set = implied_replica_set(deployment);
    assert_eq!(set.metadata.uid, owner.uid);
    assert_eq!(set.spec.selector, deployment.spec.selector);
    assert_eq!(pods[0].metadata.labels["app"], "web");
    assert_eq!(
        pods[0].metadata.labels["pod-template-hash"],
        pods[1].metadata.labels["pod-template-hash"]
    );
}

#[test]
fn a_stateful_set_numbers_its_pods_and_gives_them_claims() {
    let set = workload(
        "StatefulSet",
        r#""replicas": 2, "ordinals": {"start": 3}, "volumeClaimTemplates": [{"metadata": {"name": "data"}}], TEMPLATE"#,
    );
    let pods = pods(&set, &[]);
    assert_eq!(pods[1].metadata.name, "web-4");
    assert_eq!(
        pods[1].metadata.labels["statefulset.kubernetes.io/pod-name"],
        "web-4"
    );
    let volumes: Vec<_> = pods[0]
        .spec
        .volumes
        .iter()
        .map(|volume| (&*volume.name, volume.source.keys().next().unwrap().as_str()))
        .collect();
    assert_eq!(
        pods[1].spec.volumes[0].source["persistentVolumeClaim"].claim_name,
        "data-web-4"
    );
    assert_eq!(
        volumes,
        [("data", "persistentVolumeClaim"), ("other", "emptyDir")]
    );
}

#[test]
fn a_daemon_set_makes_a_pod_for_each_eligible_node() {
    let node = |name: &str, spec: &str| {
        let json = format!(
            r#"{{"metadata": {{"name": "{name}", "labels": {{"os": "linux", "cpus": "8"}}}}, "spec": {spec}}}"#
        );
        serde_json::from_str::<Node>(&json).unwrap()
    };
    let nodes = [
        node("plain", "{}"),
        node(
            "cordoned",
            r#"{"unschedulable": true, "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}"#,
        ),
        node(
            "tainted",
            r#"{"taints": [{"key": "gpu", "effect": "NoSchedule"}]}"#,
        ),
        node(
            "disliked",
            r#"{"taints": [{"key": "gpu", "effect": "PreferNoSchedule"}]}"#,
        ),
    ];
    let nodes: Vec<&Node> = nodes.iter().collect();
    let affinity = |expression: &str| {
        let template = format!(
            r#""template": {{"spec": {{"nodeSelector": {{"os": "linux"}}, "affinity": {{"nodeAffinity":
            {{"requiredDuringSchedulingIgnoredDuringExecution": {{"nodeSelectorTerms": [{{"matchExpressions": [{expression}]}}]}}}}}}}}}}"#
        );
        pods(&workload("DaemonSet", &template), &nodes)
    };
    let made = affinity(r#"{"key": "cpus", "operator": "Gt", "values": ["4"]}"#);
    let on: Vec<_> = made
        .iter()
        .map(|pod| {
            let affinity = pod
                .spec
                .affinity
                .as_ref()
                .unwrap()
                .node_affinity
                .as_ref()
                .unwrap();
            let term = &affinity.required.as_ref().unwrap().node_selector_terms[0];
            assert!(term.match_expressions.is_empty());
            (&*pod.metadata.name, &*term.match_fields[0].values[0])
        })
        .collect();
    assert_eq!(
        on,
        [
            ("web-0", "plain"),
            ("web-1", "cordoned"),
            ("web-2", "disliked")
        ]
    );
    assert_eq!(made[0].spec.tolerations.len(), 6);
    assert!(affinity(r#"{"key": "cpus", "operator": "Lt", "values": ["abc"]}"#).is_empty());
    assert!(affinity("").is_empty());
}
