//! YAML: a document against JSON's reading of it, and a whole input.

use super::same::{is_json, same};
use berth_core::object::decode::Value;
use berth_daemon::input::{Input, Place, Whole};
use std::path::Path;

/// Reads a document, and the text as an input file.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    document(text);
    input(text);
}

fn document(text: &str) {
    let Ok(yaml) = whole(text) else {
        return;
    };
    // JSON is YAML, and means the same.
    if let Ok(json) = serde_json::from_str::<Value>(text) {
        assert!(same(&yaml, &json), "as YAML {yaml}, as JSON {json}");
    }
    if is_json(&yaml) {
        let written = serde_json::to_string(&yaml).expect("a finite tree");
        let json: Value = serde_json::from_str(&written).expect("what was written");
        assert!(same(&yaml, &json), "{yaml} was written as {written}");
        if let Ok(again) = whole(&written) {
            assert!(same(&yaml, &again), "{yaml} was written as {written}");
        }
    }
}

fn whole(text: &str) -> Result<Value, String> {
    Whole::read(Place::default(), text.to_owned())
        .map(|whole| whole.value())
        .map_err(|problem| problem.to_string())
}

/// Each problem has its place, and objects have theirs.
fn input(text: &str) {
    let name = Path::new("input.yaml");
    let mut input = Input::default();
    input.add_text(name, text);
    assert_eq!(input.objects.len(), input.places.len());
    // To YAML a lone carriage return ends a line too.
    let lines = text.matches(['\n', '\r']).count() as u32 + 1;
    let problems = input.problems.iter().map(|problem| &problem.place);
    for place in problems.chain(&input.places) {
        assert_eq!(place.file.as_deref(), Some(name));
        // A parser that expects more may stand behind the last line.
        let line = place.line.unwrap_or(1);
        assert!((1..=lines + 1).contains(&line), "line {line} of {lines}");
    }
}
