//! What extenders answer: JSON with Go's field names, in any case, as Go's decoder reads them.
//!
//! The stage before is the call over HTTP, the one after the loop's hooks, which know the nodes that were
//! asked about. Mirrors `staging/src/k8s.io/kube-scheduler/extender/v1`.

use serde_json::Value;
use std::collections::BTreeMap;

/// What a filter verb answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filtered {
    /// Names of nodes that stay.
    pub kept: Vec<String>,
    /// Nodes that go, with a text and whether no preemption helps; each once.
    pub failed: Vec<(String, String, bool)>,
}

/// What a preempt verb answers of a node: the victims' uids, and how many violate a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    pub node: String,
    pub victims: Vec<String>,
    pub violations: i64,
}

/// The first value of an answer; Go reads no further.
///
/// # Errors
/// What is no JSON, or nothing at all.
pub fn first(bytes: &[u8]) -> Result<Value, String> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(wrong(&error.to_string())),
        None => Err("EOF".to_owned()),
    }
}

/// Reads `ExtenderFilterResult`. Nodes come by name if `by_name` and they are there.
///
/// # Errors
/// The error that the extender tells, or another shape.
pub fn filtered(answer: &Value, by_name: bool) -> Result<Filtered, String> {
    fails(answer)?;
    let names = field(answer, "NodeNames").filter(|_| by_name);
    let kept = match (names, field(answer, "Nodes")) {
        (Some(names), _) => list(names)?.map(text).collect::<Result<_, _>>()?,
        (None, Some(nodes)) => {
            let items = field(nodes, "items");
            let items = items.map(list).transpose()?.into_iter().flatten();
            let name = |node| field(field(node, "metadata")?, "name");
            let names = items.map(|node| name(node).map_or(Ok(String::new()), text));
            names.collect::<Result<_, _>>()?
        }
        (None, None) => Vec::new(),
    };
    let mut failed = BTreeMap::new();
    for (map, unresolvable) in [("FailedAndUnresolvableNodes", true), ("FailedNodes", false)] {
        let Some(map) = field(answer, map) else {
            continue;
        };
        for (node, why) in fields(map)? {
            let entry = failed.entry(node.clone());
            entry.or_insert((text(why)?, unresolvable));
        }
    }
    let failed = failed.into_iter();
    Ok(Filtered {
        kept,
        failed: failed
            .map(|(node, (why, unresolvable))| (node, why, unresolvable))
            .collect(),
    })
}

/// Reads `HostPriorityList`.
///
/// # Errors
/// Another shape.
pub fn scored(answer: &Value) -> Result<Vec<(String, i64)>, String> {
    list(answer)?
        .map(|entry| {
            let host = field(entry, "Host").map_or(Ok(String::new()), text)?;
            Ok((host, number(entry, "Score")?))
        })
        .collect()
}

/// Reads `ExtenderPreemptionResult`.
///
/// # Errors
/// Another shape.
pub fn left(answer: &Value) -> Result<Vec<Left>, String> {
    fields(answer).map(drop)?;
    let Some(map) = field(answer, "NodeNameToMetaVictims") else {
        return Ok(Vec::new());
    };
    let nodes = fields(map)?.map(|(node, victims)| {
        let (mut pods, mut violations) = (Vec::new(), 0);
        if !victims.is_null() {
            violations = number(victims, "NumPDBViolations")?;
            if let Some(listed) = field(victims, "Pods") {
                let uids = list(listed)?.map(|pod| match field(pod, "UID") {
                    Some(uid) => text(uid),
                    None => Ok(String::new()),
                });
                pods = uids.collect::<Result<_, _>>()?;
            }
        }
        Ok(Left {
            node: node.clone(),
            victims: pods,
            violations,
        })
    });
    nodes.collect()
}

/// Reads `ExtenderBindingResult`.
///
/// # Errors
/// The error that the extender tells, or another shape.
pub fn bound(answer: &Value) -> Result<(), String> {
    fails(answer)
}

/// The error that an answer may carry.
fn fails(answer: &Value) -> Result<(), String> {
    fields(answer).map(drop)?;
    match field(answer, "Error").map(text).transpose()? {
        Some(error) if !error.is_empty() => Err(error),
        _ => Ok(()),
    }
}

/// A field that is there and not null.
fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let map = value.as_object()?;
    let exact = map.get(name);
    let other = || {
        let mut all = map.iter();
        all.find(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    };
    exact.or_else(other).filter(|value| !value.is_null())
}

fn fields(value: &Value) -> Result<impl Iterator<Item = (&String, &Value)>, String> {
    let map = value.as_object();
    map.map(serde_json::Map::iter)
        .ok_or_else(|| wrong("no object where one is expected"))
}

fn list(value: &Value) -> Result<impl Iterator<Item = &Value>, String> {
    let list = value.as_array();
    list.map(|list| list.iter())
        .ok_or_else(|| wrong("no list where one is expected"))
}

fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        _ => Err(wrong("no text where one is expected")),
    }
}

fn number(value: &Value, name: &str) -> Result<i64, String> {
    let given = field(value, name);
    given.map_or(Ok(0), |number| {
        let number = number.as_i64();
        number.ok_or_else(|| wrong(&format!("{name} is no whole number of 64 bits")))
    })
}

fn wrong(why: &str) -> String {
    format!("the extender's answer makes no sense: {why}")
}

#[cfg(test)]
mod tests {
    use super::{Filtered, Left, bound, filtered, first, left, scored};
    use serde_json::json;

    #[test]
    fn nodes_are_taken_by_name_or_from_their_objects() {
        let answer = json!({
            "nodenames": ["b", "a"],
            "Nodes": {"items": [{"metadata": {"name": "c"}}]},
            "FailedNodes": {"d": "full", "e": "hot"},
            "failedAndUnresolvableNodes": {"e": "gone"},
            "Error": "",
        });
        let failed = vec![
            ("d".to_owned(), "full".to_owned(), false),
            ("e".to_owned(), "gone".to_owned(), true),
        ];
        for (by_name, kept) in [(true, &["b", "a"][..]), (false, &["c"])] {
            let kept = kept.iter().map(|name| (*name).to_owned()).collect();
            let expected = Filtered {
                kept,
                failed: failed.clone(),
            };
            assert_eq!(filtered(&answer, by_name), Ok(expected));
        }
        let nothing = filtered(&json!({}), true).expect("nothing is left");
        assert_eq!(nothing.kept, Vec::<String>::new());
        let error = json!({"NodeNames": ["a"], "Error": "out of order"});
        assert_eq!(filtered(&error, true), Err("out of order".to_owned()));
    }

    #[test]
    fn answers_of_the_wrong_shape_are_errors() {
        for bytes in [&b""[..], b" ", b"<html>", b"{\"NodeNames\": [\"a\""] {
            assert!(first(bytes).is_err());
        }
        assert_eq!(first(b"{} trailing"), Ok(json!({})));
        for answer in [json!(null), json!([]), json!("a"), json!(1)] {
            assert!(filtered(&answer, true).is_err(), "{answer}");
            assert!(left(&answer).is_err(), "{answer}");
            assert!(bound(&answer).is_err(), "{answer}");
        }
        assert!(filtered(&json!({"NodeNames": [1]}), true).is_err());
        assert!(filtered(&json!({"FailedNodes": ["a"]}), true).is_err());
        for answer in [
            json!(null),
            json!({}),
            json!([{"Host": "a", "Score": 1.5}]),
            json!([{"Host": "a", "Score": 1e30}]),
        ] {
            assert!(scored(&answer).is_err(), "{answer}");
        }
        let scores = json!([{"host": "a", "score": -3}, {"Host": "b"}]);
        let expected = vec![("a".to_owned(), -3), ("b".to_owned(), 0)];
        assert_eq!(scored(&scores), Ok(expected));
    }

    #[test]
    fn victims_may_be_missing() {
        let answer = json!({"NodeNameToMetaVictims": {
            "a": {"Pods": [{"UID": "1"}, {"UID": "2"}], "NumPDBViolations": 1},
            "b": {"Pods": []},
            "c": null,
        }});
        let of = |node: &str, victims: &[&str], violations| Left {
            node: node.to_owned(),
            victims: victims.iter().map(|uid| (*uid).to_owned()).collect(),
            violations,
        };
        let expected = vec![of("a", &["1", "2"], 1), of("b", &[], 0), of("c", &[], 0)];
        assert_eq!(left(&answer), Ok(expected));
        assert_eq!(left(&json!({})), Ok(vec![]));
    }
}
