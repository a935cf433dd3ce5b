//! The golden decisions, put to a program in another language: `PROGRAM LIST.json CONFIG.json`, with a
//! pod a line on its input, and as its answer a line with the record and one with the claims that are
//! bound.
#![allow(dead_code, reason = "each suite uses a part of it")]

use berth_test_support::answer::Answer;
use berth_test_support::cluster_list::cluster_list;
use berth_test_support::command::empty_folder;
use berth_test_support::golden::scenarios;
use berth_test_support::tally::Tally;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The sets, and how many verdicts of each core answers through the ABI.
pub const SETS: [(&str, usize); 9] = [
    ("hypershift-13nodes", 142),
    ("platform-mix-12nodes", 324),
    ("dsb-6nodes", 108),
    ("openb-gpuspec33-120nodes", 1400),
    ("random-120-scenarios", 2593),
    ("random-config", 1260),
    ("random-resources", 1265),
    ("random-resources-huge", 92),
    ("random-volumes", 1295),
];

const DEFAULT: &str =
    r#"{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"}"#;

/// Runs a program on an input.
pub fn run(program: &mut Command, input: &str) -> Output {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_owned();
    // Apart, as the program may answer before it has read everything.
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the program ends");
    // A program that does not read its input to the end is judged by what it says.
    let _ = feeder.join().expect("the feeder ends");
    output
}

/// What a program wrote, as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Replays a set; every verdict must be equal.
pub fn replay(program: &Path, set: &str, compared: usize) {
    let name = program.file_name().expect("a program has a name");
    let name = format!("replay-{}-{set}", name.to_string_lossy());
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), &name);
    let mut tally = Tally::of(set);
    for scenario in scenarios(set) {
        let given = cluster_list(&scenario);
        let [list, config] = ["list.json", "config.json"].map(|file| folder.join(file));
        fs::write(&list, given.json.to_string()).expect("the list is written");
        let json = scenario.config.as_ref().map(ToString::to_string);
        fs::write(&config, json.as_deref().unwrap_or(DEFAULT)).expect("the file is written");
        let usual = scenario.verdicts.iter();
        // What follows a sum that wrapped or an attempt that failed is not comparable.
        let asked: Vec<_> = usual
            .take_while(|verdict| !verdict.wraps && verdict.error.is_none())
            // A pod that an API server refuses is not there if upstream found it no place.
            .filter(|verdict| !given.replaced.contains(&verdict.pod) || verdict.chosen.is_some())
            .collect();
        let pods: String = asked
            .iter()
            .map(|verdict| verdict.pod.clone() + "\n")
            .collect();
        let output = run(Command::new(program).args([&list, &config]), &pods);
        assert!(
            output.status.success(),
            "{}: {}",
            scenario.name,
            text(&output.stderr)
        );
        let told = text(&output.stdout);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 2 * asked.len(), "{}", scenario.name);
        for (lines, verdict) in lines.chunks(2).zip(asked) {
            if !given.replaced.contains(&verdict.pod) {
                let mut answer = Answer::from_line(lines[0]);
                let volumes = serde_json::from_str(lines[1]);
                answer.volumes = Some(volumes.expect("claims as in a record"));
                let differences = answer.differences(verdict);
                tally.count(&scenario.name, &verdict.pod, &differences);
            }
        }
    }
    tally.finish(compared);
}
