//! kube-scheduler's verdicts, replayed through the built command.
//!
//! Each scenario becomes a `List` file and a configuration file, one run of `berth simulate`, and
//! its records are compared with the verdicts. What the command reads differs from what the golden
//! scheduler got only as `cluster_list` says.

use berth_test_support::answer::Answer;
use berth_test_support::cluster_list::{ClusterList, cluster_list};
use berth_test_support::command::{empty_folder, simulate};
use berth_test_support::golden::{Scenario, scenarios};
use berth_test_support::tally::Tally;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// Flags that make the command proceed as the verdicts were made.
const PROCEDURE: [&str; 8] = [
    "--explain",
    "full",
    "--order",
    "file",
    "--ties",
    "first-name",
    "--node-search",
    "all",
];

/// The records of one run, by pod.
fn answers(folder: &Path, scenario: &Scenario, list: &ClusterList) -> BTreeMap<String, Answer> {
    let input = folder.join("input.json");
    let config = folder.join("config.json");
    fs::write(&input, list.json.to_string()).expect("the input is written");
    let mut flags: Vec<&OsStr> = PROCEDURE.iter().map(OsStr::new).collect();
    flags.extend([OsStr::new("-f"), input.as_os_str()]);
    if let Some(json) = &scenario.config {
        fs::write(&config, json.to_string()).expect("the configuration is written");
        flags.extend([OsStr::new("--config"), config.as_os_str()]);
    }
    let answers = simulate(&flags).answers.into_iter();
    answers.map(|answer| (answer.pod.clone(), answer)).collect()
}

fn replay(set: &str, compared: usize) {
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), set);
    let mut tally = Tally::of(set);
    for scenario in scenarios(set) {
        let list = cluster_list(&scenario);
        let answers = answers(&folder, &scenario, &list);
        for verdict in &scenario.verdicts {
            if verdict.wraps || verdict.error.is_some() {
                break;
            }
            let answer = answers.get(&verdict.pod);
            if list.replaced.contains(&verdict.pod) {
                let node = answer.and_then(|answer| answer.node.as_ref());
                assert_eq!(node, verdict.chosen.as_ref(), "{}", verdict.pod);
                continue;
            }
            let differences = answer.map_or_else(
                || "    no record\n".to_owned(),
                |answer| answer.differences(verdict),
            );
            tally.count(&scenario.name, &verdict.pod, &differences);
        }
    }
    tally.finish(compared);
}

#[test]
fn hypershift() {
    replay("hypershift-13nodes", 142);
}

#[test]
fn platform_mix() {
    replay("platform-mix-12nodes", 324);
}

#[test]
fn dsb() {
    replay("dsb-6nodes", 108);
}

#[test]
fn openb() {
    replay("openb-gpuspec33-120nodes", 1400);
}

#[test]
fn random() {
    replay("random-120-scenarios", 2593);
}

#[test]
fn random_config() {
    replay("random-config", 1260);
}

#[test]
fn random_resources() {
    replay("random-resources", 1265);
}

#[test]
fn random_volumes() {
    replay("random-volumes", 1295);
}

#[test]
fn random_resources_huge() {
    replay("random-resources-huge", 92);
}
