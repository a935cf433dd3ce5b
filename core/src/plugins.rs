//! The plugins: one table, one row a plugin, in upstream's default order.
//!
//! Names, default weights and extension points are written here and nowhere else; stage chains,
//! configuration, records and docs read them from here. Mirrors
//! `pkg/scheduler/apis/config/v1/default_plugins.go` of kube-scheduler 1.37.2.

#[cfg(feature = "objects")]
pub(crate) mod dynamic_resources;
#[cfg(feature = "objects")]
pub(crate) mod image_locality;
#[cfg(feature = "objects")]
pub(crate) mod inter_pod_affinity;
#[cfg(feature = "objects")]
pub(crate) mod node_affinity;
#[cfg(feature = "objects")]
pub(crate) mod node_declared_features;
mod node_name;
#[cfg(feature = "objects")]
pub(crate) mod node_ports;
#[cfg(feature = "objects")]
pub(crate) mod node_resources_balanced_allocation;
#[cfg(feature = "objects")]
pub(crate) mod node_resources_fit;
#[cfg(feature = "objects")]
pub(crate) mod node_unschedulable;
#[cfg(feature = "objects")]
pub(crate) mod pod_topology_spread;
pub mod priority_sort;
#[cfg(feature = "objects")]
pub(crate) mod scheduling_gates;
#[cfg(feature = "objects")]
pub(crate) mod taint_toleration;
#[cfg(feature = "objects")]
pub(crate) mod volume_binding;

macro_rules! points {
    ($($name:ident $field:literal;)+) => {
        /// A stage of the scheduling cycle at which plugins run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Point {
            $(#[doc = concat!("`", $field, "` in the configuration.")] $name),+
        }

        impl Point {
            /// All points.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The name, as upstream's texts spell it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            /// The field of a profile's plugins in the configuration.
            pub const fn field_name(self) -> &'static str {
                match self { $(Self::$name => $field),+ }
            }
        }
    };
}

points! {
    PreEnqueue "preEnqueue";
    QueueSort "queueSort";
    PreFilter "preFilter";
    Filter "filter";
    PostFilter "postFilter";
    PreScore "preScore";
    Score "score";
    Reserve "reserve";
    Permit "permit";
    PreBind "preBind";
    Bind "bind";
    PostBind "postBind";
    PlacementGenerate "placementGenerate";
    PlacementScore "placementScore";
    PodGroupPostFilter "podGroupPostFilter";
}

macro_rules! plugins {
    ($($name:ident $weight:literal [$($point:ident)*];)+) => {
        /// A plugin of the default profile, under upstream's name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "state-file", derive(serde::Serialize, serde::Deserialize))]
        #[repr(u8)]
        pub enum Plugin {
            $(#[doc = concat!("`", stringify!($name), "`.")] $name),+
        }

        impl Plugin {
            /// All plugins, in upstream's default order.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The name, as configuration and records spell it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }

            /// Weight of its score unless configured; 0 means none given, which counts as 1.
            pub const fn default_weight(self) -> i32 {
                match self { $(Self::$name => $weight),+ }
            }

            /// The stages that it takes part in, in the order of the cycle.
            pub const fn points(self) -> &'static [Point] {
                match self { $(Self::$name => &[$(Point::$point),*]),+ }
            }
        }
    };
}

plugins! {
    SchedulingGates 0 [PreEnqueue];
    PrioritySort 0 [QueueSort];
    NodeName 0 [PreFilter Filter];
    NodeUnschedulable 0 [PreFilter Filter];
    TaintToleration 3 [PreFilter Filter PreScore Score];
    NodeAffinity 2 [PreFilter Filter PreScore Score];
    NodePorts 0 [PreFilter Filter];
    NodeResourcesFit 1 [PreFilter Filter PreScore Score PlacementScore];
    VolumeRestrictions 0 [PreFilter Filter];
    NodeVolumeLimits 0 [PreFilter Filter];
    VolumeBinding 0 [PreFilter Filter PreScore Score Reserve PreBind];
    VolumeZone 0 [PreFilter Filter];
    PodTopologySpread 2 [PreFilter Filter PreScore Score];
    InterPodAffinity 2 [PreFilter Filter PreScore Score];
    DynamicResources 2 [PreEnqueue PreFilter Filter PostFilter Score Reserve PreBind PodGroupPostFilter];
    DefaultPreemption 0 [PreEnqueue PostFilter PodGroupPostFilter];
    NodeResourcesBalancedAllocation 1 [PreScore Score];
    ImageLocality 1 [Score];
    DefaultBinder 0 [Bind];
    NodeDeclaredFeatures 0 [PreFilter Filter];
}

impl Plugin {
    /// Number of plugins.
    pub const COUNT: usize = Self::ALL.len();

    /// The plugin of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|plugin| plugin.name() == name)
    }

    /// Whether it takes part in `point`.
    pub fn extends(self, point: Point) -> bool {
        self.points().contains(&point)
    }
}
