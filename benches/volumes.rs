//! What a decision costs where volumes are: 5,000 nodes that run eight pods with a volume each, and pods
//! without a claim, with a bound one, with one that takes a volume which is there, and with one that is
//! provisioned.
//!
//! `cargo bench --bench volumes` prints figures, of which only those of one run compare; without
//! `--bench`, as `cargo test` runs it, a small cluster is checked.

use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Object, Pod};
use berth_core::{Capacities, Change, Decision, Options, Outcome, Scheduler};
use berth_test_support::object::object;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Pods with a volume on each node.
const PODS_PER_NODE: usize = 8;
/// Zones that nodes and volumes are in.
const ZONES: usize = 3;
/// The kinds of pods that are placed.
const KINDS: [&str; 4] = [
    "no claim",
    "bound claim",
    "matched claim",
    "provisioned claim",
];

fn main() {
    if std::env::args().any(|argument| argument == "--bench") {
        measure(5_000, 100);
    } else {
        check(40, 20);
        println!("volumes: decided as expected");
    }
}

fn measure(nodes: usize, pods: usize) {
    let volumes = nodes * PODS_PER_NODE;
    println!(
        "{nodes} nodes, {volumes} attached volumes, {pods} pods of each kind, default profile"
    );
    println!("per decision:                     mean      p50      p99     max us | placed");
    let bare = placed(nodes, pods, KINDS[0], false);
    bare.print("no claim, no volumes anywhere");
    for kind in KINDS {
        placed(nodes, pods, kind, true).print(kind);
    }
}

/// Pods of a kind, placed one after the other.
struct Run {
    times: Vec<Duration>,
    decisions: Vec<Decision>,
    /// Claims that were bound for them: to what is there, provisioned.
    bound: [usize; 2],
}

impl Run {
    fn print(&self, name: &str) {
        let mut sorted = self.times.clone();
        sorted.sort();
        let count = sorted.len();
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let part = |hundredths: usize| micros(sorted[(count - 1) * hundredths / 100]);
        let total: Duration = sorted.iter().sum();
        println!(
            "{name:>30} {:7.2} {:8.2} {:8.2} {:8.1}   | {}",
            micros(total) / count as f64,
            part(50),
            part(99),
            part(100),
            self.placed(),
        );
    }

    fn placed(&self) -> usize {
        let placed = |own: &&Decision| matches!(own.outcome, Outcome::Scheduled(_));
        self.decisions.iter().filter(placed).count()
    }
}

fn placed(nodes: usize, pods: usize, kind: &str, with_volumes: bool) -> Run {
    let mut scheduler = filled(&cluster(nodes, pods, with_volumes), pods, kind);
    let mut run = Run {
        times: Vec::with_capacity(pods),
        decisions: Vec::with_capacity(pods),
        bound: [0; 2],
    };
    for at in 0..pods {
        let id = scheduler
            .find_pod("default", &name_of(at))
            .expect("the pod");
        let begin = Instant::now();
        let decision = scheduler.schedule(id);
        run.times.push(begin.elapsed());
        run.decisions.push(decision);
        scheduler.bind_volumes(id).expect("room for a volume");
        for claim in scheduler.volumes_of(id) {
            run.bound[usize::from(claim.provisioned)] += 1;
        }
        scheduler.seen_bound(id);
    }
    run
}

fn name_of(at: usize) -> String {
    format!("new-{at}")
}

/// Nodes with their pods and these pods' volumes; volumes and claims for as many new pods.
fn cluster(nodes: usize, pods: usize, with_volumes: bool) -> Vec<Object> {
    let mut objects = Vec::new();
    let mut add = |kind: &str, json: &Value| objects.push(object(kind, json));
    let class = json!({"metadata": {"name": "fast"}, "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer"});
    add("StorageClass", &class);
    for at in 0..nodes {
        let node = format!("node-{at}");
        let zone = format!("zone-{}", at % ZONES);
        let labels = json!({"kubernetes.io/hostname": node, "topology.kubernetes.io/zone": zone});
        let json = json!({"metadata": {"name": node, "labels": labels},
            "status": {"allocatable": {"cpu": "32", "memory": "64Gi", "pods": "110"}}});
        add("Node", &json);
        let driver =
            json!({"name": "csi.example.com", "nodeID": node, "allocatable": {"count": 25}});
        add(
            "CSINode",
            &json!({"metadata": {"name": node}, "spec": {"drivers": [driver]}}),
        );
        for slot in 0..PODS_PER_NODE {
            let name = format!("old-{at}-{slot}");
            let mut pod = pod(&name, with_volumes.then_some(name.as_str()));
            pod["spec"]["nodeName"] = json!(node);
            add("Pod", &pod);
            if with_volumes {
                add("PersistentVolume", &volume(&name, &zone, Some(&name)));
                add("PersistentVolumeClaim", &claim(&name, Some(&name)));
            }
        }
    }
    for at in (0..pods).filter(|_| with_volumes) {
        let zone = format!("zone-{}", at % ZONES);
        for (name, is_bound) in [(format!("bound-{at}"), true), (format!("free-{at}"), false)] {
            let own = is_bound.then_some(name.as_str());
            add("PersistentVolume", &volume(&name, &zone, own));
            if let Some(own) = own {
                add("PersistentVolumeClaim", &claim(own, Some(own)));
            }
        }
    }
    objects
}

/// A scheduler of the cluster, with new pods of a kind.
fn filled(cluster: &[Object], pods: usize, kind: &str) -> Scheduler {
    let mut new = Vec::new();
    let mut made: Vec<Pod> = Vec::new();
    for at in 0..pods {
        let name = name_of(at);
        let (claim_name, size) = match kind {
            "bound claim" => (Some(format!("bound-{at}")), None),
            "matched claim" => (Some(name.clone()), Some("1Gi")),
            // No volume that is there is large enough.
            "provisioned claim" => (Some(name.clone()), Some("9Gi")),
            _ => (None, None),
        };
        if let Some(size) = size {
            let mut claim = claim(&name, None);
            claim["spec"]["resources"]["requests"]["storage"] = json!(size);
            new.push(object("PersistentVolumeClaim", &claim));
        }
        let pod = object("Pod", &pod(&name, claim_name.as_deref()));
        if let Object::Pod(pod) = &pod {
            made.push((**pod).clone());
        }
        new.push(pod);
    }
    let all = || cluster.iter().chain(&new);
    let capacities = Capacities::for_objects(all(), made.iter());
    let config = KubeSchedulerConfiguration::default();
    let mut scheduler = Scheduler::new(&config, Options::default(), capacities)
        .unwrap_or_else(|error| panic!("{error}"));
    for object in all() {
        scheduler
            .apply(Change::Added, object)
            .unwrap_or_else(|error| panic!("{}: {error}", object.metadata().name));
    }
    scheduler
}

fn pod(name: &str, claim: Option<&str>) -> Value {
    let requests = json!({"cpu": "100m", "memory": "64Mi"});
    let volume =
        claim.map(|claim| json!({"name": "data", "persistentVolumeClaim": {"claimName": claim}}));
    json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": requests}}],
            "volumes": volume.into_iter().collect::<Vec<_>>(),
        },
    })
}

fn claim(name: &str, volume: Option<&str>) -> Value {
    let mut json = json!({
        "metadata": {"name": name, "namespace": "default", "annotations": {}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Pending"},
    });
    if let Some(volume) = volume {
        json["spec"]["volumeName"] = json!(volume);
        json["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = json!("yes");
        json["status"]["phase"] = json!("Bound");
    }
    json
}

fn volume(name: &str, zone: &str, claim: Option<&str>) -> Value {
    let terms = json!([{"matchExpressions": [
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]},
    ]}]);
    let reference = claim.map(|claim| json!({"namespace": "default", "name": claim}));
    json!({
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "spec": {
            "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast", "claimRef": reference,
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
        "status": {"phase": if claim.is_some() { "Bound" } else { "Available" }},
    })
}

/// Each pod is placed, each claim bound in its way, and the pods without one go where they go in a
/// cluster without volumes.
fn check(nodes: usize, pods: usize) {
    let bare = placed(nodes, pods, KINDS[0], false);
    for (kind, bound) in KINDS
        .into_iter()
        .zip([[0, 0], [0, 0], [pods, 0], [0, pods]])
    {
        let run = placed(nodes, pods, kind, true);
        assert_eq!((run.placed(), run.bound), (pods, bound), "{kind}");
        if kind == KINDS[0] {
            assert_eq!(run.decisions, bare.decisions);
        }
    }
}
