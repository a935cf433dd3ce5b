//! The thirteen pod lists of the openb trace through the command: every pod is placed where there
//! is room, or refused with a message that accounts for every node.

use berth_test_support::answer::Answer;
use berth_test_support::command::{empty_folder, simulate, tool};
use berth_test_support::exact::{Mode, Room, list};
use berth_test_support::golden::{Input, full_name, scenarios};
use berth_test_support::tests_folder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;

/// Nodes with GPUs, which the published experiment uses.
const NODES: usize = 1213;

/// The `List` that `openb.py` makes of a pod list; absent when there is no Python.
fn converted(pods: &str) -> Option<Value> {
    let data = tests_folder().join("data");
    let output = tool("python3", "apt-get install python3")?
        .arg(data.join("openb.py"))
        .arg(data.join("openb/nodes/openb_node_list_gpu_node.csv"))
        .arg(data.join(format!("openb/pods/openb_pod_list_{pods}.csv")))
        .output()
        .expect("python3 runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openb.py: {errors}");
    Some(serde_json::from_slice(&output.stdout).expect("openb.py prints JSON"))
}

fn of_kind(cluster: &Value, kind: &str) -> Vec<Value> {
    let items = list(&cluster["items"]).iter();
    items.filter(|item| item["kind"] == kind).cloned().collect()
}

fn place(pods: &str, count: usize) {
    let Some(cluster) = converted(pods) else {
        return;
    };
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), &format!("openb-{pods}"));
    let file = folder.join("cluster.json");
    fs::write(&file, cluster.to_string()).expect("the cluster is written");
    let flags = ["--explain", "none", "-f"].map(OsStr::new);
    let simulation = simulate(&[&flags[..], &[file.as_os_str()]].concat());

    let input = Input {
        nodes: of_kind(&cluster, "Node"),
        pods_in_order: of_kind(&cluster, "Pod"),
        ..Input::default()
    };
    assert_eq!(
        (input.nodes.len(), input.pods_in_order.len()),
        (NODES, count)
    );
    let mut answers: BTreeMap<&str, &Answer> = BTreeMap::new();
    for answer in &simulation.answers {
        let twice = answers.insert(&answer.pod, answer);
        assert!(twice.is_none(), "{} has two records", answer.pod);
    }
    assert_eq!(answers.len(), count);
    let mut room = Room::of(&input);
    let mut placed = 0;
    for pod in &input.pods_in_order {
        let name = full_name(pod);
        let answer = answers[name.as_str()];
        if let Some(node) = &answer.node {
            let shortages = room.shortages(pod, node);
            assert!(shortages.is_empty(), "{name} on {node}: {shortages:?}");
            room.place(pod, Mode::Spec, node);
            placed += 1;
        } else {
            let message = answer.message.as_deref().unwrap_or_default();
            assert!(accounts_for_every_node(message), "{name}: {message:?}");
        }
    }
    println!("{pods}: {placed} of {count} pods placed, the rest explained");
    assert!(placed > count / 2, "{placed} of {count} pods are too few");
}

/// Whether the counts of the message add up to all nodes; a node may be counted for each reason.
fn accounts_for_every_node(message: &str) -> bool {
    let reasons = message
        .strip_prefix(&format!("0/{NODES} nodes are available: "))
        .and_then(|rest| rest.strip_suffix('.'));
    let counts: Option<Vec<usize>> = reasons.and_then(|reasons| {
        let counts = reasons.split(", ").map(|reason| reason.split_once(' '));
        counts.map(|count| count?.0.parse().ok()).collect()
    });
    counts.is_some_and(|counts| {
        counts.iter().all(|count| *count <= NODES) && counts.iter().sum::<usize>() >= NODES
    })
}

macro_rules! lists {
    ($($name:ident $count:literal;)+) => {
        $(#[test]
        fn $name() {
            place(stringify!($name), $count);
        })+

        #[test]
        fn every_pod_list_is_placed() {
            let folder = tests_folder().join("data/openb/pods");
            let mut files: Vec<String> = fs::read_dir(folder)
                .expect("the pod lists are there")
                .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
                .collect();
            let mut placed = vec![$(format!("openb_pod_list_{}.csv", stringify!($name))),+];
            files.sort();
            placed.sort();
            assert_eq!(files, placed);
        }
    };
}

lists! {
    cpu050 7439;
    cpu100 7853;
    cpu250 9420;
    default 8152;
    gpushare100 8152;
    gpushare40 8152;
    gpushare80 8152;
    gpuspec10 8152;
    gpuspec25 8152;
    gpuspec33 8152;
    multigpu20 8324;
    multigpu40 8746;
    multigpu50 9061;
}

#[test]
fn the_script_makes_the_objects_that_kube_scheduler_was_given() {
    let Some(cluster) = converted("gpuspec33") else {
        return;
    };
    let items = list(&cluster["items"]).iter();
    let made: BTreeMap<(String, String), &Value> = items
        .map(|item| ((item["kind"].to_string(), full_name(item)), item))
        .collect();
    let golden = &scenarios("openb-gpuspec33-120nodes")[0].input;
    for object in golden.nodes.iter().chain(&golden.pods_in_order) {
        let key = (object["kind"].to_string(), full_name(object));
        assert_eq!(made.get(&key), Some(&object), "{key:?}");
    }
}
