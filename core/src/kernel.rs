//! Block kernels: 64 nodes at a time, over columns that are contiguous per block.
//!
//! Stage before: static node sets decide which lanes are alive. Stage after: selection. [`word`]
//! runs on whole blocks in `f64`, which is exact in the [fast range](FAST_MAX); lanes outside it
//! ([`NodeBlock::wide`]) are redone by [`naive`], whose plain `i128` loops are the specification.

pub mod naive;
pub mod word;

/// Nodes of a block: one word of a node set.
pub const LANES: usize = 64;

/// Amounts below this times 100 stay below 2^53, so that `f64` holds products and quotients exactly.
pub const FAST_MAX: i64 = 1 << 46;

/// Places of the resources that every block has a column for.
pub const CPU: usize = 0;
/// Memory.
pub const MEMORY: usize = 1;
/// Ephemeral storage.
pub const EPHEMERAL: usize = 2;

/// Columns of 64 nodes. Cpu in milli-cores, memory and ephemeral storage in bytes.
#[derive(Clone, Debug)]
pub struct NodeBlock {
    /// `status.allocatable`; absent is 0.
    pub allocatable: [[i64; LANES]; 3],
    /// Sum over the pods on the node, exact.
    pub requested: [[i128; LANES]; 3],
    /// Sum with defaults for containers that ask for none; cpu and memory.
    pub non_zero: [[i128; LANES]; 2],
    /// Pods on the node.
    pub pods: [u32; LANES],
    /// Pods that the node takes at most.
    pub pods_allocatable: [i64; LANES],
    /// Lanes that hold a node.
    pub present: u64,
    /// Lanes with room for one more pod.
    pub slots: u64,
    /// Lanes outside the fast range, or with an allocatable of 0 of cpu or memory.
    pub wide: u64,
    /// Mirrors of cpu and memory in the fast range.
    pub fast: FastColumns,
    /// `balance` of cpu and memory as they are, for `NodeResourcesBalancedAllocation`.
    pub balance: [u8; LANES],
}

/// Cpu and memory as `f64`, for lanes that are not wide.
#[derive(Clone, Debug)]
pub struct FastColumns {
    pub allocatable: [[f64; LANES]; 2],
    pub requested: [[f64; LANES]; 2],
    pub non_zero: [[f64; LANES]; 2],
}

/// What a class asks of cpu and memory, for [`word`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What is filtered by.
    pub spec: [i64; 2],
    /// What the fit score adds to the non-zero sums.
    pub score: [i64; 2],
    /// What the balance score adds to the sums.
    pub status: [i64; 2],
}

impl Request {
    /// Whether all amounts are in the fast range.
    pub fn is_fast(&self) -> bool {
        let amounts = self.spec.iter().chain(&self.score).chain(&self.status);
        amounts.into_iter().all(|amount| *amount < FAST_MAX)
    }
}

impl NodeBlock {
    /// A block without nodes.
    pub const EMPTY: Self = Self {
        allocatable: [[0; LANES]; 3],
        requested: [[0; LANES]; 3],
        non_zero: [[0; LANES]; 2],
        pods: [0; LANES],
        pods_allocatable: [0; LANES],
        present: 0,
        slots: 0,
        wide: 0,
        fast: FastColumns {
            allocatable: [[0.0; LANES]; 2],
            requested: [[0.0; LANES]; 2],
            non_zero: [[0.0; LANES]; 2],
        },
        balance: [0; LANES],
    };

    /// What is allocatable and requested of a resource on the node in `lane`; 0 of other places.
    pub fn amounts(&self, resource: usize, lane: usize) -> (i64, i128) {
        let allocatable = self.allocatable.get(resource).and_then(|own| own.get(lane));
        let requested = self.requested.get(resource).and_then(|own| own.get(lane));
        (
            allocatable.copied().unwrap_or(0),
            requested.copied().unwrap_or(0),
        )
    }

    /// Derives from the exact columns of `lane`, below 64, what depends on them; after every change.
    #[allow(
        clippy::indexing_slicing,
        reason = "the remainder is a lane, and cpu and memory have every column"
    )]
    pub fn refresh(&mut self, lane: usize) {
        let lane = lane % LANES;
        let bit = 1u64 << lane;
        let set = |word: u64, on: bool| if on { word | bit } else { word & !bit };
        let free_slot = i64::from(self.pods[lane]) < self.pods_allocatable[lane];
        self.slots = set(self.slots, free_slot);
        let fast = |amount: i128| (0..i128::from(FAST_MAX)).contains(&amount);
        let wide = (0..2).any(|resource| {
            self.allocatable[resource][lane] <= 0
                || self.allocatable[resource][lane] >= FAST_MAX
                || !fast(self.requested[resource][lane])
                || !fast(self.non_zero[resource][lane])
        });
        self.wide = set(self.wide, wide);
        for resource in 0..2 {
            self.fast.allocatable[resource][lane] = self.allocatable[resource][lane] as f64;
            self.fast.requested[resource][lane] = self.requested[resource][lane] as f64;
            self.fast.non_zero[resource][lane] = self.non_zero[resource][lane] as f64;
        }
        let fractions = (0..2).filter_map(|resource| {
            naive::fraction(
                self.allocatable[resource][lane],
                self.requested[resource][lane],
            )
        });
        self.balance[lane] = naive::balance(fractions);
    }
}
