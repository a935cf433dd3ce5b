//! JSON inputs: the command's reader against its own reading of them as YAML, and against the
//! core's, which C and Python use.

use super::decoding::prepared;
use berth_core::object::Object;
use berth_core::object::decode::Decoded;
use berth_daemon::input::Input;
use std::path::Path;

/// Reads a text three ways.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    if !text.trim_start().starts_with('{') {
        return;
    }
    let json = read(text);
    if json.problems.is_empty() {
        // A comment before it makes it YAML.
        let yaml = read(&format!("# JSON\n{text}"));
        if yaml.problems.is_empty() {
            assert_eq!(json.objects, yaml.objects);
            assert_eq!(json.other_kinds, yaml.other_kinds);
        }
        if let Ok(decoded) = serde_json::from_str::<Decoded>(text) {
            let mut objects = Vec::new();
            assert!(flatten(decoded, &mut objects), "the command takes it");
            assert_eq!(json.objects, objects);
        }
    }
    // What a face does next.
    let prepared = prepared(json.objects);
    for problem in &prepared.problems {
        assert!(!problem.subject.is_empty() && !problem.invalid.problem.is_empty());
    }
}

fn read(text: &str) -> Input {
    let mut input = Input::default();
    input.add_text(Path::new("input.json"), text);
    input
}

/// The objects of a document; `false` if any is refused.
fn flatten(decoded: Decoded, objects: &mut Vec<Object>) -> bool {
    match decoded {
        Decoded::Empty | Decoded::Foreign { .. } => true,
        Decoded::Object(object) => {
            objects.push(*object);
            true
        }
        Decoded::List(items) => items.into_iter().all(|item| flatten(item, objects)),
        Decoded::Refused(_) => false,
    }
}
