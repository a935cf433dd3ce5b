//! How the scheduler counts a resource, by its name.
//!
//! Mirrors `pkg/apis/core/v1/helper/helpers.go`, `IsScalarResourceName` in
//! `pkg/scheduler/util/utils.go`, and `Resource.Add` in `pkg/scheduler/framework/types.go`.

pub(super) const HUGE_PAGES_PREFIX: &str = "hugepages-";
const ATTACHABLE_VOLUMES_PREFIX: &str = "attachable-volumes-";
/// Anywhere in a name, this makes the resource Kubernetes' own.
const NATIVE_PART: &str = "kubernetes.io/";
/// Quotas put this before a resource's name.
const QUOTA_PREFIX: &str = "requests.";

const DOMAIN_BYTES_MAX: usize = 253;
/// Longest domain that a quota's prefix still fits before.
const QUOTA_DOMAIN_BYTES_MAX: usize = DOMAIN_BYTES_MAX - QUOTA_PREFIX.len();
const NAME_BYTES_MAX: usize = 63;

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
        _ if is_extended(name) => ResourceClass::Scalar { extended: true },
        _ if name.contains(NATIVE_PART)
            || name.starts_with(HUGE_PAGES_PREFIX)
            || name.starts_with(ATTACHABLE_VOLUMES_PREFIX) =>
        {
            ResourceClass::Scalar { extended: false }
        }
        _ => ResourceClass::Ignored,
    }
}

/// Whether the name has a domain that is not Kubernetes' own, and a quota could be set on it.
fn is_extended(name: &str) -> bool {
    let Some((domain, rest)) = name.split_once('/') else {
        return false;
    };
    !name.contains(NATIVE_PART)
        && !name.starts_with(QUOTA_PREFIX)
        && domain.len() <= QUOTA_DOMAIN_BYTES_MAX
        && domain.split('.').all(is_domain_label)
        && is_qualified(rest)
}

fn is_domain_label(label: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    is_framed(label, is_alphanumeric, b"-")
}

fn is_qualified(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX && is_framed(name, |byte| byte.is_ascii_alphanumeric(), b"-_.")
}

/// Whether `text` has only letters and `inner` signs, none of these first or last.
fn is_framed(text: &str, is_letter: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let is_end = |end: Option<&u8>| end.is_some_and(|&byte| is_letter(byte));
    let bytes = text.as_bytes();
    is_end(bytes.first())
        && is_end(bytes.last())
        && bytes
            .iter()
            .all(|&byte| is_letter(byte) || inner.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let longest_domain = "a".repeat(DOMAIN_BYTES_MAX - QUOTA_PREFIX.len());
        let longest_name = "A".repeat(NAME_BYTES_MAX);
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
