//! Names for places in tables: `u32` newtypes, so that a pod's index is never used for a node.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub u32);

        impl $name {
            /// The place in the table, for slices.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the place `index`; tables are limited to below 2^32 places by
            /// [`Capacities`](crate::Capacities).
            pub const fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
        }
    )+};
}

ids! {
    /// A node's row: bit `n` of every node set, lane `n % 64` of block `n / 64`.
    NodeId,
    /// A pod's row.
    PodId,
    /// Pods that are equal in everything that decides their placement.
    ClassId,
    /// A text that occurs in an object.
    TextId,
    /// A profile, by its place in the configuration.
    ProfileId,
    /// A pair of topology key and value.
    DomainId,
    /// A topology key in use.
    KeyId,
    /// A counted selector of pods.
    TermId,
    /// A resource other than cpu, memory, ephemeral-storage and pods.
    ResourceId,
    /// An image name on some node.
    ImageId,
}
