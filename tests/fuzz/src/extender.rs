//! What extenders answer, by every verb's reader.

use berth_daemon::extender_answer::{Filtered, Left, bound, filtered, first, left, scored};
use serde_json::{Map, Value, json};

/// Reads an answer.
pub fn run(bytes: &[u8]) {
    let Ok(answer) = first(bytes) else {
        return;
    };
    // What follows the first value is not read.
    let more = [bytes, b" {\"Error\": \"later\"}"].concat();
    if answer.is_object() || answer.is_array() {
        assert_eq!(first(&more).as_ref(), Ok(&answer));
    }
    let folded = folded(&answer);
    for by_name in [true, false] {
        let read = filtered(&answer, by_name);
        if let Ok(read) = &read {
            let told = filtered(&filter_answer(read, by_name), by_name);
            assert_eq!(told.as_ref(), Ok(read));
            let mut nodes: Vec<_> = read.failed.iter().map(|(node, ..)| node).collect();
            nodes.dedup();
            assert_eq!(nodes.len(), read.failed.len(), "a node fails once");
            assert_eq!(bound(&answer), Ok(()), "it says no error");
        }
        if let Some(folded) = &folded {
            assert_eq!(filtered(folded, by_name), read, "names in another case");
        }
    }
    if let Ok(read) = scored(&answer) {
        let entry = |(host, score): &(String, i64)| json!({"Host": host, "Score": score});
        let list = read.iter().map(entry).collect();
        assert_eq!(scored(&list), Ok(read));
    }
    let read = left(&answer);
    if let Ok(read) = &read {
        assert_eq!(left(&preempt_answer(read)).as_ref(), Ok(read));
    }
    if let Some(folded) = folded {
        assert_eq!(left(&folded), read, "names in another case");
        assert_eq!(bound(&folded), bound(&answer));
    }
}

fn filter_answer(read: &Filtered, by_name: bool) -> Value {
    let failed = |unresolvable| {
        let own = read.failed.iter().filter(|(.., own)| *own == unresolvable);
        own.map(|(node, why, _)| (node.clone(), json!(why)))
            .collect::<Map<_, _>>()
    };
    let mut answer = json!({
        "FailedNodes": failed(false),
        "FailedAndUnresolvableNodes": failed(true),
    });
    if by_name {
        answer["NodeNames"] = json!(read.kept);
    } else {
        let node = |name: &String| json!({"metadata": {"name": name}});
        answer["Nodes"] = json!({"items": read.kept.iter().map(node).collect::<Value>()});
    }
    answer
}

fn preempt_answer(read: &[Left]) -> Value {
    let node = |own: &Left| {
        let pods = own.victims.iter().map(|uid| json!({"UID": uid}));
        let victims = json!({"Pods": pods.collect::<Value>(), "NumPDBViolations": own.violations});
        (own.node.clone(), victims)
    };
    json!({"NodeNameToMetaVictims": read.iter().map(node).collect::<Map<_, _>>()})
}

/// The answer with the names of its own fields in small letters, unless two are the same then.
fn folded(answer: &Value) -> Option<Value> {
    let fields = answer.as_object()?;
    let lower = fields
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    let lower: Map<String, Value> = lower.collect();
    (lower.len() == fields.len()).then_some(Value::Object(lower))
}
