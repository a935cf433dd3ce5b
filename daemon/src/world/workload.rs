//! The controllers' part: workloads have as many pods as they ask for.
//!
//! Pods are made when the workload comes or changes, and for a DaemonSet when nodes come or go.
//! Fewer are asked for: those that wait go first, then those with the highest numbers. A changed
//! template replaces all pods at once.

use super::{Key, Observer, World};
use crate::failure::Failure;
use berth_core::Change;
use berth_core::object::expand::{Expansion, implied_replica_set};
use berth_core::object::{Node, Object, PodTemplate};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Pods that workloads may have in all: twice what Kubernetes supports in a cluster.
const MADE_PODS_MAX: u64 = 300_000;

/// What was made of a workload.
#[derive(Default)]
pub(super) struct Workload {
    template: Option<PodTemplate>,
    /// By number; of a DaemonSet with the node.
    pods: BTreeMap<u64, Made>,
    runs: Option<u64>,
}

struct Made {
    name: String,
    node: Option<String>,
}

impl<O: Observer> World<O> {
    /// Gives a workload the pods that it asks for; other objects have none.
    pub(super) fn make_pods(&mut self, key: &Key, runs: Option<u64>) -> Result<(), Failure> {
        let Some(object) = self.others.get(key).cloned() else {
            return Ok(());
        };
        if let Object::Deployment(deployment) = &object {
            self.put_replica_set(&implied_replica_set(deployment))?;
        }
        let nodes = self.others.values().filter_map(|object| match object {
            Object::Node(node) => Some((**node).clone()),
            _ => None,
        });
        let nodes: Vec<Node> = match object {
            Object::DaemonSet(_) => nodes.collect(),
            _ => Vec::new(),
        };
        let nodes: Vec<&Node> = nodes.iter().collect();
        let Some(expansion) = Expansion::of(&object, &nodes) else {
            return Ok(());
        };
        let mut workload = self.workloads.remove(key).unwrap_or_default();
        workload.runs = runs.or(workload.runs);
        if workload.template.as_ref() != Some(expansion.template()) {
            self.remove_made(&mut workload, &key.1, usize::MAX)?;
            workload.template = Some(expansion.template().clone());
        }
        let gone = |made: &Made| !self.pods.contains_key(&(key.1.clone(), made.name.clone()));
        workload.pods.retain(|_, made| !gone(made));
        let result = match object {
            Object::DaemonSet(_) => self.make_daemon_pods(&mut workload, &expansion),
            _ => self.scale(&mut workload, &expansion),
        };
        self.workloads.insert(key.clone(), workload);
        result
    }

    /// DaemonSets follow the nodes.
    pub(super) fn make_daemons(&mut self) -> Result<(), Failure> {
        let keys = self.workloads.keys().filter(|key| key.0 == "DaemonSet");
        let keys: Vec<Key> = keys.cloned().collect();
        keys.iter().try_for_each(|key| self.make_pods(key, None))
    }

    /// A workload is gone, and its pods with it.
    pub(super) fn drop_pods(&mut self, key: &Key) -> Result<(), Failure> {
        if let Some(mut workload) = self.workloads.remove(key) {
            self.remove_made(&mut workload, &key.1, usize::MAX)?;
        }
        let set = ("ReplicaSet", key.1.clone(), key.2.clone());
        if key.0 == "Deployment"
            && let Some(set) = self.others.remove(&set)
        {
            self.take(Change::Deleted, &set)?;
        }
        Ok(())
    }

    fn put_replica_set(&mut self, set: &berth_core::object::Workload) -> Result<(), Failure> {
        let metadata = &set.metadata;
        let key = (
            "ReplicaSet",
            metadata.namespace.clone(),
            metadata.name.clone(),
        );
        let set = Object::ReplicaSet(set.clone());
        let change = if self.others.contains_key(&key) {
            Change::Modified
        } else {
            Change::Added
        };
        self.take(change, &set)?;
        self.others.insert(key, set);
        Ok(())
    }

    fn scale(&mut self, workload: &mut Workload, expansion: &Expansion<'_>) -> Result<(), Failure> {
        let namespace = &expansion.metadata().namespace;
        if expansion.template().spec.containers.is_empty() {
            let name = &expansion.metadata().name;
            let note = format!("{namespace}/{name} makes no pods: its template has no containers");
            self.notes.insert(note);
            return Ok(());
        }
        let wanted = self.within_limit(expansion)?;
        let surplus = workload.pods.len().saturating_sub(wanted as usize);
        self.remove_made(workload, namespace, surplus)?;
        let mut number = expansion.first_ordinal();
        while (workload.pods.len() as u64) < wanted {
            if !workload.pods.contains_key(&number) {
                self.make_one(workload, expansion, 0, number, None)?;
            }
            number += 1;
        }
        Ok(())
    }

    fn make_daemon_pods(
        &mut self,
        workload: &mut Workload,
        expansion: &Expansion<'_>,
    ) -> Result<(), Failure> {
        let count = self.within_limit(expansion)?;
        let nodes = (0..count).filter_map(|index| Some((index, expansion.node(index)?)));
        let nodes: BTreeMap<&str, u64> = nodes.map(|(index, node)| (node, index)).collect();
        let stays = |made: &Made| {
            made.node
                .as_deref()
                .is_some_and(|node| nodes.contains_key(node))
        };
        let leaving = workload.pods.iter().filter(|(_, made)| !stays(made));
        let leaving: Vec<u64> = leaving.map(|(number, _)| *number).collect();
        for number in leaving {
            if let Some(made) = workload.pods.remove(&number) {
                self.remove_pod(&(expansion.metadata().namespace.clone(), made.name))?;
            }
        }
        let mut number = 0;
        for (node, index) in nodes {
            let mut made = workload.pods.values();
            if made.any(|made| made.node.as_deref() == Some(node)) {
                continue;
            }
            while workload.pods.contains_key(&number) {
                number += 1;
            }
            self.make_one(workload, expansion, index, number, Some(node))?;
        }
        Ok(())
    }

    fn make_one(
        &mut self,
        workload: &mut Workload,
        expansion: &Expansion<'_>,
        index: u64,
        number: u64,
        node: Option<&str>,
    ) -> Result<(), Failure> {
        let mut object = Object::Pod(Box::new(expansion.pod(index, number)));
        let notes = self.intake.admit(&mut object)?;
        self.notes.extend(notes);
        let made = Made {
            name: object.metadata().name.clone(),
            node: node.map(str::to_owned),
        };
        let name = (object.metadata().namespace.clone(), made.name.clone());
        if self.pods.contains_key(&name) {
            let message = format!(
                "{}/{} is a pod already, and a workload's next one",
                name.0, name.1
            );
            return Err(Failure::Usage(message));
        }
        self.tick();
        self.arrive(object, workload.runs)?;
        workload.pods.insert(number, made);
        Ok(())
    }

    /// How many pods a workload asks for.
    fn within_limit(&self, expansion: &Expansion<'_>) -> Result<u64, Failure> {
        let wanted = expansion.count();
        let total = wanted.saturating_add(self.pods.len() as u64);
        if total > MADE_PODS_MAX {
            let metadata = expansion.metadata();
            let message = format!(
                "{}/{} asks for {wanted} pods, {total} in all; at most {MADE_PODS_MAX} are made",
                metadata.namespace, metadata.name
            );
            return Err(Failure::Usage(message));
        }
        Ok(wanted)
    }

    /// Removes some pods of a workload: those that wait first, then the highest numbers.
    fn remove_made(
        &mut self,
        workload: &mut Workload,
        namespace: &str,
        count: usize,
    ) -> Result<(), Failure> {
        let mut numbers: Vec<(bool, u64)> = workload
            .pods
            .iter()
            .map(|(number, made)| {
                let entry = self.pods.get(&(namespace.to_owned(), made.name.clone()));
                (entry.is_some_and(super::PodEntry::waits), *number)
            })
            .collect();
        numbers.sort_by_key(|own| Reverse(*own));
        for (_, number) in numbers.into_iter().take(count) {
            if let Some(made) = workload.pods.remove(&number) {
                self.remove_pod(&(namespace.to_owned(), made.name))?;
            }
        }
        Ok(())
    }
}
