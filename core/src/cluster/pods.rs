//! Pods: their rows and classes, and the room that they take on their node.

use super::{Cluster, NONE};
use crate::capacity::CapacityExceeded;
use crate::class::{Section, pin_of};
use crate::id::{ClassId, PodId};
use crate::intern::{Word, hash_pair, release_texts, text_word};
use crate::object::Pod;
use crate::planted::{self, Bug};
use crate::scheduler::ApplyError;
use crate::selector;
use crate::table::{Count, Table, Vacant, occupy};
use crate::volume::item;

/// Where a pod is.
///
/// ```text
/// Pending --assume--> Assumed --(seen with nodeName)--> Bound <--(node arrives)-- Orphan
///    ^                   |                                 \-----(node goes)----->/
///    \------forget-------/
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum PodState {
    Vacant,
    Pending,
    /// Placed by us, not yet seen with its node's name.
    Assumed,
    Bound,
    /// Names a node that is not there.
    Orphan,
}

/// What is known of a pod beside its class.
#[derive(Clone, Copy)]
pub(crate) struct PodRow {
    pub(crate) state: PodState,
    pub(crate) class: ClassId,
    pub(crate) priority: i32,
    /// Node the pod takes room on.
    pub(crate) row: u32,
    pub(crate) namespace: Word,
    pub(crate) name: Word,
    /// 0: none.
    pub(crate) uid: Word,
    /// `spec.nodeName`; 0: none.
    pub(crate) node_name: Word,
    /// Name of the node that its affinity pins it to; 0: none.
    pub(crate) pin: Word,
    /// Neighbours on the node, see `chains.rs`.
    pub(super) next: u32,
    pub(super) previous: u32,
    /// The next pod of the class that is on a node.
    pub(super) class_next: u32,
    pub(super) class_previous: u32,
}

impl PodRow {
    const EMPTY: Self = Self {
        state: PodState::Vacant,
        class: ClassId(NONE),
        priority: 0,
        row: NONE,
        namespace: 0,
        name: 0,
        uid: 0,
        node_name: 0,
        pin: 0,
        next: NONE,
        previous: NONE,
        class_next: NONE,
        class_previous: NONE,
    };
}

impl Vacant for PodRow {
    const VACANT: &'static Self = &Self::EMPTY;
}

impl Cluster {
    pub(crate) fn find_pod(&self, namespace: &str, name: &str) -> Option<PodId> {
        let namespace = selector::word_of(&self.texts, namespace)?;
        let name = selector::word_of(&self.texts, name)?;
        self.find_pod_words(namespace, name)
    }

    /// The row of a pod that is there.
    pub(crate) fn pod(&self, pod: PodId) -> Option<&PodRow> {
        let row = self.pods.get(pod.index())?;
        (row.state != PodState::Vacant).then_some(row)
    }

    pub(super) fn find_pod_words(&self, namespace: Word, name: Word) -> Option<PodId> {
        let at = self.pod_index.find(hash_pair(namespace, name), |at| {
            let pod = self.pods.at(*at);
            pod.namespace == namespace && pod.name == name
        })?;
        Some(PodId(*at))
    }

    pub(crate) fn add_pod(&mut self, pod: &Pod) -> Result<PodId, ApplyError> {
        if pod.metadata.name.is_empty() {
            return Err(ApplyError::NoName);
        }
        if self
            .find_pod(&pod.metadata.namespace, &pod.metadata.name)
            .is_some()
        {
            return Err(ApplyError::AlreadyExists);
        }
        if self.pod_count >= self.capacities.pods {
            return Err(CapacityExceeded {
                which: "pods",
                limit: u64::from(self.capacities.pods),
            }
            .into());
        }
        let class = self.intern_class(pod)?;
        let row = self.row_of_name(&pod.spec.node_name);
        let [namespace, name, uid, node_name, pin] = self
            .check_place(class, row)
            .and_then(|()| self.intern_identity(pod))
            .inspect_err(|_| self.release_class(class))?;
        let entry = PodRow {
            state: PodState::Pending,
            class,
            priority: pod.spec.priority.unwrap_or(0),
            namespace,
            name,
            uid,
            node_name,
            pin,
            ..PodRow::EMPTY
        };
        let at = occupy(&mut self.pods, &mut self.vacant_pods, entry);
        let pods = &self.pods;
        self.pod_index
            .insert_unique(hash_pair(entry.namespace, entry.name), at, |at| {
                let pod = pods.at(*at);
                hash_pair(pod.namespace, pod.name)
            });
        self.pod_count.count_up();
        self.settle(at, row);
        Ok(PodId(at))
    }

    /// A bound or assumed pod keeps its node unless the object names another one, or is another pod
    /// of the same name by its UID.
    pub(crate) fn update_pod(&mut self, pod: &Pod) -> Result<PodId, ApplyError> {
        let Some(id) = self.find_pod(&pod.metadata.namespace, &pod.metadata.name) else {
            return Err(ApplyError::NotFound);
        };
        let class = self.intern_class(pod)?;
        let old = *self.pods.at(id);
        let is_same = !self.is_another(&old, pod);
        let row = if is_same && pod.spec.node_name.is_empty() && old.row != NONE {
            Some(old.row)
        } else {
            self.row_of_name(&pod.spec.node_name)
        };
        let [_, _, uid, node_name, pin] = self
            .check_place(class, row)
            .and_then(|()| self.intern_identity(pod))
            .inspect_err(|_| self.release_class(class))?;
        if old.row != NONE {
            self.displace(id.0);
        }
        if !is_same {
            self.volumes.unreserve(id, &mut self.texts);
        }
        if old.state == PodState::Orphan {
            self.orphans.count_down();
        }
        // One that was assumed on a node which went still waits for it: its binding may be written.
        let waits = is_same && pod.spec.node_name.is_empty() && old.state == PodState::Orphan;
        let node_name = if waits { old.node_name } else { node_name };
        let given_back = if waits { 0 } else { old.node_name };
        release_texts(
            &[old.namespace, old.name, old.uid, given_back, old.pin],
            &mut self.texts,
        );
        self.release_class(old.class);
        if let Some(entry) = self.pods.at_mut(id) {
            entry.class = class;
            entry.priority = pod.spec.priority.unwrap_or(0);
            entry.uid = uid;
            entry.node_name = node_name;
            entry.pin = pin;
            entry.state = PodState::Pending;
        }
        if planted::is(Bug::CountedTwice)
            && let Some(row) = row
            && old.class == class
        {
            self.count(id.0, row, true);
        }
        let assumed = is_same && old.row != NONE && node_name == 0;
        self.settle(id.0, row);
        if assumed {
            self.set_pod_state(id.0, PodState::Assumed);
        }
        Ok(id)
    }

    /// Whether the object is another pod than the one of its name that is there, by their UIDs.
    pub(crate) fn is_another(&self, old: &PodRow, pod: &Pod) -> bool {
        let uid = pod.metadata.uid.as_str();
        !uid.is_empty()
            && !planted::is(Bug::UidIgnored)
            && old.uid != 0
            && selector::word_of(&self.texts, uid) != Some(old.uid)
    }

    pub(crate) fn remove_pod(&mut self, namespace: &str, name: &str) -> Result<PodId, ApplyError> {
        let Some(id) = self.find_pod(namespace, name) else {
            return Err(ApplyError::NotFound);
        };
        let pod = *self.pods.at(id);
        if pod.row != NONE {
            self.displace(id.0);
        }
        if pod.state == PodState::Orphan {
            self.orphans.count_down();
        }
        if let Ok(found) = self
            .pod_index
            .find_entry(hash_pair(pod.namespace, pod.name), |at| *at == id.0)
        {
            found.remove();
        }
        release_texts(
            &[pod.namespace, pod.name, pod.uid, pod.node_name, pod.pin],
            &mut self.texts,
        );
        self.volumes.unreserve(id, &mut self.texts);
        self.release_class(pod.class);
        self.pods.set(id, PodRow::EMPTY);
        self.vacant_pods.push(id.0);
        self.pod_count.count_down();
        Ok(id)
    }

    /// Counts a pending pod on a node before the API server knows.
    pub(crate) fn assume(&mut self, pod: PodId, row: u32) -> Result<(), CapacityExceeded> {
        self.check_place(self.pods.at(pod).class, Some(row))?;
        self.place(pod.0, row);
        self.set_pod_state(pod.0, PodState::Assumed);
        Ok(())
    }

    /// An assumed pod names its node from now on, and comes to it anew as the last one.
    pub(crate) fn confirm(&mut self, pod: PodId) {
        let row = self.pods.at(pod).row;
        self.displace(pod.0);
        let name = self.nodes.at(row).name;
        crate::intern::retain_texts(&[name], &mut self.texts);
        if let Some(entry) = self.pods.at_mut(pod) {
            entry.node_name = name;
        }
        self.settle(pod.0, Some(row));
    }

    /// Takes a pod off its node, or from waiting for one; it is pending again and names no node.
    pub(crate) fn forget(&mut self, pod: PodId) {
        let Some(PodRow { row, state, .. }) = self.pod(pod).copied() else {
            return;
        };
        if row != NONE {
            self.displace(pod.0);
            if planted::is(Bug::FreedTwice) {
                self.count(pod.0, row, false);
            }
        }
        if state == PodState::Orphan {
            self.orphans.count_down();
        }
        self.volumes.unreserve(pod, &mut self.texts);
        if let Some(entry) = self.pods.at_mut(pod) {
            entry.state = PodState::Pending;
            let named = core::mem::take(&mut entry.node_name);
            release_texts(&[named], &mut self.texts);
        }
    }

    fn row_of_name(&self, name: &str) -> Option<u32> {
        if name.is_empty() {
            None
        } else {
            self.find_node(name).map(|node| node.0)
        }
    }

    /// Namespace, name, uid, node name and pin, each held once more.
    fn intern_identity(&mut self, pod: &Pod) -> Result<[Word; 5], CapacityExceeded> {
        let texts = [
            pod.metadata.namespace.as_str(),
            &pod.metadata.name,
            &pod.metadata.uid,
            &pod.spec.node_name,
            pin_of(pod).unwrap_or_default(),
        ];
        let mut words = [0; 5];
        for (at, text) in texts.into_iter().enumerate() {
            if at >= 2 && text.is_empty() {
                continue;
            }
            match self.texts.intern(text) {
                Ok(id) => words.set(at, text_word(id)),
                Err(full) => {
                    release_texts(&words, &mut self.texts);
                    return Err(full);
                }
            }
        }
        Ok(words)
    }

    /// Puts a pod that is pending so far where its node's name says.
    fn settle(&mut self, at: u32, row: Option<u32>) {
        match row {
            Some(row) => {
                self.place(at, row);
                self.set_pod_state(at, PodState::Bound);
            }
            None if self.pods.at(at).node_name != 0 => {
                self.set_pod_state(at, PodState::Orphan);
                self.orphans.count_up();
            }
            None => {}
        }
    }

    pub(super) fn set_pod_state(&mut self, at: u32, state: PodState) {
        if let Some(pod) = self.pods.at_mut(at) {
            pod.state = state;
        }
    }

    /// Refuses if a pod of the class cannot be counted on a node.
    pub(crate) fn check_place(
        &self,
        class: ClassId,
        row: Option<u32>,
    ) -> Result<(), CapacityExceeded> {
        if row.is_none() {
            return Ok(());
        }
        let links = self.class_links.at(class);
        self.terms
            .check_room(self.links.values(links.raises).count())?;
        self.port_counts
            .check_room(self.links.values(links.ports).count())?;
        self.volumes.check_room(self.counted_volumes(class))
    }

    fn place(&mut self, at: u32, row: u32) {
        self.link(at, row);
        self.mark_dirty(row as usize);
    }

    fn displace(&mut self, at: u32) {
        let row = self.pods.at(at).row;
        self.unlink(at);
        self.mark_dirty(row as usize);
    }

    /// Adds what the pod takes to the row, or takes it away.
    pub(crate) fn count(&mut self, at: u32, row: u32, add: bool) {
        self.count_for_question(at, row, add);
        self.journal.push(row);
    }

    /// The same for a question about this row, after which it is undone: what is kept of the row stays true.
    pub(crate) fn count_for_question(&mut self, at: u32, row: u32, add: bool) {
        let class_id = self.pods.at(at).class;
        let class = self.classes.view(class_id);
        let amounts = class.class.amounts;
        let signed = |amount: i64| {
            let amount = i128::from(amount);
            if add { amount } else { amount.saturating_neg() }
        };
        if let Some(block) = self.blocks.at_mut(row / 64) {
            let lane = row as usize % 64;
            let requested = block.requested.iter_mut().zip(amounts.status);
            let non_zero = block.non_zero.iter_mut().zip(amounts.non_zero);
            for (column, amount) in requested.chain(non_zero) {
                if let Some(sum) = column.at_mut(lane) {
                    *sum = sum.saturating_add(signed(amount));
                }
            }
            if let Some(pods) = block.pods.at_mut(lane) {
                if add {
                    pods.count_up();
                } else {
                    pods.count_down();
                }
            }
            block.refresh(lane);
        }
        for scalar in class.scalars() {
            self.resources
                .add_requested(scalar.resource, row as usize, signed(scalar.status));
        }
        let ports = self.class_links.at(class_id).ports;
        for port in self.links.values(ports) {
            if add {
                self.port_counts.increment(port, row);
            } else if !planted::is(Bug::PortKept) {
                self.port_counts.decrement(port, row);
            }
        }
        self.volumes
            .count(item::counted(class.section(Section::Volumes)), row, add);
        if add || !planted::is(Bug::TermKept) {
            self.raise(class_id, row, add);
        }
    }

    /// Pods of a node that goes keep its name, and wait for it.
    pub(super) fn orphan_pods(&mut self, row: usize) {
        loop {
            let first = self.pods_on(row).next();
            let Some(pod) = first else {
                return;
            };
            self.displace(pod.0);
            let name = self.nodes.at(row).name;
            let Some(entry) = self.pods.at_mut(pod) else {
                return;
            };
            entry.state = PodState::Orphan;
            // An assumed pod has no node name yet; it waits for its node all the same.
            if entry.node_name == 0
                && let Some(text) = crate::intern::word_text(name)
            {
                self.texts.retain(text);
                entry.node_name = name;
            }
            self.orphans.count_up();
        }
    }

    /// Refuses if the pods that wait for the node `name` cannot be counted on it.
    pub(super) fn check_orphans(&self, name: &str) -> Result<(), CapacityExceeded> {
        if self.orphans == 0 {
            return Ok(());
        }
        let Some(name) = selector::word_of(&self.texts, name) else {
            return Ok(());
        };
        let (mut raises, mut ports, mut volumes) = (0_usize, 0_usize, 0_usize);
        for pod in self.waiting_for(name) {
            volumes = volumes.saturating_add(self.counted_volumes(self.pods.at(pod).class));
            let links = self.class_links.at(self.pods.at(pod).class);
            raises = raises.saturating_add(self.links.values(links.raises).count());
            ports = ports.saturating_add(self.links.values(links.ports).count());
        }
        self.terms.check_room(raises)?;
        self.port_counts.check_room(ports)?;
        self.volumes.check_room(volumes)
    }

    pub(super) fn adopt_orphans(&mut self, row: u32) {
        let name = self.nodes.at(row).name;
        while self.orphans > 0 && !planted::is(Bug::PodsNotAdopted) {
            let Some(at) = self.waiting_for(name).next() else {
                return;
            };
            self.place(at as u32, row);
            self.set_pod_state(at as u32, PodState::Bound);
            self.orphans.count_down();
        }
    }

    fn waiting_for(&self, name: Word) -> impl Iterator<Item = usize> + '_ {
        let waits = move |pod: &PodRow| pod.state == PodState::Orphan && pod.node_name == name;
        self.pods
            .iter()
            .enumerate()
            .filter(move |(_, pod)| waits(pod))
            .map(|(at, _)| at)
    }
}
