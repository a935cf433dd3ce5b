//! Classes and pods in a state file.

use super::super::{Cluster, NONE, NodeState, PodRow, PodState};
use super::{SavedCluster, SavedRecords};
use crate::capacity::CapacityExceeded;
use crate::class::{Class, is_whole};
use crate::id::{ClassId, NodeId};
use crate::intern::{Word, hash_pair, retain_texts, word_text};
use crate::state_file::{StateError, check, check_vacant};
use crate::table::{Count, Table, Vacant};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) struct SavedPod {
    pub(crate) state: PodState,
    pub(crate) class: ClassId,
    pub(crate) priority: i32,
    pub(crate) node: Option<NodeId>,
    /// Namespace, name, uid, node's name, pin; 0 where there is none.
    pub(crate) texts: [Word; 5],
}

pub(super) fn saved_pod(pod: &PodRow) -> Option<SavedPod> {
    (pod.state != PodState::Vacant).then(|| SavedPod {
        state: pod.state,
        class: pod.class,
        priority: pod.priority,
        node: (pod.row != NONE).then_some(NodeId(pod.row)),
        texts: [pod.namespace, pod.name, pod.uid, pod.node_name, pod.pin],
    })
}

impl Cluster {
    pub(super) fn restore_classes(&mut self, saved: &SavedRecords) -> Result<(), StateError> {
        let resources = self.resources.ids().count();
        for (place, words) in saved.iter().enumerate() {
            let id = ClassId::from_index(place);
            let Some(words) = words else {
                self.classes.set(id, *<Class as Vacant>::VACANT);
                continue;
            };
            let whole = is_whole(words, resources);
            check(whole, "classes", place, "these words are no class")?;
            self.read_class(id);
        }
        // Terms look at all classes, so these are read first.
        for (place, words) in saved.iter().enumerate() {
            if words.is_some() {
                self.link_class(ClassId::from_index(place))?;
            }
        }
        Ok(())
    }

    pub(super) fn restore_pods(&mut self, saved: &SavedCluster) -> Result<(), StateError> {
        let part = "pods";
        if saved.pods.len() > self.capacities.pods as usize {
            let limit = u64::from(self.capacities.pods);
            return Err(CapacityExceeded {
                which: "pods",
                limit,
            }
            .into());
        }
        for (at, pod) in saved.pods.iter().enumerate() {
            self.pods.push(*<PodRow as Vacant>::VACANT);
            let Some(pod) = pod else {
                continue;
            };
            let [namespace, name, uid, node_name, pin] = pod.texts;
            let is_text = |word| word_text(word).is_some_and(|text| self.texts.contains(text));
            let texts = pod.texts.into_iter();
            let named = is_text(namespace) && is_text(name);
            let right = named && texts.skip(2).all(|word| word == 0 || is_text(word));
            check(right, part, at, "its names are no texts")?;
            let new = self.find_pod_words(namespace, name).is_none();
            check(new, part, at, "a pod of this name is there already")?;
            let class = self.classes.records.contains(pod.class.0)
                && word_text(namespace) == Some(self.class(pod.class).class.namespace);
            check(
                class,
                part,
                at,
                "its class is none, or of another namespace",
            )?;
            let right = match (pod.state, pod.node) {
                (PodState::Pending, None) => node_name == 0,
                (PodState::Orphan, None) => node_name != 0 && self.row_of_word(node_name).is_none(),
                (PodState::Assumed | PodState::Bound, Some(node)) => {
                    let row = self.nodes.get(node.index());
                    row.is_some_and(|row| {
                        row.state == NodeState::Present && (node_name == 0 || node_name == row.name)
                    })
                }
                _ => false,
            };
            check(right, part, at, "its state and its node do not go together")?;
            retain_texts(&pod.texts, &mut self.texts);
            self.classes.records.retain(pod.class.0);
            if let Some(row) = self.pods.at_mut(at) {
                row.state = pod.state;
                row.class = pod.class;
                row.priority = pod.priority;
                row.namespace = namespace;
                row.name = name;
                row.uid = uid;
                row.node_name = node_name;
                row.pin = pin;
            }
            let pods = &self.pods;
            self.pod_index
                .insert_unique(hash_pair(namespace, name), at as u32, |at| {
                    let pod = pods.at(*at);
                    hash_pair(pod.namespace, pod.name)
                });
            self.pod_count.count_up();
            if pod.state == PodState::Orphan {
                self.orphans.count_up();
            }
        }
        let is_vacant = |at: usize| self.pods.at(at).state == PodState::Vacant;
        check_vacant(
            &saved.vacant_pods,
            self.pods.len(),
            is_vacant,
            "vacant_pods",
        )?;
        self.vacant_pods.extend_from_slice(&saved.vacant_pods);
        let node_of = |at: u32| saved.pods.get(at as usize)?.as_ref()?.node;
        for (place, at) in saved.placed.iter().enumerate() {
            let node = node_of(*at).filter(|_| self.pods.at(*at).row == NONE);
            let Some(node) = node else {
                return check(
                    false,
                    "placed",
                    place,
                    "this pod has no node, or is there twice",
                );
            };
            self.check_place(self.pods.at(*at).class, Some(node.0))?;
            self.link(*at, node.0);
        }
        let on_nodes = saved.pods.iter().flatten().filter(|pod| pod.node.is_some());
        let all = on_nodes.count() == saved.placed.len();
        check(
            all,
            "placed",
            saved.placed.len(),
            "a pod with a node is missing",
        )
    }
}
