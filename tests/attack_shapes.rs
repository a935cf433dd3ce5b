//! Shapes that one object of a tenant may have, at n, 2n and 4n: the work grows at most 2.2 times a
//! doubling (B14, B18 to B28).
//!
//! Work is counted in instructions of the whole command, as valgrind's cachegrind counts them: the
//! same on every run, whatever else the machine does, and without a counter in the code that is
//! judged. What does not grow with n is taken off by comparing differences.

use berth_test_support::command::{berth, tool};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Growth of the work when the shape doubles, at most.
const GROWTH_MAX: f64 = 2.2;
/// How much more the same pods may cost beside an attacker's.
const NEIGHBOUR_MAX: f64 = 1.1;

/// What is told of a text that is read to its end and is none.
const NO_QUANTITY: &str = "is no quantity";

/// Runs `berth simulate` over these objects with a command whose first words are `command`'s.
fn run(mut command: Command, objects: &[Value]) -> Output {
    let mut child = command
        .args(["simulate", "-f", "-", "-o", "name", "--preemption=false"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let text = json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string();
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("no panic").expect("the input is read");
    output
}

/// Instructions of `berth simulate` over these objects; `None` without valgrind.
fn work(objects: &[Value]) -> Option<u64> {
    let mut command = tool("valgrind", "apt-get install valgrind")?;
    command
        .args([
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
        ])
        .arg(berth().get_program());
    let output = run(command, objects);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    let is_answered = matches!(code, Some(0 | 1)) || stderr.contains(NO_QUANTITY);
    assert!(is_answered, "{code:?}: {stderr}");
    let line = stderr.lines().find(|line| line.contains("refs:"));
    let digits = line.and_then(|line| line.split("refs:").nth(1));
    let digits: String = digits
        .unwrap_or_else(|| panic!("no count in {stderr}"))
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    Some(digits.parse().expect("a count"))
}

/// The command ends by itself at this size: every pod has its answer, or the input is refused aloud.
fn ends_well(objects: &[Value]) {
    let output = run(berth(), objects);
    let stderr = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0 | 1) => assert!(!output.stdout.is_empty()),
        Some(2) => assert!(
            stderr.contains("too large") || stderr.contains(NO_QUANTITY),
            "{stderr}"
        ),
        code => panic!("{code:?}: {stderr}"),
    }
}

/// Checks the growth from `n` to 2n to 4n.
fn grows_linearly(n: usize, shape: fn(usize) -> Vec<Value>) {
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

fn node(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "10000", "memory": "10Ti", "pods": "100000"}}})
}

fn nodes() -> Vec<Value> {
    ["n1", "n2", "n3"]
        .map(|name| node(name, &json!({"kubernetes.io/hostname": name, "zone": name})))
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

fn anti_affinity(kind: &str, terms: &Value) -> Value {
    let kind = format!("{kind}DuringSchedulingIgnoredDuringExecution");
    json!({"affinity": {"podAntiAffinity": {kind: terms}}})
}

fn required_affinity(terms: &Value) -> Value {
    json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}})
}

fn node_affinity(terms: &Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": terms}}}})
}

/// Declares for each shape a test of its growth, from the first figure on, and one at the figure of
/// its row.
macro_rules! shapes {
    ($($name:ident $n:literal $full:literal;)+) => {
        mod growth {
            $(#[test] fn $name() { super::grows_linearly($n, super::$name); })+
        }
        mod full_size {
            $(#[test] fn $name() { super::ends_well(&super::$name($full)); })+
        }
    };
}

/// As many topology keys as a scheduler takes: 256 with those that it knows itself.
mod within_the_limit {
    #[test]
    fn b21_spread_constraints_with_keys_of_their_own() {
        super::grows_linearly(50, super::b21_spread_constraints_with_keys_of_their_own);
    }

    #[test]
    fn b21_required_affinity_with_keys_of_its_own() {
        super::grows_linearly(50, super::b21_required_affinity_with_keys_of_its_own);
    }
}

/// More topology keys than a scheduler takes: refused, so there is no growth to look at.
mod beyond_the_limit {
    #[test]
    fn b21_spread_constraints_with_keys_of_their_own() {
        let objects = super::b21_spread_constraints_with_keys_of_their_own(8_000);
        super::ends_well(&objects);
    }

    #[test]
    fn b21_required_affinity_with_keys_of_its_own() {
        let objects = super::b21_required_affinity_with_keys_of_its_own(8_000);
        super::ends_well(&objects);
    }
}

shapes! {
    b14_digits_of_a_quantity 50_000 1_000_000;
    b14_zeros_of_an_exponent 50_000 1_000_000;
    b14_zeros_of_a_negative_exponent 50_000 1_000_000;
    b14_digits_of_an_exponent 50_000 1_000_000;
    b14_digits_behind_the_point 50_000 1_000_000;
    b14_letters 50_000 1_000_000;
    b18_preferred_anti_affinity_terms 500 20_000;
    b18_required_affinity_terms 300 20_000;
    b19_required_anti_affinity_terms 100 9_000;
    b20_tolerations 1_000 40_000;
    b20_taints_and_tolerations 300 5_000;
    b22_values_of_an_expression 1_000 20_000;
    b22_terms_with_a_hundred_expressions 20 1_000;
    b23_containers 250 3_000;
    b23_host_ports 500 20_000;
    b23_labels_and_what_selects_them 500 10_000;
    b24_extended_resources 250 5_000;
    b26_zones_of_one_node_each 250 20_000;
    b27_annotations 20_000 1_400_000;
    b28_images_of_a_node 500 100_000;
}

fn asking(memory: &str) -> Vec<Value> {
    let resources = json!({"requests": {"memory": memory}});
    with(json!({"containers": [{"name": "c", "resources": resources}]}))
}

fn b14_digits_of_a_quantity(n: usize) -> Vec<Value> {
    asking(&"9".repeat(n))
}

fn b14_zeros_of_an_exponent(n: usize) -> Vec<Value> {
    asking(&format!("1e{}1", "0".repeat(n)))
}

fn b14_zeros_of_a_negative_exponent(n: usize) -> Vec<Value> {
    asking(&format!("1e-{}1", "0".repeat(n)))
}

fn b14_digits_of_an_exponent(n: usize) -> Vec<Value> {
    asking(&format!("1e{}", "9".repeat(n)))
}

fn b14_digits_behind_the_point(n: usize) -> Vec<Value> {
    asking(&format!(".{}1Ki", "0".repeat(n)))
}

fn b14_letters(n: usize) -> Vec<Value> {
    asking(&"E".repeat(n))
}

fn b18_preferred_anti_affinity_terms(n: usize) -> Vec<Value> {
    let terms = pod_terms(n).map(|term| json!({"weight": 1, "podAffinityTerm": term}));
    with(anti_affinity("preferred", &terms.collect()))
}

fn b18_required_affinity_terms(n: usize) -> Vec<Value> {
    with(required_affinity(&pod_terms(n).collect()))
}

/// Twenty pods with so many required terms each.
fn repelling(n: usize) -> impl Iterator<Item = Value> {
    (0..20).map(move |i| {
        let mut spec = anti_affinity("required", &pod_terms(n).collect());
        spec["nodeName"] = json!("n1");
        pod(&format!("repelling-{i}"), spec)
    })
}

fn b19_required_anti_affinity_terms(n: usize) -> Vec<Value> {
    let mut objects = nodes();
    objects.extend(repelling(n));
    objects.push(pod("plain", json!({})));
    objects
}

/// What the second hundred of plain pods costs beside these objects.
fn cost_of_plain_pods(others: &[Value]) -> Option<f64> {
    let [few, many] = [100, 200].map(|plain| {
        let mut objects = nodes();
        objects.extend_from_slice(others);
        objects.extend((0..plain).map(|i| pod(&format!("plain-{i}"), json!({}))));
        work(&objects)
    });
    Some(many?.saturating_sub(few?) as f64)
}

#[test]
fn plain_pods_do_not_pay_for_volumes_of_others() {
    let Some(alone) = cost_of_plain_pods(&[]) else {
        return;
    };
    let users = (0..100).flat_map(|i| {
        let name = format!("user-{i}");
        let size = json!({"storage": "1Gi"});
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": size, "accessModes": ["ReadWriteOnce"],
                "claimRef": {"namespace": "default", "name": name, "uid": name},
                "csi": {"driver": "d", "volumeHandle": name},
            },
        });
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name, "uid": name,
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "volumeName": name,
                "resources": {"requests": size},
            },
            "status": {"phase": "Bound"},
        });
        let used = json!([{"name": "v", "persistentVolumeClaim": {"claimName": name}}]);
        let user = pod(&name, json!({"nodeName": "n1", "volumes": used}));
        [volume, claim, user]
    });
    let users: Vec<Value> = users.collect();
    let beside = cost_of_plain_pods(&users).expect("valgrind is there");
    println!("100 plain pods: {alone} instructions alone, {beside} beside 100 pods with volumes");
    assert!(beside <= alone * NEIGHBOUR_MAX, "{alone}, {beside}");
}

#[test]
fn b19_plain_pods_do_not_pay_for_required_terms() {
    let Some(alone) = cost_of_plain_pods(&[]) else {
        return;
    };
    let attackers: Vec<Value> = repelling(400).collect();
    let beside = cost_of_plain_pods(&attackers).expect("valgrind is there");
    println!("100 plain pods: {alone} instructions alone, {beside} beside 20 pods of 400 terms");
    assert!(beside <= alone * NEIGHBOUR_MAX, "{alone}, {beside}");
}

fn tolerations(n: usize) -> Value {
    list(n, |i| json!({"key": format!("k{i}"), "operator": "Exists"}))
}

fn b20_tolerations(n: usize) -> Vec<Value> {
    with(json!({"tolerations": tolerations(n)}))
}

fn b20_taints_and_tolerations(n: usize) -> Vec<Value> {
    let mut objects = b20_tolerations(n);
    objects[0]["spec"] = json!({"taints": list(n, |i| {
        json!({"key": format!("k{}", n - 1 - i), "effect": "NoSchedule"})
    })});
    objects
}

fn b21_spread_constraints_with_keys_of_their_own(n: usize) -> Vec<Value> {
    with(json!({"topologySpreadConstraints": list(n, |i| json!({
        "maxSkew": 1, "topologyKey": format!("key-{i}"), "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }))}))
}

fn b21_required_affinity_with_keys_of_its_own(n: usize) -> Vec<Value> {
    let mut terms: Vec<Value> = pod_terms(n).collect();
    for (i, term) in terms.iter_mut().enumerate() {
        term["topologyKey"] = json!(format!("key-{i}"));
    }
    with(required_affinity(&json!(terms)))
}

fn b22_values_of_an_expression(n: usize) -> Vec<Value> {
    let values = list(n, |i| json!(format!("v{i}")));
    let expression = json!({"key": "zone", "operator": "In", "values": values});
    with(node_affinity(&json!([{"matchExpressions": [expression]}])))
}

fn b22_terms_with_a_hundred_expressions(n: usize) -> Vec<Value> {
    let mut expressions: Vec<Value> = (0..99)
        .map(|i| json!({"key": format!("k{i}"), "operator": "DoesNotExist"}))
        .collect();
    // No term matches, so all are looked at to their end.
    expressions.push(json!({"key": "zone", "operator": "In", "values": ["nowhere"]}));
    with(node_affinity(&list(
        n,
        |_| json!({"matchExpressions": expressions}),
    )))
}

fn b23_containers(n: usize) -> Vec<Value> {
    with(json!({"containers": list(n, |i| json!({
        "name": format!("c{i}"), "image": format!("image-{i}"),
        "resources": {"requests": {"cpu": "1m"}},
    }))}))
}

fn b23_host_ports(n: usize) -> Vec<Value> {
    let ports = |first: usize| {
        let ports = list(n, |i| json!({"containerPort": 1, "hostPort": first + i}));
        json!({"containers": [{"name": "c", "ports": ports}]})
    };
    // On one node, so that each of the ports meets the others'.
    let mut objects = vec![nodes().remove(0)];
    objects.extend([pod("one", ports(1)), pod("two", ports(30_000))]);
    objects
}

fn b23_labels_and_what_selects_them(n: usize) -> Vec<Value> {
    let absent = list(
        n,
        |i| json!({"key": format!("absent-{i}"), "operator": "DoesNotExist"}),
    );
    let term = json!({"topologyKey": "zone", "labelSelector": {"matchExpressions": absent}});
    let mut shape = pod("shape", anti_affinity("required", &json!([term])));
    shape["metadata"]["labels"] = map(n, |i| (format!("l{i}"), json!("v")));
    let mut objects = nodes();
    objects.push(shape);
    objects
}

fn b24_extended_resources(n: usize) -> Vec<Value> {
    let requests = map(n, |i| (format!("example.com/r{i}"), json!("1")));
    let resources = json!({"requests": requests, "limits": requests});
    with(json!({"containers": [{"name": "c", "resources": resources}]}))
}

fn b26_zones_of_one_node_each(n: usize) -> Vec<Value> {
    let node = |i| {
        let zone = format!("z{i}");
        let labels = json!({"topology.kubernetes.io/zone": zone, "zone": zone});
        node(&format!("n{i}"), &labels)
    };
    let mut objects: Vec<Value> = (0..n).map(node).collect();
    objects.push(pod(
        "spread",
        json!({"topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }]}),
    ));
    objects
}

fn b27_annotations(n: usize) -> Vec<Value> {
    let mut objects = with(json!({}));
    objects[3]["metadata"]["annotations"] = json!({"a": "x".repeat(n)});
    objects
}

fn b28_images_of_a_node(n: usize) -> Vec<Value> {
    let long = "x".repeat(100);
    let mut objects = with(json!({"containers": [{"name": "c", "image": "image-7"}]}));
    objects[0]["status"]["images"] = list(n, |i| {
        json!({
            "names": [format!("image-{i}:latest"), format!("Registry.example:5000/{long}/{i}")],
            "sizeBytes": 1_000_000,
        })
    });
    objects
}
