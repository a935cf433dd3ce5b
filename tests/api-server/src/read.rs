//! Get and list.

use crate::kind::Target;
use crate::query::Query;
use crate::refusal::Refusal;
use crate::select::Selection;
use crate::store::{Key, Store};
use crate::stored::Stored;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn key(target: &Target) -> Key {
    (target.kind, target.namespace.clone(), target.name.clone())
}

pub(crate) fn get(store: &Store, target: &Target) -> Result<Arc<Stored>, Refusal> {
    let object = store.get(&key(target)).cloned();
    object.ok_or_else(|| Refusal::not_found(target))
}

/// A list, or a page of it. Pages are all of the version of the first one, and 410 when that is
/// forgotten.
pub(crate) fn list(store: &Store, target: &Target, query: &Query) -> Result<String, Refusal> {
    let wanted = query.version()?;
    if wanted > store.version() {
        return Err(Refusal::too_new(wanted, store.version()));
    }
    let selection = Selection::new(&target.namespace, query.get("fieldSelector"))?;
    let (version, after) = match query.get("continue") {
        "" if query.get("resourceVersionMatch") == "Exact" => (wanted, ""),
        "" => (store.version(), ""),
        token => resume(token)?,
    };
    let then = store.at(version).ok_or_else(Refusal::expired)?;
    let rest = then
        .all(target.kind)
        .filter(|object| selection.holds(object));
    let mut rest =
        rest.filter(|object| after.is_empty() || place(&object.value()).as_str() > after);
    // A cache, which is asked by version 0, gives all at once.
    let from_cache = query.get("resourceVersion") == "0";
    let limit = match query.number("limit")? {
        Some(limit) if limit > 0 && !from_cache => limit as usize,
        _ => usize::MAX,
    };
    let items: Vec<&Arc<Stored>> = rest.by_ref().take(limit).collect();
    let left = rest.count();
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if let Some(last) = items.last().filter(|_| left > 0) {
        metadata["continue"] = json!(format!("{version}/{}", place(&last.value())));
        metadata["remainingItemCount"] = json!(left);
    }
    let (kind, api_version) = (target.kind.kind, target.kind.api_version());
    let head = json!({
        "kind": format!("{kind}List"),
        "apiVersion": api_version,
        "metadata": metadata,
    });
    // The items are texts already.
    let mut text = head.to_string();
    text.pop();
    text.push_str(",\"items\":[");
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        text.push_str(std::str::from_utf8(item.text()).expect("JSON"));
    }
    text.push_str("]}");
    Ok(text)
}

/// Where an object stands in its list.
fn place(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

fn resume(token: &str) -> Result<(u64, &str), Refusal> {
    let bad = || Refusal::bad_request("continue key is not valid");
    let (version, after) = token.split_once('/').ok_or_else(bad)?;
    Ok((version.parse().map_err(|_| bad())?, after))
}
