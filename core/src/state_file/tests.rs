use super::{Content, HEADER, MAGIC, StateError, VERSION, framed, read, write};
use crate::cluster::saved::SavedNode;
use crate::id::{ClassId, NodeId, PodId, TextId};
use crate::intake::{Intake, IntakeError};
use crate::object::config::KubeSchedulerConfiguration;
use crate::object::decode::Decoded;
use crate::queue::Place;
use crate::{ApplyError, Capacities, Hooks, Options, Outcome, Permit, Scheduler};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Value, json};

const SECOND: u64 = 1_000_000_000;

/// Lets pods wait whose name begins with `w`.
struct Waits;

impl Hooks for Waits {
    fn permit(&mut self, scheduler: &Scheduler, pod: PodId, _: NodeId) -> Permit {
        if scheduler.pod_name(pod).1.starts_with('w') {
            Permit::Wait(60 * SECOND)
        } else {
            Permit::Allow
        }
    }
}

fn pod(name: &str, cpu: &str, spec: &Value) -> Value {
    let mut pod = json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
        "spec": {"containers": [{
            "name": "c", "image": "registry.example/app:1",
            "resources": {"requests": {"cpu": cpu, "example.com/gpu": "1"}},
        }]},
    });
    for (field, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][field] = value.clone();
    }
    pod
}

fn node(name: &str, zone: &str) -> Value {
    json!({
        "kind": "Node", "apiVersion": "v1",
        "metadata": {"name": name, "labels": {
            "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name,
        }},
        "spec": {"taints": [{"key": "soft", "value": "", "effect": "PreferNoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "4", "example.com/gpu": "8"},
            "images": [{"names": ["registry.example/app:1"], "sizeBytes": 300_000_000}],
        },
    })
}

fn load(value: Value) -> Decoded {
    serde_json::from_value(value).expect("a document")
}

/// A cluster with something in every table: pods in each part of the queue but one, kept events, a
/// departed node, free rows.
fn sample() -> Intake {
    let affinity = json!({"affinity": {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": {"matchLabels": {"app": "a1"}},
            "topologyKey": "kubernetes.io/hostname",
        }],
    }}});
    let objects = json!({"kind": "List", "apiVersion": "v1", "items": [
        node("n1", "z1"), node("n2", "z2"), node("n3", "z1"),
        {"kind": "Service", "apiVersion": "v1",
         "metadata": {"name": "a", "namespace": "shop"}, "spec": {"selector": {"app": "a1"}}},
        {"kind": "PodDisruptionBudget", "apiVersion": "policy/v1",
         "metadata": {"name": "b", "namespace": "shop"},
         "spec": {"selector": {"matchLabels": {"app": "low"}}}},
        {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1",
         "metadata": {"name": "high"}, "value": 1000},
        {"kind": "RuntimeClass", "apiVersion": "node.k8s.io/v1",
         "metadata": {"name": "vm"}, "handler": "vm",
         "overhead": {"podFixed": {"cpu": "250m"}},
         "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"operator": "Exists"}]}},
        {"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "fast"},
         "provisioner": "csi.example", "volumeBindingMode": "WaitForFirstConsumer"},
        {"kind": "CSINode", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "n3"},
         "spec": {"drivers": [{"name": "csi.example", "nodeID": "3", "allocatable": {"count": 2}}]}},
        {"kind": "PersistentVolumeClaim", "apiVersion": "v1",
         "metadata": {"name": "data", "namespace": "shop", "uid": "d"},
         "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                  "resources": {"requests": {"storage": "1Gi"}}}},
        {"kind": "LimitRange", "apiVersion": "v1",
         "metadata": {"name": "l", "namespace": "shop"},
         "spec": {"limits": [{"type": "Container", "defaultRequest": {"memory": "1Mi"}}]}},
        pod("gone", "1", &json!({"nodeName": "n2"})),
        pod("low", "3", &json!({"nodeName": "n1"})),
        pod("port", "100m", &json!({"containers": [{"name": "c", "ports": [{"containerPort": 1, "hostPort": 80}]}]})),
        pod("a1", "1", &affinity),
        pod("big", "20", &json!({})),
        pod("away", "1", &json!({"nodeSelector": {"disk": "ssd"}})),
        pod("gated", "1", &json!({"schedulingGates": [{"name": "g"}]})),
        pod("wait", "1", &json!({})),
        pod("stateful", "100m", &json!({"volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
        ]})),
    ]});
    let config = KubeSchedulerConfiguration::default();
    let mut intake = Intake::new(config, Options::default(), None).expect("an intake");
    intake.load(Vec::from([load(objects)])).expect("a load");
    let mut now = 1000 * SECOND;
    intake.scheduler_mut().advance(now);
    while intake
        .scheduler_mut()
        .schedule_one_with(now, &mut Waits)
        .is_some()
    {
        now += SECOND / 100;
    }
    for late in [
        pod("top", "4", &json!({"priorityClassName": "high"})),
        pod("later", "1", &json!({"nodeName": "n9"})),
    ] {
        intake.apply(None, load(late)).expect("a pod");
    }
    // Kept, as a pod waits at Permit.
    let mut changed = node("n3", "z2");
    changed["spec"] = json!({});
    intake.apply(None, load(changed)).expect("a node");
    let gone = pod("gone", "1", &json!({"nodeName": "n2"}));
    intake
        .apply(Some(crate::Change::Deleted), load(gone))
        .expect("a pod that goes");
    now += SECOND;
    intake.scheduler_mut().advance(now);
    intake.scheduler_mut().schedule_one_with(now, &mut Waits);
    let gone = load(node("n2", "z2"));
    intake
        .apply(Some(crate::Change::Deleted), gone)
        .expect("a node that goes");
    intake
}

fn restored(bytes: &[u8]) -> Result<Intake, StateError> {
    let config = KubeSchedulerConfiguration::default();
    Intake::restore_state(config, Options::default(), None, bytes)
}

/// Everything that shows of an intake.
fn hashes(intake: &Intake) -> (u64, u64) {
    let scheduler = intake.scheduler();
    (scheduler.state_hash(), scheduler.loop_hash())
}

#[test]
fn the_sample_has_something_in_every_part() {
    let sample = sample();
    let content = read(&sample.save_state()).expect("content");
    let queue = &content.scheduler.queue;
    let counts = sample.scheduler().queue_counts();
    assert_eq!(
        (counts.in_flight, counts.gated, counts.unschedulable),
        (1, 1, 2)
    );
    let nodes = content.scheduler.cluster.nodes.iter().flatten();
    let departed = nodes.filter(|node| matches!(node, SavedNode::Departed { .. }));
    assert_eq!((departed.count(), queue.flight.pods.len()), (1, 1));
    assert!(
        queue.flight.events() > 0 && !queue.nominated.is_empty(),
        "{counts:?}"
    );
    assert!(!content.scheduler.cluster.vacant_pods.is_empty());
    let intake = content.intake.expect("an intake");
    assert_eq!(intake.completing(), 3);
}

#[test]
fn an_intake_is_made_again_with_what_completes_pods() {
    let sample = sample();
    let bytes = sample.save_state();
    let mut again = restored(&bytes).expect("a state");
    assert_eq!(hashes(&again), hashes(&sample));
    assert_eq!(again.save_state(), bytes);
    let late = pod(
        "late",
        "1",
        &json!({"priorityClassName": "high", "runtimeClassName": "vm"}),
    );
    again
        .apply(None, load(late))
        .expect("a pod whose class is known");
    let id = again.scheduler().find_pod("shop", "late").expect("the pod");
    assert_eq!(again.scheduler().priority(id), 1000);
    // What only an intake knows is no harm to a scheduler.
    let capacities = *sample.scheduler().capacities();
    let config = KubeSchedulerConfiguration::default();
    let scheduler =
        Scheduler::restore_state(&config, Options::default(), capacities, &bytes).expect("a state");
    assert_eq!(scheduler.state_hash(), sample.scheduler().state_hash());
}

#[test]
fn a_state_in_use_stays_when_another_is_refused() {
    let mut intake = sample();
    let before = hashes(&intake);
    let mut bytes = intake.save_state();
    bytes.pop();
    intake.load_state(&bytes).expect_err("a cut file");
    assert_eq!(hashes(&intake), before);
    let config = KubeSchedulerConfiguration::default();
    let small = Capacities::for_size(2, 64);
    let refused =
        Scheduler::restore_state(&config, Options::default(), small, &intake.save_state());
    let refused = refused.err().expect("a table that is too small");
    assert_eq!(refused.to_string(), "capacity `nodes` of 2 is used up");
}

#[test]
fn a_full_table_can_grow_and_everything_stays() {
    let config = KubeSchedulerConfiguration::default();
    let mut small = Capacities::for_size(1, 1);
    (small.texts, small.classes, small.objects) = (16, 1, 1);
    let options = Options::default();
    let mut grown = Intake::with_capacities(config.clone(), options, small).expect("an intake");
    let mut roomy = Intake::new(config, options, None).expect("an intake");
    let mut times = 0_u32;
    for number in 0..30 {
        let name = format!("p{number}");
        for object in [
            node(&format!("n{number}"), "z"),
            pod(&name, &format!("{number}m"), &json!({})),
        ] {
            let expected = roomy.apply(None, load(object.clone())).expect("room");
            let applied = loop {
                match grown.apply(None, load(object.clone())) {
                    Err(IntakeError::Apply {
                        error: ApplyError::Capacity(full),
                        ..
                    }) => {
                        times += 1;
                        grown.grow(full).expect("a larger table");
                    }
                    other => break other.expect("an object"),
                }
            };
            assert_eq!(applied.id, expected.id);
        }
        let now = SECOND * (number + 1);
        while let Err(full) = grown.scheduler_mut().make_room() {
            times += 1;
            grown.grow(full).expect("a larger table");
        }
        let expected = roomy.scheduler_mut().schedule_one(now);
        assert_eq!(grown.scheduler_mut().schedule_one(now), expected);
        assert_eq!(hashes(&grown), hashes(&roomy));
    }
    assert!(times > 5, "{times}");
    // In a fork too, which goes back to the smaller tables.
    let before = grown.scheduler().capacities().nodes;
    let full = crate::CapacityExceeded {
        which: "nodes",
        limit: u64::from(before),
    };
    grown.fork().expect("a fork");
    grown.grow(full).expect("a larger table");
    assert_eq!(grown.scheduler().capacities().nodes, before * 2);
    assert_eq!(hashes(&grown), hashes(&roomy));
    assert!(grown.rollback());
    assert_eq!(grown.scheduler().capacities().nodes, before);
    let nothing = crate::CapacityExceeded {
        which: "nothing",
        limit: 0,
    };
    assert_eq!(grown.grow(nothing), Err(nothing));
}

/// B92.
#[test]
fn changed_cut_and_longer_files_are_refused_and_say_how() {
    let bytes = sample().save_state();
    let told = |bytes: &[u8]| restored(bytes).err().map(|error| error.to_string());
    assert!(told(&bytes).is_none());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let error = restored(&flipped).err();
            let right = match at {
                0..8 => matches!(error, Some(StateError::NotAState)),
                8..12 => matches!(error, Some(StateError::Version(_))),
                12..20 => matches!(error, Some(StateError::Length { .. })),
                _ => error == Some(StateError::Check),
            };
            assert!(right, "byte {at}, bit {bit}: {error:?}");
        }
        let error = restored(&bytes[..at]).err();
        let right = match at {
            0 => matches!(error, Some(StateError::NotAState)),
            _ => matches!(error, Some(StateError::Length { .. })),
        };
        assert!(right, "cut at {at}: {error:?}");
    }
    let len = bytes.len();
    let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
    for (bytes, expected) in [
        (
            &b""[..],
            "this is no state file: its first bytes are others".to_string(),
        ),
        (
            b"{\"kind\": \"List\"}",
            "this is no state file: its first bytes are others".to_string(),
        ),
        (
            &longer,
            format!(
                "state file of {} bytes that should have {len}: it was cut or added to",
                len + 1
            ),
        ),
        (
            &bytes[..len - 7],
            format!(
                "state file of {} bytes that should have {len}: it was cut or added to",
                len - 7
            ),
        ),
    ] {
        assert_eq!(told(bytes), Some(expected));
    }
    for version in [0, VERSION + 1] {
        let mut other = bytes.clone();
        other[MAGIC.len()..][..4].copy_from_slice(&version.to_le_bytes());
        let expected = format!(
            "state file of version {version}, and only version 1 is read: make it anew from the objects"
        );
        assert_eq!(told(&other), Some(expected));
    }
}

type Break = Box<dyn Fn(&mut Content)>;

fn breaks(name: &'static str, change: impl Fn(&mut Content) + 'static) -> (&'static str, Break) {
    (name, Box::new(change))
}

/// B93: the check is right, the content cannot be.
#[test]
fn content_that_no_scheduler_writes_is_refused_and_says_where() {
    const FAR: u32 = 1 << 20;
    let cases = [
        breaks("texts[1]: this text is there already", |c| {
            c.scheduler.cluster.texts[1] = c.scheduler.cluster.texts[0].clone();
        }),
        breaks("resources[0]: its name is no text", |c| {
            c.scheduler.cluster.resources[0] = TextId(FAR);
        }),
        breaks("node_records[0]: it names a text that is not there", |c| {
            let records = &mut c.scheduler.cluster.node_records;
            records[0].as_mut().expect("a record")[0] = 1 << 31 | FAR;
        }),
        breaks(
            "image_sizes[0]: there are other than as many as images",
            |c| {
                c.scheduler.cluster.image_sizes.push(1);
            },
        ),
        breaks("nodes[0]: its labels are no record of labels", |c| {
            if let Some(SavedNode::Present { labels, .. }) = &mut c.scheduler.cluster.nodes[0] {
                *labels = FAR;
            }
        }),
        breaks("nodes[2]: a node of this name is there already", |c| {
            c.scheduler.cluster.nodes[2] = c.scheduler.cluster.nodes[0].clone();
        }),
        breaks("nodes[0]: an amount is below 0", |c| {
            if let Some(SavedNode::Present { pods, .. }) = &mut c.scheduler.cluster.nodes[0] {
                *pods = -1;
            }
        }),
        breaks("vacant_nodes[0]: this row is not free", |c| {
            c.scheduler.cluster.vacant_nodes.push(0);
        }),
        breaks("tree[2]: no such node, or twice", |c| {
            c.scheduler.cluster.order.tree.push(0);
        }),
        breaks("order[0]: this node is not in it", |c| {
            c.scheduler.cluster.order.tree.retain(|row| *row != 0);
        }),
        breaks("objects[0]: its record is none of its kind", |c| {
            let objects = &mut c.scheduler.cluster.objects.entries;
            objects[0].as_mut().expect("an object").1 = FAR;
        }),
        breaks("volumes[0]: its record is none of its kind", |c| {
            let volumes = &mut c.scheduler.cluster.volumes.table.entries;
            volumes[0].as_mut().expect("a volume").0[0] = 99;
        }),
        breaks("volume_bindings[0]: its pod has no node", |c| {
            c.scheduler.cluster.volumes.bindings[0].pod = PodId(FAR);
        }),
        breaks("classes[0]: these words are no class", |c| {
            let classes = &mut c.scheduler.cluster.classes;
            classes[0].as_mut().expect("a class").pop();
        }),
        breaks("pods[1]: its class is none, or of another namespace", |c| {
            c.scheduler.cluster.pods[1].as_mut().expect("a pod").class = ClassId(FAR);
        }),
        breaks("pods[1]: its state and its node do not go together", |c| {
            c.scheduler.cluster.pods[1].as_mut().expect("a pod").node = None;
        }),
        breaks("pods[2]: a pod of this name is there already", |c| {
            let texts = c.scheduler.cluster.pods[1].as_ref().expect("a pod").texts;
            c.scheduler.cluster.pods[2].as_mut().expect("a pod").texts = texts;
        }),
        breaks("vacant_pods[0]: a free row is missing", |c| {
            c.scheduler.cluster.vacant_pods.clear();
        }),
        breaks("placed[0]: this pod has no node, or is there twice", |c| {
            c.scheduler.cluster.placed[0] = FAR;
        }),
        breaks(
            "items[1]: its place and the state of its pod do not go together",
            |c| {
                c.scheduler.queue.items[1].place = Place::Active;
            },
        ),
        // In two parts of the queue.
        breaks("active[0]: this pod is elsewhere, or is there twice", |c| {
            let waiting = *c
                .scheduler
                .queue
                .shelves
                .iter()
                .flatten()
                .next()
                .expect("one");
            c.scheduler.queue.active.push(waiting);
        }),
        breaks("shelves[0]: a pod is missing", |c| {
            c.scheduler.queue.shelves.clear();
        }),
        breaks("in_flight[0]: it was popped at another time", |c| {
            c.scheduler.queue.flight.base = 1 << 40;
        }),
        breaks("nominated[0]: a nominated pod is missing", |c| {
            c.scheduler.queue.nominated.clear();
        }),
        breaks(
            "timers[0]: one was due before the last time that was said",
            |c| {
                c.scheduler.queue.now = 1 << 62;
            },
        ),
    ];
    let bytes = sample().save_state();
    for (expected, change) in cases {
        let mut content = read(&bytes).expect("content");
        change(&mut content);
        let told = restored(&write(&content))
            .err()
            .map(|error| error.to_string());
        let expected = format!("state file with wrong content: {expected}");
        assert_eq!(told.as_deref(), Some(expected.as_str()));
    }
}

/// B93: lengths of which there are no bytes, texts that are no UTF-8.
#[test]
fn content_that_is_no_encoding_is_refused() {
    let bytes = sample().save_state();
    let content = &bytes[HEADER..bytes.len() - 4];
    assert_eq!(framed(content), bytes);
    // 2^40 texts.
    let long: Vec<u8> = [0x80, 0x80, 0x80, 0x80, 0x80, 0x20]
        .into_iter()
        .chain(content.iter().copied())
        .collect();
    let mut garbled = Vec::from(content);
    let at = content
        .windows(4)
        .position(|own| own == b"shop")
        .expect("a namespace");
    garbled[at] = 0xff;
    let longer: Vec<u8> = content.iter().copied().chain([0]).collect();
    for (content, problem) in [
        (long, "this is not what a state is encoded as"),
        (garbled, "this is not what a state is encoded as"),
        (longer, "something follows the state"),
    ] {
        let error = restored(&framed(&content))
            .err()
            .map(|error| error.to_string());
        let expected = format!("state file with wrong content: file[20]: {problem}");
        assert_eq!(error, Some(expected));
    }
}

/// What a changed byte still lets through is another state, which works.
#[test]
fn a_state_that_is_accepted_works() {
    let bytes = sample().save_state();
    let (mut refused, mut accepted) = (0_u32, 0_u32);
    for at in HEADER..bytes.len() - 4 {
        for flip in [1_u8, 0x80, 0x7f] {
            let mut changed = Vec::from(&bytes[HEADER..bytes.len() - 4]);
            changed[at - HEADER] ^= flip;
            let Ok(mut intake) = restored(&framed(&changed)) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            let hash = hashes(&intake);
            let again =
                restored(&intake.save_state()).unwrap_or_else(|error| panic!("byte {at}: {error}"));
            assert_eq!(hashes(&again), hash, "byte {at}");
            use_it(&mut intake);
        }
    }
    assert!(
        refused > 500 && accepted > 500,
        "{refused} refused, {accepted} accepted"
    );
}

fn use_it(intake: &mut Intake) {
    let pods: Vec<PodId> = intake.scheduler().pods().collect();
    for pod in &pods {
        intake.evaluate(*pod);
    }
    let scheduler = intake.scheduler_mut();
    let mut now = scheduler.now();
    for _ in 0..20 {
        now = now.saturating_add(SECOND);
        let Some(decision) = scheduler.schedule_one(now) else {
            continue;
        };
        if let Outcome::Scheduled(_) = decision.outcome {
            scheduler.bound(decision.pod, crate::BindOutcome::Bound, now);
        }
    }
    let nodes: Vec<String> = scheduler
        .nodes()
        .map(|node| scheduler.node(node).name.to_string())
        .collect();
    for name in nodes {
        let node = crate::object::Node {
            metadata: crate::object::ObjectMeta {
                name,
                ..crate::object::ObjectMeta::default()
            },
            ..crate::object::Node::default()
        };
        let node = crate::object::Object::Node(Box::new(node));
        scheduler
            .apply(crate::Change::Deleted, &node)
            .expect("a node that goes");
    }
}
