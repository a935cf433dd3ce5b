//! An object as the server holds it: its text, made once for all who are told of it, and mostly the tree.

use hyper::body::Bytes;
use serde_json::{Value, json};
use std::borrow::Cow;

/// An object that does not change; a change is another one.
#[derive(Debug)]
pub(crate) struct Stored {
    text: Bytes,
    /// `None` of what came in bulk: a tree takes more room than its text.
    tree: Option<Value>,
}

impl Stored {
    pub(crate) fn new(tree: Value) -> Self {
        Self {
            text: tree.to_string().into(),
            tree: Some(tree),
        }
    }

    pub(crate) fn text_alone(tree: &Value) -> Self {
        Self {
            text: tree.to_string().into(),
            tree: None,
        }
    }

    /// As JSON.
    pub(crate) fn text(&self) -> &Bytes {
        &self.text
    }

    /// As a tree.
    pub(crate) fn value(&self) -> Cow<'_, Value> {
        match &self.tree {
            Some(tree) => Cow::Borrowed(tree),
            None => Cow::Owned(serde_json::from_slice(&self.text).expect("it was written here")),
        }
    }

    /// The same under another version.
    pub(crate) fn at_version(&self, version: u64) -> Self {
        let mut tree = self.value().into_owned();
        tree["metadata"]["resourceVersion"] = json!(version.to_string());
        Self::new(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::Stored;
    use serde_json::json;

    #[test]
    fn text_and_tree_say_the_same() {
        let tree = json!({"metadata": {"name": "a", "resourceVersion": "1"}});
        for stored in [Stored::new(tree.clone()), Stored::text_alone(&tree)] {
            assert_eq!(stored.value().as_ref(), &tree);
            assert_eq!(stored.text().as_ref(), tree.to_string().as_bytes());
            let later = stored.at_version(7);
            assert_eq!(later.value()["metadata"]["resourceVersion"], "7");
        }
    }
}
