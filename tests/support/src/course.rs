//! Tables of courses: what happens to a small cluster, and the attempts that follow.
//!
//! A table in `tests/cases/` is a YAML list of courses: `id` and `what` as in [`case`](crate::case),
//! `config`, `graceful: true` for graceful deletion, and `steps`, each with one of these keys:
//!
//! | key | meaning |
//! | --- | --- |
//! | `nodes`, `pods` | come, in the short form of [`case`](crate::case) |
//! | `objects` | come or change, whole |
//! | `update` | `nodes` or `pods` that change |
//! | `delete` | texts such as `Pod default/p`, `Node n1` |
//! | `settle`, `advance` | attempts, at once or within so many seconds; `expect` says which |
//!
//! An attempt is `p -> n1` (bound), `p waits`, or `p evicts q r`; pods of the namespace `default` by
//! their name alone. Courses run through the command.

use crate::case::{node, pod};
use crate::command::berth;
use serde_json::{Value, json};
use std::io::Write;

/// All courses of a table, by id.
pub fn courses(file: &str) -> Vec<(String, Value)> {
    let text = crate::read(&format!("cases/{file}"));
    let courses: Vec<Value> =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("cases/{file}: {error}"));
    let id = |course: &Value| {
        course["id"]
            .as_str()
            .expect("a course has an id")
            .to_owned()
    };
    courses
        .into_iter()
        .map(|course| (id(&course), course))
        .collect()
}

/// Runs a course and compares its attempts.
pub fn run(course: &Value) {
    let name = format!("{}, {}", course["id"], course["what"]);
    let steps = course["steps"].as_array().expect("a course has steps");
    let mut head = json!({});
    if !course["config"].is_null() {
        head["config"] = course["config"].clone();
    }
    if !course["graceful"].is_null() {
        head["gracefulDeletion"] = course["graceful"].clone();
    }
    let mut lines = vec![head];
    let mut expected = Vec::new();
    for step in steps {
        lines.extend(trace_steps(step));
        let attempts = step["expect"].as_array().into_iter().flatten();
        expected.extend(attempts.map(|attempt| attempt.as_str().expect("a text").to_owned()));
    }
    let mut file = tempfile::NamedTempFile::new().expect("a file for the trace");
    for line in &lines {
        writeln!(file, "{line}").expect("the trace is written");
    }
    let output = berth()
        .args(["simulate", "--attempts", "-o", "jsonl", "--trace"])
        .arg(file.path())
        .output()
        .expect("the command runs");
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{name}: {notes}"
    );
    let stdout = String::from_utf8(output.stdout).expect("output is UTF-8");
    let attempts: Vec<String> = stdout.lines().map(told).collect();
    assert_eq!(attempts, expected, "{name}\n{stdout}");
}

/// The steps of a trace that a step of a course stands for.
fn trace_steps(step: &Value) -> Vec<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let put = |op: &str, step: &Value| {
        let nodes: Vec<Value> = list(&step["nodes"]).into_iter().map(node).collect();
        let pods: Vec<Value> = list(&step["pods"])
            .into_iter()
            .map(|own| pod(own).0)
            .collect();
        let step = |kind: &str, objects: Vec<Value>| {
            (!objects.is_empty()).then(|| json!({"op": op, "kind": kind, "objects": objects}))
        };
        [step("Node", nodes), step("Pod", pods)]
            .into_iter()
            .flatten()
            .collect()
    };
    let keys: Vec<&String> = step.as_object().expect("a step is a map").keys().collect();
    let main = keys
        .iter()
        .find(|key| key.as_str() != "expect")
        .expect("a step does something");
    match main.as_str() {
        "nodes" | "pods" => put("add", step),
        "update" => put("update", &step["update"]),
        "objects" => vec![json!({"op": "apply", "objects": step["objects"]})],
        "delete" => {
            let gone = list(&step["delete"]).into_iter().map(|text| {
                let text = text.as_str().expect("a text");
                let (kind, name) = text.split_once(' ').expect("KIND NAME");
                match name.split_once('/') {
                    Some((namespace, name)) => {
                        json!({"op": "delete", "kind": kind, "namespace": namespace, "name": name})
                    }
                    None => json!({"op": "delete", "kind": kind, "name": name}),
                }
            });
            gone.collect()
        }
        "settle" => vec![json!({"op": "settle"})],
        "advance" => vec![json!({"op": "advance", "seconds": step["advance"]})],
        other => panic!("no step: {other}"),
    }
}

/// An attempt's record in words.
fn told(line: &str) -> String {
    let record: Value = serde_json::from_str(line).expect("a record");
    let short = |name: &Value| {
        let name = name.as_str().expect("a name");
        name.strip_prefix("default/").unwrap_or(name).to_owned()
    };
    let pod = short(&record["pod"]);
    if let Some(node) = record["node"].as_str() {
        return format!("{pod} -> {node}");
    }
    match record["victims"].as_array() {
        Some(victims) => {
            let victims: Vec<String> = victims.iter().map(short).collect();
            format!("{pod} evicts {}", victims.join(" "))
        }
        None => format!("{pod} waits"),
    }
}

/// A test for each id, which runs all its courses; and one that no course is left out.
#[macro_export]
macro_rules! course_tests {
    ($file:literal; $($test:ident $id:literal;)+) => {
        fn run(id: &str) {
            let courses = $crate::course::courses($file);
            let courses: Vec<_> = courses.iter().filter(|(own, _)| own == id).collect();
            assert!(!courses.is_empty(), "{id} has no course in {}", $file);
            for (_, course) in courses {
                $crate::course::run(course);
            }
        }

        $(#[test] fn $test() { run($id); })+

        #[test]
        fn every_course_of_the_table_has_a_test() {
            let tested = [$($id),+];
            for (id, _) in $crate::course::courses($file) {
                assert!(tested.contains(&id.as_str()), "{id} has no test");
            }
        }
    };
}
