//! Tables of small cases: a cluster, pods to be placed, and what is to be said of each.
//!
//! A table in `tests/cases/` is a YAML list of cases:
//!
//! | key | meaning |
//! | --- | --- |
//! | `id`, `what` | the row or report that the case stands for; what is special about it |
//! | `each` | values of which each makes a case of its own, put where the text `$each` stands |
//! | `config` | a KubeSchedulerConfiguration without `apiVersion` and `kind` |
//! | `nodes` | `{name, labels, allocatable, taints, unschedulable, images, ..}`; 64 CPUs, 256Gi and 110 pods unless `allocatable` says otherwise |
//! | `pods` | `{name, namespace, labels, requests, on, spec, metadata, status, expect}`; one container `c` with the requests, unless `spec` has containers |
//! | `objects` | other objects, whole |
//! | `notes` | texts, each of which is part of a note |
//! | `faults` | texts, each of which is part of one error; there are no others, and nothing is placed |
//!
//! `expect` of a pod that waits is the name of its node, or some keys of its decision record; in
//! `scores` some nodes and plugins. Pods are placed in the table's order, each case through the
//! core's intake and through the command.

use crate::answer::Answer;
use crate::command::berth;
use crate::golden::{full_name, whole_configuration};
use berth_core::intake::{Intake, IntakeError};
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::Decoded;
use berth_core::{Detail, Options};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::process::Stdio;

/// One case of a table.
#[derive(Clone, Debug)]
pub struct Case {
    /// Row or report.
    pub id: String,
    /// `ID, what, with VALUE`: for messages.
    name: String,
    config: Option<Value>,
    /// A `List` of all objects.
    list: Value,
    /// By pod that is to be placed, in order: `NAMESPACE/NAME` and what is expected.
    expected: Vec<(String, Value)>,
    notes: Vec<String>,
    faults: Vec<String>,
}

/// What a face made of a case.
#[derive(Debug, Default)]
struct Outcome {
    answers: Vec<Answer>,
    notes: Vec<String>,
    faults: Vec<String>,
}

/// All cases of a table in `tests/cases/`.
pub fn table(file: &str) -> Vec<Case> {
    let text = crate::read(&format!("cases/{file}"));
    let cases: Vec<Value> =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("cases/{file}: {error}"));
    cases.into_iter().flat_map(each).collect()
}

/// The case once for each value of its `each`.
fn each(mut case: Value) -> Vec<Case> {
    let Some(values) = case
        .as_object_mut()
        .expect("a case is a map")
        .remove("each")
    else {
        return vec![Case::of(case, None)];
    };
    let values = values.as_array().expect("each is a list").clone();
    let cases = values.into_iter().map(|value| {
        let mut case = case.clone();
        put(&mut case, &value);
        Case::of(case, Some(&value))
    });
    cases.collect()
}

fn put(place: &mut Value, value: &Value) {
    match place {
        Value::String(text) if text == "$each" => *place = value.clone(),
        Value::String(text) if text.contains("$each") => {
            let value = value.as_str().expect("a text within a text");
            *text = text.replace("$each", value);
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| put(entry, value)),
        Value::Object(fields) => fields.values_mut().for_each(|field| put(field, value)),
        _ => {}
    }
}

impl Case {
    fn of(mut case: Value, value: Option<&Value>) -> Self {
        let fields = case.as_object_mut().expect("a case is a map");
        let mut take = |key: &str| fields.remove(key);
        let id = take("id").expect("a case has an id");
        let id = id.as_str().expect("an id is text").to_owned();
        let what = take("what").expect("a case says what it is");
        let mut name = format!("{id}, {}", what.as_str().expect("what is text"));
        if let Some(value) = value {
            name = format!("{name}, with {value}");
        }
        let list = |value: Option<Value>| match value {
            None => Vec::new(),
            Some(Value::Array(entries)) => entries,
            Some(other) => panic!("{name}: no list: {other}"),
        };
        let texts = |value| {
            let texts = list(value).into_iter();
            let text = |text: Value| text.as_str().expect("a text").to_owned();
            texts.map(text).collect::<Vec<_>>()
        };
        let mut items: Vec<Value> = list(take("nodes")).into_iter().map(node).collect();
        items.extend(list(take("objects")));
        let mut expected = Vec::new();
        for entry in list(take("pods")) {
            let (pod, expect) = pod(entry);
            if let Some(expect) = expect {
                expected.push((full_name(&pod), expect));
            }
            items.push(pod);
        }
        let case = Self {
            id,
            config: take("config").map(whole_configuration),
            list: json!({"apiVersion": "v1", "kind": "List", "items": items}),
            expected,
            notes: texts(take("notes")),
            faults: texts(take("faults")),
            name: name.clone(),
        };
        assert!(fields.is_empty(), "{name}: unknown keys {fields:?}");
        case
    }

    /// Runs the case through every face that takes whole inputs here.
    ///
    /// # Panics
    /// When an outcome is not the expected one.
    pub fn run(&self) {
        self.check("core", &self.through_core());
        self.check("command", &self.through_command());
    }

    fn check(&self, face: &str, outcome: &Outcome) {
        let name = format!("{} ({face})", self.name);
        let told = outcome.faults.join("\n");
        for fault in &self.faults {
            assert!(told.contains(fault), "{name}: {fault:?} is not in:\n{told}");
        }
        assert_eq!(outcome.faults.len(), self.faults.len(), "{name}:\n{told}");
        if !self.faults.is_empty() {
            assert!(outcome.answers.is_empty(), "{name}: something was placed");
            return;
        }
        for note in &self.notes {
            let is_told = outcome.notes.iter().any(|told| told.contains(note));
            assert!(is_told, "{name}: {note:?} is not in {:?}", outcome.notes);
        }
        let judged = outcome.answers.iter().map(|answer| &answer.pod);
        let judged: Vec<_> = judged.collect();
        let expected: Vec<_> = self.expected.iter().map(|(pod, _)| pod).collect();
        assert_eq!(judged, expected, "{name}: pods that were judged");
        for (answer, (_, expected)) in outcome.answers.iter().zip(&self.expected) {
            if let Some(problem) = difference(answer, expected) {
                panic!("{name}: {problem}\n{answer:#?}");
            }
        }
    }

    fn through_core(&self) -> Outcome {
        let config: KubeSchedulerConfiguration =
            self.config
                .as_ref()
                .map_or_else(Default::default, |config| {
                    serde_json::from_value(config.clone())
                        .unwrap_or_else(|error| panic!("{}: {error}", self.name))
                });
        let mut intake = Intake::new(config, Options::default(), None)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let document = serde_json::from_value(self.list.clone()).expect("any value");
        let loaded = match intake.load(vec![Decoded::from_value(document)]) {
            Ok(loaded) => loaded,
            Err(IntakeError::Invalid(faults)) => {
                return Outcome {
                    faults: faults.iter().map(ToString::to_string).collect(),
                    ..Outcome::default()
                };
            }
            Err(error) => panic!("{}: {error}", self.name),
        };
        let scheduler = intake.scheduler_mut();
        let answers = loaded.pending.iter().map(|pod| {
            let decision = scheduler.schedule(*pod);
            Answer::from_record(&scheduler.record(&decision, Detail::Full))
        });
        Outcome {
            answers: answers.collect(),
            notes: loaded.notes,
            faults: Vec::new(),
        }
    }

    fn through_command(&self) -> Outcome {
        let mut command = berth();
        command.args(["simulate", "-f", "-", "-o", "jsonl", "--explain", "full"]);
        command.args(["--order", "file", "--preemption=false"]);
        let config = self.config.as_ref().map(|config| {
            let mut file = tempfile::NamedTempFile::new().expect("a file for the configuration");
            write!(file, "{config}").expect("the configuration is written");
            file
        });
        if let Some(file) = &config {
            command.arg("--config").arg(file.path());
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let text = self.list.to_string();
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output().expect("the command ends");
        writer.join().expect("no panic").expect("the input is read");
        let stdout = String::from_utf8(output.stdout).expect("output is UTF-8");
        let stderr = String::from_utf8(output.stderr).expect("output is UTF-8");
        let begin = |word: &str| {
            let lines = stderr.lines().filter(|line| line.starts_with(word));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let outcome = Outcome {
            answers: stdout.lines().map(Answer::from_line).collect(),
            notes: begin("note: "),
            faults: begin("error: "),
        };
        let all_placed = outcome.answers.iter().all(|answer| answer.node.is_some());
        let code = match (outcome.faults.is_empty(), all_placed) {
            (false, _) => 2,
            (true, true) => 0,
            (true, false) => 1,
        };
        assert_eq!(output.status.code(), Some(code), "{}: {stderr}", self.name);
        outcome
    }
}

/// How the answer differs from what was expected.
fn difference(answer: &Answer, expected: &Value) -> Option<String> {
    let fields = match expected {
        Value::String(node) => {
            let is_there = answer.node.as_ref() == Some(node);
            return (!is_there).then(|| format!("{} is not on {node}", answer.pod));
        }
        Value::Object(fields) => fields,
        other => panic!("{}: no expectation: {other}", answer.pod),
    };
    fields.iter().find_map(|(key, expected)| {
        let found = match key.as_str() {
            "result" => json!(answer.result),
            "node" => json!(answer.node),
            "field" => json!(answer.field),
            "error" => json!(answer.error),
            "message" => json!(answer.message),
            "feasible" => json!(answer.feasible),
            "evaluated" => json!(answer.evaluated),
            "ties" => json!(answer.ties),
            "rejected" => json!(answer.rejected),
            "scores" => return scores(answer, expected),
            other => panic!("{}: unknown key {other}", answer.pod),
        };
        let differs = found != *expected;
        differs.then(|| format!("{}: {key} is {found}, not {expected}", answer.pod))
    })
}

/// The same for some scores: by node, then by plugin.
fn scores(answer: &Answer, expected: &Value) -> Option<String> {
    let nodes: &Map<String, Value> = expected.as_object().expect("scores are by node");
    nodes.iter().find_map(|(node, plugins)| {
        let mut scores = answer.scores.iter().flatten();
        let Some(score) = scores.find(|score| score.node == *node) else {
            return Some(format!("{}: no scores of {node}", answer.pod));
        };
        let plugins = plugins.as_object().expect("scores are by plugin");
        plugins.iter().find_map(|(plugin, expected)| {
            let found = json!(score.plugins.get(plugin));
            let differs = found != *expected;
            differs.then(|| format!("{plugin} of {node} is {found}, not {expected}"))
        })
    })
}

/// The node that a short form stands for.
pub(crate) fn node(mut short: Value) -> Value {
    let fields = short.as_object_mut().expect("a node is a map");
    let mut take = |key: &str| fields.remove(key);
    let mut node = take("whole").unwrap_or_else(|| json!({}));
    node["apiVersion"] = json!("v1");
    node["kind"] = json!("Node");
    node["metadata"] = json!({"name": take("name"), "labels": take("labels")});
    let mut allocatable = json!({"cpu": "64", "memory": "256Gi", "pods": "110"});
    if let Some(Value::Object(own)) = take("allocatable") {
        for (resource, amount) in own {
            allocatable[resource] = amount;
        }
    }
    node["status"] = json!({"allocatable": allocatable});
    if let Some(images) = take("images") {
        node["status"]["images"] = images;
    }
    node["spec"] = json!({});
    for key in ["taints", "unschedulable"] {
        if let Some(value) = take(key) {
            node["spec"][key] = value;
        }
    }
    assert!(fields.is_empty(), "unknown keys of a node: {fields:?}");
    node
}

/// The pod that a short form stands for, and what is expected of it.
pub(crate) fn pod(mut short: Value) -> (Value, Option<Value>) {
    let fields = short.as_object_mut().expect("a pod is a map");
    let mut take = |key: &str| fields.remove(key);
    let expect = take("expect");
    let mut metadata = take("metadata").unwrap_or_else(|| json!({}));
    metadata["name"] = take("name").expect("a pod has a name");
    metadata["namespace"] = take("namespace").unwrap_or_else(|| json!("default"));
    if let Some(labels) = take("labels") {
        metadata["labels"] = labels;
    }
    let mut spec = take("spec").unwrap_or_else(|| json!({}));
    let requests = take("requests");
    if spec.get("containers").is_none() {
        let mut container = json!({"name": "c"});
        if let Some(requests) = requests {
            container["resources"] = json!({"requests": requests});
        }
        spec["containers"] = json!([container]);
    }
    if let Some(node) = take("on") {
        spec["nodeName"] = node;
    }
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    if let Some(status) = take("status") {
        pod["status"] = status;
    }
    assert!(fields.is_empty(), "unknown keys of a pod: {fields:?}");
    (pod, expect)
}

/// Declares a test for each id of a table, under the name of its row or report, and one that finds
/// ids without a test.
#[macro_export]
macro_rules! table_tests {
    ($file:literal; $($test:ident $id:literal;)+) => {
        fn run(id: &str) {
            let cases = $crate::case::table($file);
            let cases: Vec<_> = cases.iter().filter(|case| case.id == id).collect();
            assert!(!cases.is_empty(), "{id} has no case in {}", $file);
            cases.into_iter().for_each($crate::case::Case::run);
        }

        $(#[test] fn $test() { run($id); })+

        #[test]
        fn every_case_of_the_table_has_a_test() {
            let tested = [$($id),+];
            for case in $crate::case::table($file) {
                assert!(tested.contains(&case.id.as_str()), "{} has no test", case.id);
            }
        }
    };
}
