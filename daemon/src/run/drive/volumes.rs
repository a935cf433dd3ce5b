//! Volumes of placed pods: the calls that they need, and waiting for what comes of them.
//!
//! Mirrors `PreBind` of the plugin VolumeBinding: the calls are made, then the claims are looked at
//! every second until all are bound or the time is over.

use super::Loop;
use crate::run::pod_ref::PodRef;
use crate::run::volumes::VolumeCall;
use berth_core::{BindOutcome, VolumeAction, VolumesBound};

/// A pod that is bound when its volumes are.
pub(super) struct VolumeWait {
    pod: PodRef,
    node: String,
    /// Whether all calls were made.
    is_written: bool,
}

impl Loop {
    /// Makes the calls that the pod's volumes need; `false` if they need none.
    pub(super) fn begin_volumes(&mut self, pod: &PodRef, node: &str) -> bool {
        let actions = self.model.scheduler().volume_actions(pod.id);
        let calls: Vec<VolumeCall> = actions.map(call).collect();
        if calls.is_empty() {
            return false;
        }
        self.waits.push(VolumeWait {
            pod: pod.clone(),
            node: node.to_owned(),
            is_written: false,
        });
        self.writer.write_volumes(pod.clone(), calls);
        true
    }

    pub(super) fn volumes_written(&mut self, pod: &PodRef, failed: Option<String>) {
        let Some(at) = self.waits.iter().position(|wait| wait.pod == *pod) else {
            return;
        };
        match failed {
            None => {
                if let Some(wait) = self.waits.get_mut(at) {
                    wait.is_written = true;
                }
            }
            Some(why) => {
                self.waits.swap_remove(at);
                self.pre_binding_failed(pod, &why);
            }
        }
    }

    /// Binds the pods whose volumes are bound.
    pub(super) fn look_at_volumes(&mut self) {
        let now = self.clock.now();
        let waits = std::mem::take(&mut self.waits);
        for wait in waits {
            if !wait.pod.is_current(&self.model) || !self.model.scheduler().is_assumed(wait.pod.id)
            {
                continue;
            }
            if !wait.is_written {
                self.waits.push(wait);
                continue;
            }
            match self.model.scheduler().volumes_bound(wait.pod.id, now) {
                VolumesBound::Yes => {
                    // A preemption may have taken its place back.
                    if self.model.scheduler_mut().pre_bound(wait.pod.id) {
                        self.bind(wait.pod, wait.node);
                    }
                }
                VolumesBound::NotYet => self.waits.push(wait),
                VolumesBound::Failed => {
                    self.pre_binding_failed(&wait.pod, "binding volumes failed");
                }
                VolumesBound::TimedOut => {
                    let why = "binding volumes: context deadline exceeded";
                    self.pre_binding_failed(&wait.pod, why);
                }
            }
        }
    }

    fn pre_binding_failed(&mut self, pod: &PodRef, why: &str) {
        if pod.is_current(&self.model) {
            let message = format!("running PreBind plugin \"VolumeBinding\": {why}");
            self.binding_failed(pod, BindOutcome::Failed, message);
        }
    }
}

fn call(action: VolumeAction<'_>) -> VolumeCall {
    match action {
        VolumeAction::BindVolume {
            volume,
            namespace,
            claim,
        } => VolumeCall::BindVolume {
            volume: volume.to_owned(),
            namespace: namespace.to_owned(),
            claim: claim.to_owned(),
        },
        VolumeAction::SelectNode {
            namespace,
            claim,
            node,
        } => VolumeCall::SelectNode {
            namespace: namespace.to_owned(),
            claim: claim.to_owned(),
            node: node.to_owned(),
        },
    }
}
