//! Changes that may help a waiting pod and that upstream tells nobody: such a pod waits for another
//! event or for the 5-minute flush, there as here. Each row names what upstream's hints do not read.

use super::Simulation;
use crate::expected::{Expected, Place, as_pod, is_same, key_of};
use crate::server::{Key, pod_id};
use berth_core::object::{Object, Pod, PodAffinityTerm};
use berth_core::plugins::Plugin;

/// Plugins whose verdict may rest on other pods of a node.
const OF_OTHERS: [Plugin; 6] = [
    Plugin::NodePorts,
    Plugin::NodeResourcesFit,
    Plugin::InterPodAffinity,
    Plugin::PodTopologySpread,
    Plugin::VolumeRestrictions,
    Plugin::NodeVolumeLimits,
];

impl Simulation {
    /// Notes whom a change may have helped in silence. `old` and `new`: the object before and after.
    pub(super) fn excuse(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let mut plugins = silent_for(old, new);
        // Updates of a pod that is assumed are no events, and its confirmation is told as new, even
        // if it is on another node than it was assumed on.
        let changed = (old != new).then_some(new).flatten().and_then(as_pod);
        let assumed = changed.and_then(|pod| self.pods.get(&key_of(pod)));
        // A nomination of which the server did not tell yet goes without a word, with its pod:
        // `deletePodFromSchedulingQueue` reads the pod's status alone.
        let gone = old.and_then(as_pod).filter(|_| {
            let same = old.zip(new).is_some_and(|(old, new)| is_same(old, new));
            !same
        });
        let gone = gone.and_then(|pod| self.pods.get(&key_of(pod)));
        let held =
            gone.is_some_and(|pod| !pod.nomination.is_empty() && pod.status_nomination.is_empty());
        if held || assumed.is_some_and(Expected::is_assumed) {
            plugins.extend(OF_OTHERS);
        }
        self.excuse_default_spreading(old, new);
        self.excuse_rejected(&plugins);
    }

    /// Notes whom it may have helped that a pod is not nominated any more. Others hear of it when its
    /// status is told (`updatePodInSchedulingQueue`), which does not change if the patch is lost.
    pub(super) fn excuse_lost_patch(&mut self, key: &Key, node: &str) {
        let status = self.server.pod(key).map(|pod| &pod.status);
        let was = status.map_or("", |status| &status.nominated_node_name);
        if !was.is_empty() && was != node {
            self.excuse_rejected(&OF_OTHERS);
        }
    }

    /// Notes that pods which one of the plugins rejected may have been helped in silence.
    pub(super) fn excuse_rejected(&mut self, plugins: &[Plugin]) {
        for pod in self.pods.values_mut() {
            let rejected = |plugin: &Plugin| pod.rejectors.contains(*plugin);
            if pod.place == Place::Queued && plugins.iter().any(rejected) {
                pod.excused = true;
            }
        }
    }

    /// What default constraints select follows Services and owners, of which no plugin hears. And the
    /// hint of podtopologyspread asks by the constraints that a waiting pod has after its own
    /// update: that default ones select nothing any more is no news.
    fn excuse_default_spreading(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let selects = matches!(
            new.or(old),
            Some(
                Object::Service(_)
                    | Object::ReplicationController(_)
                    | Object::ReplicaSet(_)
                    | Object::StatefulSet(_)
            )
        );
        if selects {
            let told = &self.client.told;
            for (key, pod) in &mut self.pods {
                let object = told.get(&pod_id(key)).and_then(as_pod);
                let by_default =
                    object.is_none_or(|own| own.spec.topology_spread_constraints.is_empty());
                pod.excused |= by_default && pod.rejectors.contains(Plugin::PodTopologySpread);
            }
        }
        let (Some(before), Some(after)) = (old.and_then(as_pod), new.and_then(as_pod)) else {
            return;
        };
        let by_default = after.spec.topology_spread_constraints.is_empty();
        if !by_default || before.metadata.labels == after.metadata.labels {
            return;
        }
        if let Some(pod) = self.pods.get_mut(&key_of(after)) {
            pod.excused |= pod.rejectors.contains(Plugin::PodTopologySpread);
        }
    }

    /// Whether a pod may stay where it is although it fits, whatever happened.
    pub(crate) fn is_always_excused(&self, pod: &Pod, expected: &Expected) -> bool {
        let profile = self.setup.profile(&pod.spec.scheduler_name);
        // `isFit` of noderesources/fit.go's hint asks for ignored resources too.
        let ignores = profile.is_some_and(|profile| {
            let args = &profile.args;
            !args.ignored_resources.is_empty() || !args.ignored_resource_groups.is_empty()
        });
        let affinity = pod.spec.affinity.as_ref();
        // The first of its kind may go anywhere; that the last other one has gone is no news.
        let near = affinity.and_then(|own| own.pod_affinity.as_ref());
        let near = near.is_some_and(|near| near.required.iter().any(|own| may_match(own, pod)));
        // The hint of nodeaffinity asks whether the pod's own terms matched before the update; that
        // the profile's match now is no news.
        let adds = profile.is_some_and(|profile| {
            let added = profile.args.added_affinity.as_ref();
            added.is_some_and(|added| added.required.is_some())
        });
        // Whether it was detached is asked for claims alone.
        let mut claims = crate::storage::claims_of(pod);
        let owned = claims.all(|(_, is_own)| is_own);
        owned && expected.rejectors.contains(Plugin::NodeVolumeLimits)
            || adds && expected.rejectors.contains(Plugin::NodeAffinity)
            || ignores && expected.rejectors.contains(Plugin::NodeResourcesFit)
            || near && expected.rejectors.contains(Plugin::InterPodAffinity)
    }
}

/// Whether a term may match the pod's own labels; where that is hard to say, it may.
fn may_match(term: &PodAffinityTerm, pod: &Pod) -> bool {
    let labels = &pod.metadata.labels;
    term.label_selector.as_ref().is_some_and(|selector| {
        let mut pairs = selector.match_labels.iter();
        pairs.all(|(key, value)| labels.get(key) == Some(value))
    })
}

/// Plugins that do not hear of a change which may lift their verdict.
fn silent_for(old: Option<&Object>, new: Option<&Object>) -> Vec<Plugin> {
    let (near, spread) = (Plugin::InterPodAffinity, Plugin::PodTopologySpread);
    let disks = Plugin::VolumeRestrictions;
    if let Some(silent) = storage(old, new) {
        return silent;
    }
    match (old, new) {
        (_, Some(Object::Node(_))) if old.is_none() => Vec::new(),
        // Terms and claims of pods on a node that goes; neither plugin registers deletions of nodes.
        (Some(Object::Node(_)), None) => vec![near, disks],
        // Which namespaces a term selects.
        (Some(Object::Namespace(_)), _) | (_, Some(Object::Namespace(_))) => vec![near],
        (Some(Object::Node(before)), Some(Object::Node(after))) => {
            // Terms of other pods than the waiting one; the node affinity that spreading honours.
            if before.metadata.labels == after.metadata.labels {
                Vec::new()
            } else {
                vec![near, spread]
            }
        }
        (Some(Object::Pod(before)), Some(Object::Pod(_))) => {
            let same = old.zip(new).is_some_and(|(old, new)| is_same(old, new));
            let going = |object: Option<&Object>| {
                let pod = object.and_then(as_pod);
                pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some())
            };
            // Spreading does not count pods that are going.
            if same && !going(old) && going(new) {
                vec![spread]
            } else if !same && has_disk(before) {
                vec![disks]
            } else {
                Vec::new()
            }
        }
        // Of disks the hint asks in the pod's own namespace alone.
        (Some(Object::Pod(pod)), None) if has_disk(pod) => vec![disks],
        // By what default constraints select, which `excuse_default_spreading` looks after.
        _ => Vec::new(),
    }
}

fn has_disk(pod: &Pod) -> bool {
    let mut volumes = pod.spec.volumes.iter();
    volumes.any(|volume| volume.source.contains_key("gcePersistentDisk"))
}

/// The same of storage; `None` if neither is of it.
fn storage(old: Option<&Object>, new: Option<&Object>) -> Option<Vec<Plugin>> {
    let (binding, limits) = (Plugin::VolumeBinding, Plugin::NodeVolumeLimits);
    let is_gone = new.is_none();
    let is_other = old.zip(new).is_some_and(|(old, new)| !is_same(old, new));
    let silent = match new.or(old)? {
        // That volumes of pods on the node count no more.
        Object::StorageClass(_) | Object::PersistentVolumeClaim(_) if is_gone => vec![limits],
        // Another one under its name is told as an update.
        Object::PersistentVolumeClaim(_) if is_other => vec![limits, Plugin::VolumeRestrictions],
        // One that was kept for a claim and out of reach.
        Object::PersistentVolume(_) if is_gone => vec![binding],
        // A limit that is gone, a driver that is there.
        Object::CsiNode(_) if old.is_some() => vec![limits],
        Object::CsiDriver(_) => vec![limits, binding],
        Object::StorageClass(_)
        | Object::PersistentVolumeClaim(_)
        | Object::PersistentVolume(_)
        | Object::CsiNode(_)
        | Object::CsiStorageCapacity(_)
        | Object::VolumeAttachment(_) => Vec::new(),
        _ => return None,
    };
    Some(silent)
}
