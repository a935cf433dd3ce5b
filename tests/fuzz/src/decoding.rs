//! Objects of one kind from JSON, as it streams by and as a tree.

use berth_core::object::Object;
use berth_core::object::decode::{Value, decode};
use berth_core::object::input::{InputOptions, Prepared, prepare};

/// The object of a kind that the bytes are, if they are JSON and one.
///
/// A parser's stream and a tree of values are two ways to the same answer: the files of the command
/// take the first and fall back on the second for its errors, C and Python the other way round.
pub fn object(kind: &str, bytes: &[u8]) -> Option<Object> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let mut stream = serde_json::Deserializer::from_slice(bytes);
    let streamed = decode(kind, &mut stream);
    match (decode(kind, value), streamed) {
        (Ok(tree), Ok(streamed)) => {
            assert_eq!(tree, streamed);
            tree
        }
        (Err(_), Err(_)) => None,
        (tree, streamed) => panic!("as a tree {tree:?}, as a stream {streamed:?}"),
    }
}

/// What a face makes of objects: validated, defaulted, with the pods of workloads.
pub fn prepared(objects: Vec<Object>) -> Prepared {
    let options = InputOptions {
        scheduler_names: &["default-scheduler"],
        made_pods_max: 8,
        storage_class: None,
    };
    prepare(objects, &options)
}
