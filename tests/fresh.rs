//! Clusters that nobody has seen before: upstream is asked at the same time, by the Go program of
//! `tests/kube`, and every verdict is compared whole.
//!
//! `BERTH_FRESH` says how many clusters (60), `BERTH_SEED` which ones; without it they are new ones
//! each time, and the seed is printed. What differs is reduced to the least that differs and left
//! in `target/tmp/fresh`: as golden lines, or as they were written if only the intake differs.

#[path = "fresh/intake.rs"]
mod intake;
#[path = "fresh/seen.rs"]
mod seen;

use berth_test_support::answer::Answer;
use berth_test_support::command::empty_folder;
use berth_test_support::generate::scenario::{growing_case, line};
use berth_test_support::generate::volumes::add_volumes;
use berth_test_support::golden::{CLUSTERS, RANDOM, Scenario, Verdict, scenario};
use berth_test_support::kube::Kube;
use berth_test_support::read;
use berth_test_support::replay::{Replay, VERDICTS};
use berth_test_support::shrink::shrink;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use seen::Seen;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

/// Clusters without `BERTH_FRESH`.
const CLUSTERS_DEFAULT: u64 = 60;

/// From here on a run is long enough for every plugin to have its say.
const CLUSTERS_TELLING: u64 = 300;

/// Differing clusters after which a run ends.
const DIFFERENCES_MAX: usize = 8;

/// Times that both sides are asked to make a differing cluster smaller.
const TRIES: usize = 4_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is not a number")),
    )
}

/// Cluster `number` of a seed, as a line.
fn cluster(seed: u64, number: u64) -> Value {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let case = growing_case().new_tree(&mut runner).expect("a case");
    let mut line = line(number, &case.current());
    // Half of the clusters have volumes.
    if number % 2 == 1 {
        add_volumes(&mut line, seed ^ number.rotate_left(32));
    }
    line
}

/// A cluster that both sides have, and what upstream says of it.
struct Asked {
    /// As a user wrote it.
    written: Value,
    /// As the scheduler sees it.
    input: Value,
    golden: Value,
    /// Objects that upstream's API server refused, with its reason.
    refused: Vec<String>,
}

/// Asks upstream. With `admit`, both sides go on with what its API server makes of the objects.
fn ask(kube: &mut Kube, line: &Value, admit: bool) -> Result<Asked, String> {
    let mut asked = line.clone();
    asked["admit"] = json!(admit);
    let mut answer = kube.ask(&asked);
    if let Some(error) = answer["error"].as_str() {
        return Err(error.to_owned());
    }
    let mut input = line.clone();
    if admit {
        input["input"] = answer["input"].take();
    }
    let refused = answer["refused"].as_object().into_iter().flatten();
    Ok(Asked {
        written: line.clone(),
        input,
        golden: json!({"scenario": answer["scenario"], "pods": answer["pods"]}),
        refused: refused
            .map(|(_, why)| why.as_str().unwrap_or_default().to_owned())
            .collect(),
    })
}

impl Asked {
    fn scenario(&self) -> Scenario {
        scenario("fresh", &self.input.to_string(), &self.golden.to_string())
    }

    /// What goes through the intake; `None` where Berth's answer is meant to be another one.
    fn written(&self, admitted: &Scenario) -> Option<Scenario> {
        let written = scenario("fresh", &self.written.to_string(), &self.golden.to_string());
        let whole = self.refused.is_empty() && intake::is_whole(&written);
        whole.then(|| intake::as_written(written, admitted))
    }

    /// In what Berth differs, of the first pod that it answers differently; empty when in nothing.
    fn difference(&self) -> String {
        let admitted = self.scenario();
        let through_the_intake = || intake::difference(&self.written(&admitted)?);
        let compared = catch_unwind(AssertUnwindSafe(|| {
            direct_difference(&admitted)
                .or_else(through_the_intake)
                .unwrap_or_default()
        }));
        compared.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            format!("Berth panicked: {}\n", text.unwrap_or_default())
        })
    }
}

/// The first difference of the core, fed with the objects as the scheduler sees them: with pods
/// placed where Berth puts them, then once more, after being asked about, where upstream put them.
fn direct_difference(scenario: &Scenario) -> Option<String> {
    let replay = |answer_one: fn(&mut Replay, &Value, &Verdict) -> Answer| {
        let mut replay = Replay::of(scenario, VERDICTS);
        let mut pods = scenario.input.pods_in_order.iter().zip(&scenario.verdicts);
        pods.find_map(|(pod, verdict)| {
            let text = answer_one(&mut replay, pod, verdict).differences(verdict);
            (!text.is_empty()).then(|| format!("{}\n{text}", verdict.pod))
        })
    };
    replay(|replay, pod, _| replay.schedule(pod)).or_else(|| replay(Replay::evaluate_and_follow))
}

/// The least of a differing cluster that still differs, written beside those found before.
fn reduce(kube: &mut Kube, line: &Value, difference: &str, folder: &Path) -> String {
    // A refusal by the intake, say, is not to become a panic on the way.
    let sort = |text: &str| {
        (
            text.is_empty(),
            text.contains("panicked"),
            text.contains("intake"),
        )
    };
    let differs = |kube: &mut Kube, line: &Value, admit| {
        let asked = ask(kube, line, admit).ok();
        asked.filter(|asked| sort(&asked.difference()) == sort(difference))
    };
    let least = shrink(line.clone(), TRIES, &mut |smaller| {
        smaller["scenario"] == line["scenario"] && differs(kube, smaller, true).is_some()
    });
    // As it was written, if that differs as well: it is easier to read than with all defaults.
    let asked = differs(kube, &least, false).or_else(|| differs(kube, &least, true));
    let asked = asked.expect("the least cluster differs");
    // What only the intake sees is no golden case: those are of objects that are complete.
    let (set, input) = if difference.contains("intake") {
        ("written", &asked.written)
    } else {
        ("found", &asked.input)
    };
    for (kind, line) in [("inputs", input), ("golden", &asked.golden)] {
        let path = folder.join(format!("{set}.{kind}.jsonl"));
        let mut text = std::fs::read_to_string(&path).unwrap_or_default();
        writeln!(text, "{line}").expect("write to text");
        std::fs::write(&path, text).expect("the folder is there");
    }
    format!("{}{input}", asked.difference())
}

#[test]
fn fresh_clusters_are_decided_as_upstream_decides_them() {
    let Some(mut kube) = Kube::start(FOLDER) else {
        return;
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seed = number("BERTH_SEED")
        .unwrap_or_else(|| now.expect("after 1970").as_nanos() as u64 % 1_000_000_000_000);
    let clusters = number("BERTH_FRESH").unwrap_or(CLUSTERS_DEFAULT);
    println!("BERTH_SEED={seed} BERTH_FRESH={clusters}");
    let folder = empty_folder(FOLDER, "fresh");
    let start = Instant::now();
    let mut seen = Seen::default();
    let mut found = Vec::new();
    for number in 0..clusters {
        let line = cluster(seed, number);
        let asked = ask(&mut kube, &line, true)
            .unwrap_or_else(|error| panic!("BERTH_SEED={seed}, cluster {number}: {error}: {line}"));
        let scenario = asked.scenario();
        let (pods, verdicts) = (&scenario.input.pods_in_order, &scenario.verdicts);
        assert_eq!(pods.len(), verdicts.len(), "cluster {number}");
        for why in &asked.refused {
            seen.leave_out(why);
        }
        for verdict in verdicts {
            seen.count(verdict);
        }
        seen.clusters += 1;
        seen.written += usize::from(asked.written(&scenario).is_some());
        if seen.clusters.is_multiple_of(1000) {
            println!(
                "{} clusters after {} s",
                seen.clusters,
                start.elapsed().as_secs()
            );
        }
        let text = asked.difference();
        if !text.is_empty() {
            println!("cluster {number} differs: {text}");
            let least = reduce(&mut kube, &line, &text, &folder);
            found.push(format!("cluster {number}: {text}  at the least: {least}"));
        }
        if found.len() >= DIFFERENCES_MAX {
            break;
        }
    }
    println!("{} s\n{seen}", start.elapsed().as_secs());
    assert!(
        found.is_empty(),
        "BERTH_SEED={seed}: {} clusters differ; they are in {}\n{}",
        found.len(),
        folder.display(),
        found.join("\n")
    );
    assert!(seen.verdicts > 0, "nothing was compared");
    if clusters >= CLUSTERS_TELLING {
        seen.assert_every_plugin_had_its_say();
    }
}

/// What shows that the program is upstream's voice: it says again what was recorded.
#[test]
fn the_program_repeats_the_recorded_verdicts() {
    let Some(mut kube) = Kube::start(FOLDER) else {
        return;
    };
    let mut lines: Vec<(Value, Vec<Value>)> = Vec::new();
    let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    for set in RANDOM {
        let inputs = read(&format!("golden/{set}.inputs.jsonl"));
        let golden = read(&format!("golden/{set}.golden.jsonl"));
        let verdicts = golden.lines().map(|line| {
            let mut pods = parse(line)["pods"].take();
            pods.as_array_mut().expect("verdicts").drain(..).collect()
        });
        lines.extend(inputs.lines().map(parse).zip(verdicts));
    }
    for set in CLUSTERS.iter().filter(|set| !set.starts_with("openb")) {
        let input = parse(&read(&format!("golden/{set}.input.json")));
        for (suffix, strategy) in [("default", ""), ("mostallocated", "MostAllocated")] {
            let golden = read(&format!("golden/{set}.{suffix}.golden.jsonl"));
            let line = json!({"scenario": 0, "strategy": strategy, "input": input});
            lines.push((line, golden.lines().map(parse).collect()));
        }
    }
    let mut compared = 0;
    for (line, recorded) in &mut lines {
        for verdict in recorded.iter_mut() {
            // That integers overflowed is not upstream's to say.
            verdict.as_object_mut().expect("a verdict").remove("wraps");
        }
        let answer = kube.ask(line);
        assert_eq!(answer["pods"], json!(recorded), "{}", line["scenario"]);
        compared += recorded.len();
    }
    assert_eq!(compared, 2593 + 1260 + 1527 + 779 + 1295 + 142 + 324 + 108);
}

/// The comparison finds a difference, and reduces it to what it is about.
#[test]
fn a_planted_difference_is_found_and_reduced() {
    let Some(mut kube) = Kube::start(FOLDER) else {
        return;
    };
    let verdict_changed = |line: &Value, kube: &mut Kube, change: &dyn Fn(&mut Value)| {
        let mut asked = ask(kube, line, true).expect("an answer");
        let pods = asked.golden["pods"].as_array_mut();
        pods.into_iter().flatten().for_each(change);
        !asked.difference().is_empty()
    };
    // As if upstream gave one more point for images.
    let planted = |verdict: &mut Value| {
        for score in verdict["scores"].as_array_mut().into_iter().flatten() {
            let images = score["plugins"]["ImageLocality"].as_i64().unwrap_or(0);
            if images > 0 {
                score["plugins"]["ImageLocality"] = json!(images + 1);
                score["total"] = json!(score["total"].as_i64().expect("a total") + 1);
            }
        }
    };
    let line = (0..1000)
        .map(|number| cluster(1, number))
        .find(|line| verdict_changed(line, &mut kube, &planted))
        .expect("images are scored somewhere");
    assert!(
        !verdict_changed(&line, &mut kube, &|_| {}),
        "without a plant"
    );
    let least = shrink(line, TRIES, &mut |smaller| {
        smaller["scenario"].is_u64() && verdict_changed(smaller, &mut kube, &planted)
    });
    let of = |list: &str| least["input"][list].as_array().map_or(0, Vec::len);
    assert_eq!(
        (of("nodes"), of("podsInOrder"), of("boundPods")),
        (2, 1, 0),
        "{least}"
    );
    assert!(least.to_string().len() < 1500, "{least}");
    for change in [
        |verdict: &mut Value| verdict["feasible"] = json!(77),
        |verdict: &mut Value| verdict["message"] = json!("0/1 nodes are available: none."),
        |verdict: &mut Value| verdict["unresolvable"] = json!(["n000"]),
        |verdict: &mut Value| verdict["chosen"] = json!("elsewhere"),
        |verdict: &mut Value| verdict["rejected"] = json!({"n000": ["NodePorts", "no"]}),
        |verdict: &mut Value| verdict["ties"] = json!(["n000", "n037", "x"]),
        |verdict: &mut Value| verdict["error"] = json!("it failed"),
        |verdict: &mut Value| verdict["gated"] = json!(true),
    ] {
        assert!(verdict_changed(&least, &mut kube, &change));
    }
}
