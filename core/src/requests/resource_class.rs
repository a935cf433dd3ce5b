//! How the scheduler counts a resource, by its name.
//!
//! Mirrors `pkg/apis/core/v1/helper/helpers.go`, `IsScalarResourceName` in
//! `pkg/scheduler/util/utils.go`, and `Resource.Add` in `pkg/scheduler/framework/types.go`.

use crate::object::label::is_extended_resource;

pub(super) const HUGE_PAGES_PREFIX: &str = "hugepages-";
const ATTACHABLE_VOLUMES_PREFIX: &str = "attachable-volumes-";
/// Anywhere in a name, this makes the resource Kubernetes' own.
const NATIVE_PART: &str = "kubernetes.io/";

/// How the scheduler counts a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceClass {
    /// In thousandths: [`Quantity::milli_value`](crate::Quantity::milli_value).
    Cpu,
    /// In bytes, as all that follow in whole units: [`Quantity::value`](crate::Quantity::value).
    Memory,
    EphemeralStorage,
    /// How many pods a node may hold. Nothing that a pod asks for.
    Pods,
    /// Any other resource that is counted. Only an `extended` one can be left to an extender.
    Scalar {
        extended: bool,
    },
    /// Not counted at all: `storage`, or a name without domain.
    Ignored,
}

impl ResourceClass {
    /// Whether nodes and pods are counted in a column of its own.
    pub const fn is_scalar(self) -> bool {
        matches!(self, Self::Scalar { .. })
    }

    /// Whether it is an extended resource.
    pub const fn is_extended(self) -> bool {
        matches!(self, Self::Scalar { extended: true })
    }
}

/// How the scheduler counts the resource called `name`.
pub fn class(name: &str) -> ResourceClass {
    match name {
        "cpu" => ResourceClass::Cpu,
        "memory" => ResourceClass::Memory,
        "ephemeral-storage" => ResourceClass::EphemeralStorage,
        "pods" => ResourceClass::Pods,
        _ if is_extended_resource(name) => ResourceClass::Scalar { extended: true },
        _ if name.contains(NATIVE_PART)
            || name.starts_with(HUGE_PAGES_PREFIX)
            || name.starts_with(ATTACHABLE_VOLUMES_PREFIX) =>
        {
            ResourceClass::Scalar { extended: false }
        }
        _ => ResourceClass::Ignored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::label::{PART_BYTES_MAX, SUBDOMAIN_BYTES_MAX};
    use alloc::format;

    #[test]
    fn the_node_resources_and_kubernetes_own_names_are_told_apart() {
        for (name, expected) in [
            ("cpu", ResourceClass::Cpu),
            ("memory", ResourceClass::Memory),
            ("ephemeral-storage", ResourceClass::EphemeralStorage),
            ("pods", ResourceClass::Pods),
            ("hugepages-2Mi", ResourceClass::Scalar { extended: false }),
            (
                "attachable-volumes-aws-ebs",
                ResourceClass::Scalar { extended: false },
            ),
            (
                "example.kubernetes.io/x",
                ResourceClass::Scalar { extended: false },
            ),
            ("nvidia.com/gpu", ResourceClass::Scalar { extended: true }),
            ("storage", ResourceClass::Ignored),
            ("foo", ResourceClass::Ignored),
            ("CPU", ResourceClass::Ignored),
            ("", ResourceClass::Ignored),
        ] {
            assert_eq!(class(name), expected, "{name:?}");
        }
    }

    #[test]
    fn an_extended_name_must_stay_a_qualified_name_in_a_quota() {
        let longest_domain = "a".repeat(SUBDOMAIN_BYTES_MAX - "requests.".len());
        let longest_name = "A".repeat(PART_BYTES_MAX);
        for name in [
            "a/b",
            "1-2.x/a_B.c-1",
            &format!("{longest_domain}/{longest_name}"),
        ] {
            assert_eq!(
                class(name),
                ResourceClass::Scalar { extended: true },
                "{name}"
            );
        }
        for name in [
            "requests.nvidia.com/gpu",
            "Example.com/x",
            "example..com/x",
            "-example.com/x",
            "exam_ple.com/x",
            "example.com/x/y",
            "example.com/",
            "/x",
            "example.com/-x",
            "example.com/x.",
            "example.com/ä",
            &format!("{longest_domain}a/x"),
            &format!("x.com/{longest_name}A"),
        ] {
            assert_eq!(class(name), ResourceClass::Ignored, "{name}");
        }
    }
}
