//! Field selectors: `path=value` and `path!=value`, all of which must hold.

use crate::refusal::Refusal;
use crate::stored::Stored;
use serde_json::Value;

/// A request's selection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    namespace: String,
    fields: Vec<(String, String, bool)>,
}

impl Selection {
    /// Of one namespace, unless it is empty.
    pub(crate) fn new(namespace: &str, fields: &str) -> Result<Self, Refusal> {
        let parts = fields.split(',').filter(|part| !part.is_empty());
        let fields = parts.map(|part| {
            let (path, value) = part
                .split_once('=')
                .ok_or_else(|| Refusal::bad_request(&format!("invalid field selector {part:?}")))?;
            let equal = !path.ends_with('!');
            let path = path.trim_end_matches('!');
            let value = value.trim_start_matches('=');
            Ok((path.to_owned(), value.to_owned(), equal))
        });
        Ok(Self {
            namespace: namespace.to_owned(),
            fields: fields.collect::<Result<_, Refusal>>()?,
        })
    }

    pub(crate) fn holds(&self, object: &Stored) -> bool {
        let all = self.namespace.is_empty() && self.fields.is_empty();
        all || self.holds_tree(&object.value())
    }

    fn holds_tree(&self, object: &Value) -> bool {
        let namespace = object["metadata"]["namespace"].as_str();
        let here = self.namespace.is_empty() || namespace == Some(self.namespace.as_str());
        here && self.fields.iter().all(|(path, value, equal)| {
            let found = path.split('.').fold(object, |object, field| &object[field]);
            (found.as_str().unwrap_or_default() == value) == *equal
        })
    }
}
