//! What the user should know but need not act on, on stderr.

use crate::failure::tell;
use std::collections::BTreeMap;

/// Kinds that are named one by one.
const KINDS_SHOWN_MAX: usize = 10;

/// Tells which kinds of the input were left alone.
pub fn other_kinds(other_kinds: &BTreeMap<String, usize>) {
    if other_kinds.is_empty() {
        return;
    }
    let mut kinds: Vec<_> = other_kinds
        .iter()
        .take(KINDS_SHOWN_MAX)
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    if let more @ 1.. = other_kinds.len().saturating_sub(KINDS_SHOWN_MAX) {
        kinds.push(format!("and {more} more kinds"));
    }
    let kinds = kinds.join(", ");
    tell(
        "note",
        &format!("objects that scheduling does not read: {kinds}"),
    );
}
