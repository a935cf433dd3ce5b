//! A node to look at.

use super::Scheduler;
use crate::id::NodeId;
use crate::table::Table;

impl Scheduler {
    /// A node as the scheduler sees it. An id that no node ever had gives one without a name and
    /// without resources.
    pub fn node(&self, node: NodeId) -> NodeView<'_> {
        let mut view = NodeView {
            name: "",
            pods: 0,
            pods_allocatable: 0,
            unschedulable: false,
            scheduler: self,
            row: None,
        };
        if let Some(entry) = self.cluster.nodes.get(node.index()) {
            let (block, lane) = self.cluster.block(node.index());
            view.name = self.cluster.node_name(node.index());
            view.pods = *block.pods.at(lane);
            view.pods_allocatable = *block.pods_allocatable.at(lane);
            view.unschedulable = entry.unschedulable;
            view.row = Some(node.index());
        }
        view
    }
}

/// A node as the scheduler sees it.
#[derive(Clone, Copy)]
pub struct NodeView<'a> {
    pub name: &'a str,
    /// Pods bound to it or assumed on it.
    pub pods: u32,
    pub pods_allocatable: i64,
    pub unschedulable: bool,
    scheduler: &'a Scheduler,
    row: Option<usize>,
}

impl<'a> NodeView<'a> {
    /// (resource name, requested, allocatable) of each resource that the node has or its pods ask
    /// for; cpu in milli-cores, all else in whole units; cpu, memory and ephemeral-storage first.
    pub fn resources(&self) -> impl Iterator<Item = (&'a str, i128, i64)> + 'a {
        let cluster = &self.scheduler.cluster;
        let amounts = self.row.into_iter().flat_map(move |row| {
            let (block, lane) = cluster.block(row);
            let columns = block.requested.iter().zip(&block.allocatable);
            let main = ["cpu", "memory", "ephemeral-storage"]
                .into_iter()
                .zip(columns)
                .map(move |(name, (requested, allocatable))| {
                    (name, *requested.at(lane), *allocatable.at(lane))
                });
            let scalars = cluster.resources.ids().map(move |id| {
                (
                    cluster.texts.text(cluster.resources.name(id)),
                    cluster.resources.requested(id, row),
                    cluster.resources.allocatable(id, row),
                )
            });
            main.chain(scalars)
        });
        amounts.filter(|(name, requested, allocatable)| {
            *requested != 0 || *allocatable != 0 || matches!(*name, "cpu" | "memory")
        })
    }
}
