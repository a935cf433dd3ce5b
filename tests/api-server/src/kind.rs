//! Which kinds there are, and the paths that name them.

/// A kind of objects.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// As in the path: the plural, in lower case.
    pub resource: &'static str,
    /// As in an object.
    pub kind: &'static str,
    /// Empty of the core group.
    pub group: &'static str,
    /// The one version served.
    pub version: &'static str,
    /// Whether its objects lie in namespaces.
    pub namespaced: bool,
}

const fn kind(
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    kind: &'static str,
    namespaced: bool,
) -> Kind {
    Kind {
        resource,
        kind,
        group,
        version,
        namespaced,
    }
}

/// All that a scheduler reads or writes.
pub static KINDS: [Kind; 27] = [
    kind("", "v1", "configmaps", "ConfigMap", true),
    kind("", "v1", "events", "Event", true),
    kind("", "v1", "namespaces", "Namespace", false),
    kind("", "v1", "nodes", "Node", false),
    kind(
        "",
        "v1",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        true,
    ),
    kind("", "v1", "persistentvolumes", "PersistentVolume", false),
    kind("", "v1", "pods", "Pod", true),
    kind(
        "",
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        true,
    ),
    kind("", "v1", "services", "Service", true),
    kind("apps", "v1", "deployments", "Deployment", true),
    kind("apps", "v1", "daemonsets", "DaemonSet", true),
    kind("apps", "v1", "replicasets", "ReplicaSet", true),
    kind("apps", "v1", "statefulsets", "StatefulSet", true),
    kind("coordination.k8s.io", "v1", "leases", "Lease", true),
    kind("events.k8s.io", "v1", "events", "Event", true),
    kind(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "PodDisruptionBudget",
        true,
    ),
    kind(
        "resource.k8s.io",
        "v1",
        "deviceclasses",
        "DeviceClass",
        false,
    ),
    kind(
        "resource.k8s.io",
        "v1",
        "devicetaintrules",
        "DeviceTaintRule",
        false,
    ),
    kind(
        "resource.k8s.io",
        "v1",
        "resourceclaims",
        "ResourceClaim",
        true,
    ),
    kind(
        "resource.k8s.io",
        "v1",
        "resourceslices",
        "ResourceSlice",
        false,
    ),
    kind(
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "PriorityClass",
        false,
    ),
    kind("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false),
    kind("storage.k8s.io", "v1", "csidrivers", "CSIDriver", false),
    kind("storage.k8s.io", "v1", "csinodes", "CSINode", false),
    kind(
        "storage.k8s.io",
        "v1",
        "csistoragecapacities",
        "CSIStorageCapacity",
        true,
    ),
    kind(
        "storage.k8s.io",
        "v1",
        "storageclasses",
        "StorageClass",
        false,
    ),
    kind(
        "storage.k8s.io",
        "v1",
        "volumeattachments",
        "VolumeAttachment",
        false,
    ),
];

impl Kind {
    /// As objects and bodies have it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Where it stands in [`KINDS`].
    pub(crate) fn place(&self) -> usize {
        let place = KINDS.iter().position(|kind| std::ptr::eq(kind, self));
        place.expect("all kinds are there")
    }

    /// The resource as refusals write it.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    /// The kind of a resource, `events` being those of `events.k8s.io`. Panics on an unknown one.
    pub(crate) fn of(resource: &str) -> &'static Self {
        let mut kinds = KINDS.iter().rev();
        let found = kinds.find(|kind| kind.resource == resource);
        found.unwrap_or_else(|| panic!("no such resource here: {resource}"))
    }
}

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) kind: &'static Kind,
    /// Empty of all namespaces, or of a kind without.
    pub(crate) namespace: String,
    /// Empty of the list.
    pub(crate) name: String,
    /// Empty of the object itself.
    pub(crate) subresource: String,
}

impl Target {
    /// `None` of a path that names no kind of [`KINDS`].
    pub(crate) fn of(path: &str) -> Option<Self> {
        let mut parts = path.split('/').skip(1);
        let (group, version) = match parts.next()? {
            "api" => ("", parts.next()?),
            "apis" => (parts.next()?, parts.next()?),
            _ => return None,
        };
        let rest: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let known = |resource: &str| {
            KINDS.iter().find(|kind| {
                (kind.group, kind.version, kind.resource) == (group, version, resource)
            })
        };
        let (namespace, rest) = match rest.as_slice() {
            ["namespaces", namespace, resource, rest @ ..] if known(resource).is_some() => {
                (*namespace, [&[*resource], rest].concat())
            }
            rest => ("", rest.to_vec()),
        };
        let text = |place: usize| rest.get(place).copied().unwrap_or_default().to_owned();
        let kind = known(&text(0))?;
        (rest.len() <= 3 && kind.namespaced | namespace.is_empty()).then(|| Self {
            kind,
            namespace: namespace.to_owned(),
            name: text(1),
            subresource: text(2),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn a_path_names_a_kind_a_namespace_an_object_and_a_part_of_it() {
        for (path, expected) in [
            ("/api/v1/pods", "pods///"),
            ("/api/v1/namespaces/a/pods/p/binding", "pods/a/p/binding"),
            ("/api/v1/namespaces/a", "namespaces//a/"),
            ("/api/v1/nodes/n", "nodes//n/"),
            (
                "/apis/coordination.k8s.io/v1/namespaces/a/leases/l",
                "leases/a/l/",
            ),
        ] {
            let target = Target::of(path).expect(path);
            let Target {
                kind,
                namespace,
                name,
                subresource,
            } = target;
            let told = format!("{}/{namespace}/{name}/{subresource}", kind.resource);
            assert_eq!(told, expected, "{path}");
        }
        for path in [
            "/",
            "/readyz",
            "/api/v2/pods",
            "/apis/apps/v1/pods",
            "/api/v1/namespaces/a/nodes",
        ] {
            assert_eq!(Target::of(path), None, "{path}");
        }
    }
}
