//! Patches.

use serde_json::{Map, Value, json};

/// Lists whose items are merged by a key, as their types say; other lists are replaced.
const MERGED: [(&str, &str); 8] = [
    ("conditions", "type"),
    ("containers", "name"),
    ("initContainers", "name"),
    ("ownerReferences", "uid"),
    ("schedulingGates", "name"),
    ("taints", "key"),
    ("addresses", "type"),
    ("podIPs", "ip"),
];

/// Merges `patch` into `target`: objects field by field, with null removing one. Where `strategic`,
/// lists of [`MERGED`] are merged item by item too, and directives are followed.
pub(crate) fn merge(target: &mut Value, patch: &Value, strategic: bool) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Value::Object(fields) = target else {
        return;
    };
    if strategic && patch.get("$patch") == Some(&json!("replace")) {
        fields.clear();
    }
    for (name, change) in patch {
        if strategic && name.starts_with('$') {
            continue;
        }
        merge_field(fields, name, change, strategic);
    }
}

fn merge_field(fields: &mut Map<String, Value>, name: &str, change: &Value, strategic: bool) {
    if change.is_null() {
        fields.remove(name);
        return;
    }
    let key = MERGED.iter().find(|(list, _)| strategic && *list == name);
    let field = fields.entry(name).or_insert(Value::Null);
    match (key, change) {
        (Some((_, key)), Value::Array(changes)) => merge_list(field, changes, key),
        _ => merge(field, change, strategic),
    }
}

fn merge_list(list: &mut Value, changes: &[Value], key: &str) {
    if !list.is_array() {
        *list = json!([]);
    }
    let Value::Array(items) = list else {
        return;
    };
    for change in changes {
        let same = |item: &Value| item[key] == change[key];
        if change["$patch"] == "delete" {
            items.retain(|item| !same(item));
        } else if let Some(item) = items.iter_mut().find(|item| same(item)) {
            merge(item, change, true);
        } else {
            let mut item = json!({});
            merge(&mut item, change, true);
            items.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::merge;
    use serde_json::json;

    #[test]
    fn a_strategic_patch_merges_conditions_by_type_and_follows_directives() {
        let before = json!({
            "nominatedNodeName": "n",
            "phase": "Pending",
            "conditions": [{"type": "A", "status": "True", "reason": "r"}, {"type": "B"}, {"type": "C"}],
        });
        let patch = json!({
            "nominatedNodeName": null,
            "$setElementOrder/conditions": [{"type": "A"}],
            "conditions": [
                {"type": "A", "status": "False", "reason": null},
                {"type": "D"},
                {"$patch": "delete", "type": "C"},
            ],
        });
        let mut strategic = before.clone();
        merge(&mut strategic, &patch, true);
        let conditions = json!([{"type": "A", "status": "False"}, {"type": "B"}, {"type": "D"}]);
        assert_eq!(
            strategic,
            json!({"phase": "Pending", "conditions": conditions})
        );

        let mut plain = before;
        merge(&mut plain, &json!({"conditions": [], "phase": null}), false);
        assert_eq!(plain, json!({"nominatedNodeName": "n", "conditions": []}));
    }
}
