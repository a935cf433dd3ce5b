//! Changes that may help a waiting pod and that upstream tells nobody: such a pod waits for another
//! event or for the 5-minute flush, there as here. Each row names what upstream's hints do not read.

use super::Simulation;
use crate::expected::{Expected, Place, as_pod, is_same, key_of};
use berth_core::object::{Object, Pod, PodAffinityTerm};
use berth_core::plugins::Plugin;

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
            plugins.extend([
                Plugin::NodePorts,
                Plugin::NodeResourcesFit,
                Plugin::InterPodAffinity,
                Plugin::PodTopologySpread,
            ]);
        }
        if plugins.is_empty() {
            return;
        }
        for pod in self.pods.values_mut() {
            let rejected = |plugin: &Plugin| pod.rejectors.contains(*plugin);
            if pod.place == Place::Queued && plugins.iter().any(rejected) {
                pod.excused = true;
            }
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
        adds && expected.rejectors.contains(Plugin::NodeAffinity)
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
    match (old, new) {
        (_, Some(Object::Node(_))) if old.is_none() => Vec::new(),
        // Terms of pods on a node that goes; `InterPodAffinity` registers no deletion of nodes.
        // Which namespaces a term selects.
        (Some(Object::Node(_)), None)
        | (Some(Object::Namespace(_)), _)
        | (_, Some(Object::Namespace(_))) => vec![near],
        (Some(Object::Node(before)), Some(Object::Node(after))) => {
            // Terms of other pods than the waiting one; the node affinity that spreading honours.
            if before.metadata.labels == after.metadata.labels {
                Vec::new()
            } else {
                vec![near, spread]
            }
        }
        (Some(Object::Pod(_)), Some(Object::Pod(_))) => {
            let same = old.zip(new).is_some_and(|(old, new)| is_same(old, new));
            let going = |object: Option<&Object>| {
                let pod = object.and_then(as_pod);
                pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_some())
            };
            // Spreading does not count pods that are going.
            if same && !going(old) && going(new) {
                vec![spread]
            } else {
                Vec::new()
            }
        }
        (Some(Object::Pod(_)), None) | (None, Some(Object::Pod(_))) => Vec::new(),
        (Some(Object::PodDisruptionBudget(_)), _) | (_, Some(Object::PodDisruptionBudget(_))) => {
            Vec::new()
        }
        // By what default constraints select.
        _ => vec![spread],
    }
}
