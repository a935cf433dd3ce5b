//! A pod as writes name it.

use super::model::Model;
use berth_core::id::PodId;
use serde_json::{Value, json};

/// Which pod, by all its names: its row may be another's by the time an answer comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRef {
    pub id: PodId,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    /// For events.
    pub version: u64,
}

impl PodRef {
    /// The pod of this id, as the model has it.
    pub fn of(model: &Model, id: PodId) -> Self {
        let (namespace, name) = model.scheduler().pod_name(id);
        Self {
            id,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: model.scheduler().pod_uid(id).to_owned(),
            version: model.facts(id).map_or(0, |facts| facts.version),
        }
    }

    /// Whether it is still the pod of its row.
    pub fn is_current(&self, model: &Model) -> bool {
        let scheduler = model.scheduler();
        scheduler.pod_name(self.id) == (&self.namespace, &self.name)
            && scheduler.pod_uid(self.id) == self.uid
    }

    /// `NAMESPACE/NAME`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Where the API server has it.
    pub fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods/{}", self.namespace, self.name)
    }

    /// As events refer to it.
    pub fn reference(&self) -> Value {
        json!({
            "kind": "Pod",
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "apiVersion": "v1",
            "resourceVersion": self.version.to_string(),
        })
    }
}
