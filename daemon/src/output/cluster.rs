//! The run as a whole and the nodes after it, as json and yaml show them.

use super::amount;
use crate::world::Course;
use berth_core::{DecisionRecord, NodeView, PodResult, Scheduler};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::time::Duration;

/// Counts of a run.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub nodes: usize,
    /// Pods of the input that were not bound and were tried.
    pub pods: usize,
    pub scheduled: usize,
    pub unschedulable: usize,
    pub gated: usize,
    pub unsupported: usize,
    pub error: usize,
    pub victims: usize,
    /// Claims that got a volume because their pod was placed.
    #[serde(skip_serializing_if = "is_zero")]
    pub claims_bound: usize,
    /// Of these, claims whose volume was provisioned.
    #[serde(skip_serializing_if = "is_zero")]
    pub claims_provisioned: usize,
    /// Pending pods that were left out: another scheduler's, or being deleted.
    pub skipped: usize,
    /// Of a trace: what it came to over time.
    #[serde(flatten)]
    pub course: Option<Course>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

impl Summary {
    /// Counts the decision on one pod.
    pub fn count(&mut self, record: &DecisionRecord) {
        self.pods += 1;
        self.victims += record.victims.len();
        self.claims_bound += record.volumes.len();
        let provisioned = record.volumes.iter().filter(|claim| claim.provisioned);
        self.claims_provisioned += provisioned.count();
        let counter = match record.result {
            PodResult::Scheduled => &mut self.scheduled,
            PodResult::Unschedulable => &mut self.unschedulable,
            PodResult::Gated => &mut self.gated,
            PodResult::Unsupported => &mut self.unsupported,
            PodResult::Error => &mut self.error,
        };
        *counter += 1;
    }

    pub fn pending(&self) -> usize {
        self.pods - self.scheduled
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Where the time went: seconds of each stage, and the number of decisions.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Timing {
    #[serde(serialize_with = "seconds")]
    pub read: Duration,
    #[serde(serialize_with = "seconds")]
    pub build: Duration,
    #[serde(serialize_with = "seconds")]
    pub decide: Duration,
    pub decisions: usize,
}

fn seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    duration.as_secs_f64().serialize(serializer)
}

/// A node after the run.
#[derive(Clone, Debug)]
pub struct NodeRow {
    pub name: String,
    pub pods: u32,
    pub pods_allocatable: i64,
    pub unschedulable: bool,
    pub resources: Vec<ResourceRow>,
}

/// One resource of a node; cpu in milli-cores, all else in whole units.
#[derive(Clone, Debug)]
pub struct ResourceRow {
    pub name: String,
    pub requested: i128,
    pub allocatable: i64,
}

impl NodeRow {
    /// All nodes of a scheduler, in the order in which they came.
    pub fn all(scheduler: &Scheduler) -> Vec<Self> {
        let nodes = scheduler.nodes();
        nodes.map(|id| Self::new(&scheduler.node(id))).collect()
    }

    fn new(node: &NodeView<'_>) -> Self {
        let resources = node
            .resources()
            .map(|(name, requested, allocatable)| ResourceRow {
                name: name.to_owned(),
                requested,
                allocatable,
            })
            .collect();
        Self {
            name: node.name.to_owned(),
            pods: node.pods,
            pods_allocatable: node.pods_allocatable,
            unschedulable: node.unschedulable,
            resources,
        }
    }

    /// The resource, if the node knows it.
    pub fn resource(&self, name: &str) -> Option<&ResourceRow> {
        self.resources.iter().find(|resource| resource.name == name)
    }
}

impl Serialize for NodeRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut node = serializer.serialize_map(Some(4))?;
        node.serialize_entry("name", &self.name)?;
        node.serialize_entry("pods", &self.pods)?;
        node.serialize_entry(
            "requested",
            &Amounts {
                row: self,
                allocatable: false,
            },
        )?;
        node.serialize_entry(
            "allocatable",
            &Amounts {
                row: self,
                allocatable: true,
            },
        )?;
        node.end()
    }
}

/// One side of a node's resources, as Kubernetes writes a resource list.
struct Amounts<'a> {
    row: &'a NodeRow,
    allocatable: bool,
}

impl Serialize for Amounts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut amounts = serializer.serialize_map(None)?;
        for resource in &self.row.resources {
            let amount = if self.allocatable {
                i128::from(resource.allocatable)
            } else {
                resource.requested
            };
            amounts.serialize_entry(&resource.name, &amount::exact(&resource.name, amount))?;
        }
        let pods = if self.allocatable {
            self.row.pods_allocatable
        } else {
            i64::from(self.row.pods)
        };
        amounts.serialize_entry("pods", &pods.to_string())?;
        amounts.end()
    }
}
