//! Which kinds are taken in, and in which version.

/// A kind that Berth takes in.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    pub name: &'static str,
    pub api_version: &'static str,
    /// Whether its objects live in a namespace.
    pub namespaced: bool,
}

impl Kind {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        row(name)
    }
}

const fn kind(name: &'static str, api_version: &'static str, namespaced: bool) -> Kind {
    Kind {
        name,
        api_version,
        namespaced,
    }
}

/// Every kind that is taken in.
pub static KINDS: [Kind; 22] = [
    kind("Node", "v1", false),
    kind("Pod", "v1", true),
    kind("Namespace", "v1", false),
    kind("Service", "v1", true),
    kind("ReplicationController", "v1", true),
    kind("LimitRange", "v1", true),
    kind("PersistentVolume", "v1", false),
    kind("PersistentVolumeClaim", "v1", true),
    kind("ReplicaSet", "apps/v1", true),
    kind("StatefulSet", "apps/v1", true),
    kind("Deployment", "apps/v1", true),
    kind("DaemonSet", "apps/v1", true),
    kind("Job", "batch/v1", true),
    kind("CronJob", "batch/v1", true),
    kind("PodDisruptionBudget", "policy/v1", true),
    kind("PriorityClass", "scheduling.k8s.io/v1", false),
    kind("RuntimeClass", "node.k8s.io/v1", false),
    kind("StorageClass", "storage.k8s.io/v1", false),
    kind("CSINode", "storage.k8s.io/v1", false),
    kind("CSIDriver", "storage.k8s.io/v1", false),
    kind("CSIStorageCapacity", "storage.k8s.io/v1", true),
    kind("VolumeAttachment", "storage.k8s.io/v1", false),
];

/// What `apiVersion` and `kind` say of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    Known(&'static Kind),
    /// A list; of one kind, or (`v1 List`) of objects that say theirs.
    List(Option<&'static Kind>),
    /// A kind that is taken in, in a version that is not: this one is.
    WrongVersion(&'static str),
    /// Custom resources and the kinds that scheduling does not read.
    Foreign,
}

/// What a document of this `apiVersion` and `kind` is.
///
/// A known kind's name in somebody's own API group is foreign; in one of Kubernetes' groups it is
/// an old version or a mistake.
pub fn identify(api_version: &str, kind: &str) -> Identity {
    let (expected, identity) = if let Some(row) = row(kind) {
        (row.api_version, Identity::Known(row))
    } else if kind == "List" {
        ("v1", Identity::List(None))
    } else if let Some(row) = kind.strip_suffix("List").and_then(row) {
        (row.api_version, Identity::List(Some(row)))
    } else {
        return Identity::Foreign;
    };
    if api_version == expected {
        return identity;
    }
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if !group.contains('.') || KINDS.iter().any(|row| row.api_version.starts_with(group)) {
        Identity::WrongVersion(expected)
    } else {
        Identity::Foreign
    }
}

/// The row of a kind's name.
pub(in crate::object) fn row(kind: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|row| row.name == kind)
}
