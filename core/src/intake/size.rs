//! How large a scheduler is made.

use crate::capacity::{Capacities, CapacityExceeded};

/// Nodes of a [`Size`] at most: 26 times what Kubernetes supports.
pub const NODES_MAX: u32 = 1 << 17;
/// Pods of a [`Size`] at most: 13 times what Kubernetes supports.
pub const PODS_MAX: u32 = 1 << 21;

/// Room for nodes that a first load gets beyond a quarter more than it holds.
const SPARE_NODES: u32 = 64;
/// The same for pods.
const SPARE_PODS: u32 = 1024;

/// Most nodes and pods at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub nodes: u32,
    pub pods: u32,
}

impl Size {
    /// A quarter more than these counts, and some; at most what is allowed.
    pub(super) fn around(nodes: usize, pods: usize) -> Self {
        let roomy = |count: usize, spare: u32, most: u32| {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let room = count.saturating_add(count / 4).saturating_add(spare);
            // A load that is itself too large is refused by its own count.
            room.min(most).max(count)
        };
        Self {
            nodes: roomy(nodes, SPARE_NODES, NODES_MAX),
            pods: roomy(pods, SPARE_PODS, PODS_MAX),
        }
    }

    pub(super) fn capacities(self) -> Result<Capacities, CapacityExceeded> {
        let limits = [
            ("nodes", self.nodes, NODES_MAX),
            ("pods", self.pods, PODS_MAX),
        ];
        for (which, wanted, most) in limits {
            if wanted > most {
                let limit = u64::from(most);
                return Err(CapacityExceeded { which, limit });
            }
        }
        Ok(Capacities::for_size(self.nodes, self.pods))
    }
}
