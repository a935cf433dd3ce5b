//! The calls to the API server that volumes of a placed pod need.

use super::client::{ApiError, REQUEST_TIME};
use super::pod_ref::PodRef;
use super::writer::{Report, Writer};
use serde_json::{Value, json};

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeCall {
    /// The volume is the claim's from now on.
    BindVolume {
        volume: String,
        namespace: String,
        claim: String,
    },
    /// A volume is to be provisioned for the claim where this node reaches it.
    SelectNode {
        namespace: String,
        claim: String,
        node: String,
    },
}

impl Writer {
    /// Makes the calls in their order; the first that fails ends them.
    pub fn write_volumes(&self, pod: PodRef, calls: Vec<VolumeCall>) {
        let own = self.clone();
        tokio::spawn(async move {
            let mut failed = None;
            for call in &calls {
                if !own.leads() {
                    failed = Some("this process does not lead any more".to_owned());
                } else if let Err(error) = own.write_volume(call).await {
                    failed = Some(error.to_string());
                }
                if failed.is_some() {
                    break;
                }
            }
            own.report(Report::VolumesWritten { pod, failed });
        });
    }

    async fn write_volume(&self, call: &VolumeCall) -> Result<(), ApiError> {
        let claim_path = |namespace: &str, claim: &str| {
            format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}")
        };
        let (path, object) = match call {
            VolumeCall::BindVolume {
                volume,
                namespace,
                claim,
            } => {
                let uid = self.read(&claim_path(namespace, claim)).await?["metadata"]["uid"].take();
                let path = format!("/api/v1/persistentvolumes/{volume}");
                let mut object = self.read(&path).await?;
                let old = &object["spec"]["claimRef"];
                let is_free = old.is_null()
                    || (old["namespace"] == **namespace
                        && old["name"] == **claim
                        && (old["uid"].is_null() || old["uid"] == uid));
                if !is_free {
                    let error = format!("volume {volume} was taken by another claim");
                    return Err(ApiError::Unclear(error));
                }
                object["spec"]["claimRef"] = json!({
                    "kind": "PersistentVolumeClaim",
                    "apiVersion": "v1",
                    "namespace": namespace,
                    "name": claim,
                    "uid": uid,
                    "resourceVersion": object["spec"]["claimRef"]["resourceVersion"],
                });
                annotate(&mut object, "pv.kubernetes.io/bound-by-controller", "yes");
                (path, object)
            }
            VolumeCall::SelectNode {
                namespace,
                claim,
                node,
            } => {
                let path = claim_path(namespace, claim);
                let mut object = self.read(&path).await?;
                annotate(&mut object, "volume.kubernetes.io/selected-node", node);
                (path, object)
            }
        };
        self.api().put(&path, &object).await.map(|_| ())
    }

    async fn read(&self, path: &str) -> Result<Value, ApiError> {
        let bytes = self.api().get(path, REQUEST_TIME).await?;
        serde_json::from_slice(&bytes).map_err(|error| ApiError::Unclear(error.to_string()))
    }
}

fn annotate(object: &mut Value, key: &str, value: &str) {
    let annotations = &mut object["metadata"]["annotations"];
    if annotations.is_null() {
        *annotations = json!({});
    }
    annotations[key] = value.into();
}
