//! Shapes that one object of a tenant may have, at n, 2n and 4n: the work grows at most 2.2 times a
//! doubling (B18 to B28).
//!
//! Work is counted in instructions of the whole command, as valgrind's cachegrind counts them: the
//! same on every run, whatever else the machine does, and without a counter in the code that is
//! judged. What does not grow with n is taken off by comparing differences.

use berth_test_support::command::{berth, tool};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// Growth of the work when the shape doubles, at most.
const GROWTH_MAX: f64 = 2.2;
/// How much more the same pods may cost beside an attacker's.
const NEIGHBOUR_MAX: f64 = 1.1;

/// Instructions of `berth simulate` over these objects; `None` without valgrind.
fn work(objects: &[Value]) -> Option<u64> {
    let mut command = tool("valgrind", "apt-get install valgrind")?;
    let mut child = command
        .args([
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
        ])
        .arg(berth().get_program())
        .args(["simulate", "-f", "-", "-o", "name", "--preemption=false"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("valgrind starts");
    let text = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("valgrind ends");
    writer.join().expect("no panic").expect("the input is read");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}: {stderr}");
    let line = stderr.lines().find(|line| line.contains("refs:"));
    let digits = line.and_then(|line| line.split("refs:").nth(1));
    let digits: String = digits
        .unwrap_or_else(|| panic!("no count in {stderr}"))
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    Some(digits.parse().expect("a count"))
}

/// Checks the growth from `n` to 2n to 4n.
fn grows_linearly(n: usize, shape: impl Fn(usize) -> Vec<Value>) {
    let mut counts = Vec::new();
    for n in [n, 2 * n, 4 * n] {
        let Some(count) = work(&shape(n)) else {
            return;
        };
        counts.push(count as f64);
    }
    let growth = (counts[2] - counts[1]) / (counts[1] - counts[0]);
    println!("{counts:?}: each doubling adds {growth:.2} times what the one before added");
    assert!(growth <= GROWTH_MAX, "{counts:?}: {growth:.2}");
    for pair in counts.windows(2) {
        assert!(pair[1] / pair[0] <= GROWTH_MAX, "{counts:?}");
    }
}

fn node(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "10000", "memory": "10Ti", "pods": "100000"}}})
}

fn nodes() -> Vec<Value> {
    ["n1", "n2", "n3"]
        .map(|name| node(name, json!({"kubernetes.io/hostname": name, "zone": name})))
        .into()
}

fn pod(name: &str, spec: Value) -> Value {
    let mut spec = spec;
    if spec.get("containers").is_none() {
        spec["containers"] = json!([{"name": "c"}]);
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
        "spec": spec})
}

/// The three nodes, this pod, and one that asks for nothing special.
fn with(spec: Value) -> Vec<Value> {
    let mut objects = nodes();
    objects.extend([pod("shape", spec), pod("plain", json!({}))]);
    objects
}

fn list(n: usize, entry: impl Fn(usize) -> Value) -> Value {
    (0..n).map(entry).collect()
}

fn map(n: usize, entry: impl Fn(usize) -> (String, Value)) -> Value {
    Value::Object((0..n).map(entry).collect())
}

/// Terms of pod affinity, each with a selector of its own.
fn pod_terms(n: usize) -> impl Iterator<Item = Value> {
    (0..n).map(|i| {
        json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": format!("t{i}")}}})
    })
}

fn anti_affinity(kind: &str, terms: Value) -> Value {
    let kind = format!("{kind}DuringSchedulingIgnoredDuringExecution");
    json!({"affinity": {"podAntiAffinity": {kind: terms}}})
}

fn node_affinity(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": terms}}}})
}

#[test]
fn b18_preferred_anti_affinity_terms() {
    grows_linearly(500, |n| {
        let terms = pod_terms(n).map(|term| json!({"weight": 1, "podAffinityTerm": term}));
        with(anti_affinity("preferred", terms.collect()))
    });
}

/// Twenty pods with so many required terms each.
fn repelling(n: usize) -> impl Iterator<Item = Value> {
    (0..20).map(move |i| {
        let mut spec = anti_affinity("required", pod_terms(n).collect());
        spec["nodeName"] = json!("n1");
        pod(&format!("repelling-{i}"), spec)
    })
}

#[test]
fn b19_required_anti_affinity_terms() {
    grows_linearly(100, |n| {
        let mut objects = nodes();
        objects.extend(repelling(n));
        objects
    });
}

#[test]
fn b19_plain_pods_do_not_pay_for_required_terms() {
    let cost_of_plain_pods = |attackers: &dyn Fn() -> Vec<Value>| {
        let mut objects = nodes();
        objects.extend(attackers());
        let without = work(&objects)?;
        objects.extend((0..100).map(|i| pod(&format!("plain-{i}"), json!({}))));
        Some(work(&objects)?.saturating_sub(without) as f64)
    };
    let Some(alone) = cost_of_plain_pods(&Vec::new) else {
        return;
    };
    let beside = cost_of_plain_pods(&|| repelling(400).collect()).expect("valgrind is there");
    println!("100 plain pods: {alone} instructions alone, {beside} beside 20 pods of 400 terms");
    assert!(beside <= alone * NEIGHBOUR_MAX, "{alone}, {beside}");
}

#[test]
fn b20_tolerations() {
    let tolerations = |n| json!({"tolerations": list(n, |i| json!({"key": format!("k{i}"), "operator": "Exists"}))});
    grows_linearly(1000, |n| with(tolerations(n)));
}

#[test]
fn b20_taints_and_tolerations() {
    grows_linearly(300, |n| {
        let tolerations = list(n, |i| json!({"key": format!("k{i}"), "operator": "Exists"}));
        let mut objects = with(json!({"tolerations": tolerations}));
        objects[0]["spec"] = json!({"taints": list(n, |i| {
            json!({"key": format!("k{}", n - 1 - i), "effect": "NoSchedule"})
        })});
        objects
    });
}

#[test]
fn b21_spread_constraints_with_keys_of_their_own() {
    grows_linearly(200, |n| {
        with(json!({"topologySpreadConstraints": list(n, |i| json!({
            "maxSkew": 1, "topologyKey": format!("key-{i}"), "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }))}))
    });
}

#[test]
fn b22_values_of_an_expression() {
    grows_linearly(1000, |n| {
        let values = list(n, |i| json!(format!("v{i}")));
        let expression = json!({"key": "zone", "operator": "In", "values": values});
        with(node_affinity(json!([{"matchExpressions": [expression]}])))
    });
}

#[test]
fn b22_terms_with_a_hundred_expressions() {
    grows_linearly(20, |n| {
        let term = json!({"matchExpressions": list(100, |i| json!({
            "key": format!("k{i}"), "operator": "DoesNotExist"}))});
        let last =
            json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["n9"]}]});
        // No term matches, so all are looked at.
        let refused = |_| {
            let mut term = term.clone();
            let expressions = term["matchExpressions"].as_array_mut().expect("a list");
            expressions.extend(last["matchExpressions"].as_array().expect("a list").clone());
            term
        };
        with(node_affinity(list(n, refused)))
    });
}

#[test]
fn b23_containers() {
    grows_linearly(250, |n| {
        with(json!({"containers": list(n, |i| json!({
            "name": format!("c{i}"), "image": format!("image-{i}"),
            "resources": {"requests": {"cpu": "1m"}},
        }))}))
    });
}

#[test]
fn b23_host_ports() {
    grows_linearly(500, |n| {
        let ports = |first: usize| {
            let ports = list(n, |i| json!({"containerPort": 1, "hostPort": first + i}));
            json!({"containers": [{"name": "c", "ports": ports}]})
        };
        // On one node, so that each of the ports meets the others'.
        let mut objects = vec![nodes().remove(0)];
        objects.extend([pod("one", ports(1)), pod("two", ports(30_000))]);
        objects
    });
}

#[test]
fn b23_labels_and_what_selects_them() {
    grows_linearly(500, |n| {
        let mut shape = pod(
            "shape",
            anti_affinity(
                "required",
                json!([{"topologyKey": "zone", "labelSelector": {
                    "matchExpressions": list(n, |i| json!({
                        "key": format!("absent-{i}"), "operator": "DoesNotExist"})),
                }}]),
            ),
        );
        shape["metadata"]["labels"] = map(n, |i| (format!("l{i}"), json!("v")));
        let mut objects = nodes();
        objects.push(shape);
        objects
    });
}

#[test]
fn b24_extended_resources() {
    grows_linearly(250, |n| {
        let requests = map(n, |i| (format!("example.com/r{i}"), json!("1")));
        with(json!({"containers": [{"name": "c", "resources": {
            "requests": requests.clone(), "limits": requests}}]}))
    });
}

#[test]
fn b26_zones_of_one_node_each() {
    grows_linearly(250, |n| {
        let mut objects: Vec<Value> = (0..n)
            .map(|i| {
                let zone = format!("z{i}");
                let labels = json!({"topology.kubernetes.io/zone": zone, "zone": zone});
                node(&format!("n{i}"), labels)
            })
            .collect();
        objects.push(pod(
            "spread",
            json!({"topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "x"}},
            }]}),
        ));
        objects
    });
}

#[test]
fn b27_annotations() {
    grows_linearly(20_000, |n| {
        let mut objects = with(json!({}));
        objects[3]["metadata"]["annotations"] = json!({"a": "x".repeat(n)});
        objects
    });
}

#[test]
fn b28_images_of_a_node() {
    grows_linearly(500, |n| {
        let mut objects = with(json!({"containers": [{"name": "c", "image": "image-7"}]}));
        objects[0]["status"]["images"] = list(n, |i| {
            json!({
                "names": [format!("image-{i}:latest"), format!("Registry.example:5000/{}/{i}", "x".repeat(500))],
                "sizeBytes": 1_000_000,
            })
        });
        objects
    });
}
