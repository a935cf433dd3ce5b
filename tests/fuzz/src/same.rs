//! When two values of a document are the same, whichever parser read them.

use berth_core::object::decode::Value;

/// Whether two trees are equal; a whole number may be written as a float.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Map(one), Value::Map(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, one), (other_key, other))| key == other_key && same(one, other))
        }
        _ if one == other => true,
        _ => number(one).is_some_and(|one| Some(one) == number(other)),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Signed(number) => Some(*number as f64),
        Value::Unsigned(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// Whether a tree can be written as JSON: every number is finite.
pub fn is_json(value: &Value) -> bool {
    match value {
        Value::Float(number) => number.is_finite(),
        Value::List(values) => values.iter().all(is_json),
        Value::Map(fields) => fields.values().all(is_json),
        _ => true,
    }
}
