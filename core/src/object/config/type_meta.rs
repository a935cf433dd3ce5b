//! `apiVersion` and `kind`: texts that are the same in every configuration.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl $name {
            /// The text.
            pub const TEXT: &'static str = $text;
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = alloc::string::String::deserialize(deserializer)?;
                if text == $text {
                    Ok(Self)
                } else {
                    let found = de::Unexpected::Str(&text);
                    Err(de::Error::invalid_value(found, &concat!("\"", $text, "\"")))
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($text)
            }
        }
    )+};
}

constants! {
    /// `apiVersion` of the configuration and of plugin args.
    ApiVersion = "kubescheduler.config.k8s.io/v1";
    /// `kind` of the configuration.
    ConfigurationKind = "KubeSchedulerConfiguration";
    /// `kind` of [`DefaultPreemptionArgs`](super::DefaultPreemptionArgs).
    DefaultPreemptionArgsKind = "DefaultPreemptionArgs";
    /// `kind` of [`DynamicResourcesArgs`](super::DynamicResourcesArgs).
    DynamicResourcesArgsKind = "DynamicResourcesArgs";
    /// `kind` of [`InterPodAffinityArgs`](super::InterPodAffinityArgs).
    InterPodAffinityArgsKind = "InterPodAffinityArgs";
    /// `kind` of [`NodeAffinityArgs`](super::NodeAffinityArgs).
    NodeAffinityArgsKind = "NodeAffinityArgs";
    /// `kind` of [`NodeResourcesBalancedAllocationArgs`](super::NodeResourcesBalancedAllocationArgs).
    NodeResourcesBalancedAllocationArgsKind = "NodeResourcesBalancedAllocationArgs";
    /// `kind` of [`NodeResourcesFitArgs`](super::NodeResourcesFitArgs).
    NodeResourcesFitArgsKind = "NodeResourcesFitArgs";
    /// `kind` of [`PodTopologySpreadArgs`](super::PodTopologySpreadArgs).
    PodTopologySpreadArgsKind = "PodTopologySpreadArgs";
    /// `kind` of [`VolumeBindingArgs`](super::VolumeBindingArgs).
    VolumeBindingArgsKind = "VolumeBindingArgs";
}
