//! The judge: reads the cluster from the API server and recounts it by Kubernetes' rules, written
//! here once more over JSON, so that nothing is shared with what is judged.
//!
//! A bound pod is judged as if it came now, to the node where it is, all the others being there. That
//! holds in any order of arrivals as long as nodes stay as they are and no pod of a spread or an
//! affinity is gone; tests that delete such pods look at fewer kinds of [`Violation`]. Volumes,
//! device claims and preemption are not judged.

mod object;
mod place;
mod quantity;
mod requirement;

use crate::api::{Api, NODES, PODS};
use crate::audit::Row;
use object::{Condition, Event, Namespace, Node, Pod};
pub use place::Against;
use place::{Places, is_finished};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A pod is on a node that it may not be on.
    Misplaced {
        /// `namespace/name`, as of every pod here.
        pod: String,
        /// Where it is.
        node: String,
        /// The first rule against it.
        against: Against,
    },
    /// A pod is on a node that is not there.
    Nowhere {
        /// The pod.
        pod: String,
        /// The node.
        node: String,
    },
    /// A pod that a scheduling gate holds is on a node.
    Gated {
        /// The pod.
        pod: String,
    },
    /// A pod waits, though there is room for it.
    Overlooked {
        /// The pod.
        pod: String,
        /// The first node that would do.
        node: String,
    },
    /// A pod waits, and its condition does not say that it is unschedulable, or no event says the
    /// same as the condition.
    Untold {
        /// The pod.
        pod: String,
        /// Its condition, as far as there is one.
        condition: String,
        /// What its events say.
        events: Vec<String>,
    },
    /// One pod was bound more than once, or bindings that were answered by more than one node's.
    BoundTwice {
        /// The pod.
        pod: String,
        /// The nodes, in order.
        nodes: Vec<String>,
    },
}

/// A cluster as the API server tells it.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    pods: Vec<Pod>,
    namespaces: Vec<Namespace>,
    events: Vec<Event>,
}

impl Cluster {
    /// Reads it.
    pub async fn read(api: &Api) -> kube::Result<Self> {
        Ok(Self {
            pods: list(api, PODS).await?,
            nodes: list(api, NODES).await?,
            namespaces: list(api, "/api/v1/namespaces").await?,
            events: list(api, "/apis/events.k8s.io/v1/events").await?,
        })
    }

    /// Pods on nodes.
    pub fn bound(&self) -> usize {
        let bound = self
            .pods
            .iter()
            .filter(|pod| !pod.spec.node_name.is_empty());
        bound.count()
    }

    /// Everything that is wrong, once `scheduler` (pods' schedulerName) has had its time.
    pub fn violations(&self, scheduler: &str) -> Vec<Violation> {
        let mut found = self.misplaced();
        found.extend(self.overlooked(scheduler));
        found.extend(self.untold(scheduler));
        found
    }

    /// Pods where they may not be, whoever bound them. Must be empty at any time.
    pub fn misplaced(&self) -> Vec<Violation> {
        let places = self.places();
        let bound = self.pods.iter();
        let bound = bound.filter(|pod| !pod.spec.node_name.is_empty() && !is_finished(pod));
        let found = bound.filter_map(|pod| {
            let node = pod.spec.node_name.clone();
            if !pod.spec.scheduling_gates.is_empty() {
                return Some(Violation::Gated { pod: name(pod) });
            }
            let Some(place) = places.node(&node) else {
                let pod = name(pod);
                return Some(Violation::Nowhere { pod, node });
            };
            let against = places.against(pod, place)?;
            let pod = name(pod);
            Some(Violation::Misplaced { pod, node, against })
        });
        found.collect()
    }

    /// Pods of `scheduler` that wait though a node would do.
    pub fn overlooked(&self, scheduler: &str) -> Vec<Violation> {
        let places = self.places();
        let found = self.waiting(scheduler).filter_map(|pod| {
            let mut nodes = self.nodes.iter();
            let fit = nodes.find(|node| places.against(pod, node).is_none())?;
            Some(Violation::Overlooked {
                pod: name(pod),
                node: fit.metadata.name.clone(),
            })
        });
        found.collect()
    }

    /// Pods of `scheduler` that wait and of which the user is not told why.
    pub fn untold(&self, scheduler: &str) -> Vec<Violation> {
        let found = self.waiting(scheduler).filter_map(|pod| {
            let condition = scheduled_condition(pod);
            let message = condition.map_or("", |condition| condition.message.as_str());
            let events = self.failures(pod);
            let known = condition.is_some_and(|condition| {
                condition.status == "False" && condition.reason == "Unschedulable"
            });
            let told = known && events.contains(&cut(message));
            (!told).then(|| Violation::Untold {
                pod: name(pod),
                condition: format!("{condition:?}"),
                events,
            })
        });
        found.collect()
    }

    /// Why a pod (`namespace/name`) waits, as its condition says. `None` if it does not say so.
    pub fn message(&self, pod: &str) -> Option<String> {
        let pod = self.pods.iter().find(|one| name(one) == pod)?;
        let condition = scheduled_condition(pod)?;
        (condition.status == "False").then(|| condition.message.clone())
    }

    fn places(&self) -> Places<'_> {
        Places::new(&self.nodes, &self.pods, &self.namespaces)
    }

    fn waiting(&self, scheduler: &str) -> impl Iterator<Item = &Pod> {
        self.pods.iter().filter(move |pod| {
            pod.spec.node_name.is_empty()
                && pod.spec.scheduler_name == scheduler
                && pod.spec.scheduling_gates.is_empty()
                && pod.metadata.deletion_timestamp.is_none()
                && !is_finished(pod)
        })
    }

    fn failures(&self, pod: &Pod) -> Vec<String> {
        let events = self.events.iter().filter(|event| {
            event.regarding.uid == pod.metadata.uid && event.reason == "FailedScheduling"
        });
        events.map(|event| event.note.clone()).collect()
    }
}

/// Pods that were bound more than once, by the API server's log.
pub fn bound_twice(rows: &[Row]) -> Vec<Violation> {
    let mut bindings: BTreeMap<(String, &str), Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_binding()) {
        let pod = format!("{}/{}", row.namespace, row.name);
        bindings.entry((pod, &row.uid)).or_default().push(row);
    }
    let found = bindings.into_iter().filter_map(|((pod, _), rows)| {
        let bound = rows.iter().filter(|row| row.code == 201);
        let nodes: BTreeSet<&str> = rows.iter().map(|row| row.target.as_str()).collect();
        (bound.count() > 1 || nodes.len() > 1).then(|| Violation::BoundTwice {
            pod,
            nodes: rows.iter().map(|row| row.target.clone()).collect(),
        })
    });
    found.collect()
}

async fn list<T: DeserializeOwned>(api: &Api, path: &str) -> kube::Result<Vec<T>> {
    let items = api.list(path).await?.into_iter();
    let items = items.map(|item| serde_json::from_value(item).map_err(kube::Error::SerdeError));
    items.collect()
}

fn name(pod: &Pod) -> String {
    format!("{}/{}", pod.metadata.namespace, pod.metadata.name)
}

fn scheduled_condition(pod: &Pod) -> Option<&Condition> {
    let mut conditions = pod.status.conditions.iter();
    conditions.find(|condition| condition.r#type == "PodScheduled")
}

/// A message as an event holds it: at most 1,024 bytes, of which a longer one loses its end.
fn cut(message: &str) -> String {
    const BYTES_MAX: usize = 1_024;
    const DOTS: &str = " ...";
    if message.len() <= BYTES_MAX {
        return message.to_owned();
    }
    let start = message.as_bytes().get(..BYTES_MAX - DOTS.len());
    String::from_utf8_lossy(start.unwrap_or_default()).into_owned() + DOTS
}
