//! What is read of an object before it is decoded.

use super::tree::Tree;
use berth_core::object::decode::Kind;
use serde::Deserialize;

/// Kind and name of an object, as far as it says them.
#[derive(Clone, Debug, Default)]
pub struct Header {
    pub api_version: Option<String>,
    pub kind: Option<String>,
    pub metadata: Option<HeaderMeta>,
}

/// `metadata`, as far as it names the object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HeaderMeta {
    name: Option<String>,
    namespace: Option<String>,
}

impl Header {
    /// The header of a tree; what is no text counts as absent.
    pub fn of(tree: &Tree) -> Self {
        let text = |tree: &Tree, name| tree.text(name).map(str::to_owned);
        Self {
            api_version: text(tree, "apiVersion"),
            kind: text(tree, "kind"),
            metadata: tree.field("metadata").map(|metadata| HeaderMeta {
                name: text(metadata, "name"),
                namespace: text(metadata, "namespace"),
            }),
        }
    }

    /// The header with the kind that the List around the object says: the API server leaves out
    /// the kind of a `PodList`'s pods.
    pub fn or_kind(mut self, kind: Option<&'static Kind>) -> Self {
        if let Some(kind) = kind {
            self.kind.get_or_insert_with(|| kind.name.to_owned());
            self.api_version
                .get_or_insert_with(|| kind.api_version.to_owned());
        }
        self
    }

    /// The field in which the object says something else than the List around it, what it says, and
    /// what the List does.
    pub fn clash(&self, kind: &'static Kind) -> Option<(&'static str, &str, &'static str)> {
        let fields = [
            ("kind", self.kind.as_deref(), kind.name),
            ("apiVersion", self.api_version.as_deref(), kind.api_version),
        ];
        fields.into_iter().find_map(|(field, given, expected)| {
            let given = given?;
            (given != expected).then_some((field, given, expected))
        })
    }

    /// Kind and name as far as known, to be told in a message.
    pub fn describe(&self) -> Option<String> {
        let kind = self.kind.as_deref();
        let metadata = self.metadata.as_ref();
        let name = metadata.and_then(|metadata| metadata.name.as_deref());
        let namespace = metadata.and_then(|metadata| metadata.namespace.as_deref());
        match (kind, namespace, name) {
            (Some(kind), Some(namespace), Some(name)) => Some(format!("{kind} {namespace}/{name}")),
            (Some(kind), None, Some(name)) => Some(format!("{kind} {name}")),
            (Some(kind), _, None) => Some(kind.to_owned()),
            (None, _, Some(name)) => Some(name.to_owned()),
            (None, _, None) => None,
        }
    }
}
