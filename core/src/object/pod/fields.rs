//! How blocks of a pod stand in a document, where that is more than what is kept of them.

use super::{ContainerPort, ResourceRequirements, Toleration, VolumeSource};
use crate::object::map::{map, optional_map};
use crate::object::{ResourceList, nullable};
use alloc::collections::BTreeMap;
use alloc::string::String;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ResourceRequirementsFields {
    #[serde(deserialize_with = "optional_map")]
    requests: Option<ResourceList>,
    #[serde(deserialize_with = "map")]
    limits: ResourceList,
    #[serde(rename = "claims")]
    _claims: IgnoredAny,
}

impl From<ResourceRequirementsFields> for ResourceRequirements {
    fn from(fields: ResourceRequirementsFields) -> Self {
        Self {
            requests: fields.requests,
            limits: fields.limits,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ContainerPortFields {
    #[serde(deserialize_with = "nullable")]
    host_port: i32,
    #[serde(deserialize_with = "nullable")]
    container_port: i32,
    #[serde(rename = "hostIP", deserialize_with = "nullable")]
    host_ip: String,
    #[serde(deserialize_with = "nullable")]
    protocol: String,
    #[serde(rename = "name")]
    _name: IgnoredAny,
}

impl From<ContainerPortFields> for ContainerPort {
    fn from(fields: ContainerPortFields) -> Self {
        Self {
            host_port: fields.host_port,
            container_port: fields.container_port,
            host_ip: fields.host_ip,
            protocol: fields.protocol,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct TolerationFields {
    #[serde(deserialize_with = "nullable")]
    key: String,
    #[serde(deserialize_with = "nullable")]
    operator: String,
    #[serde(deserialize_with = "nullable")]
    value: String,
    #[serde(deserialize_with = "nullable")]
    effect: String,
    /// Says when a running pod is evicted; scheduling does not read it.
    #[serde(rename = "tolerationSeconds")]
    _toleration_seconds: IgnoredAny,
}

impl From<TolerationFields> for Toleration {
    fn from(fields: TolerationFields) -> Self {
        Self {
            key: fields.key,
            operator: fields.operator,
            value: fields.value,
            effect: fields.effect,
        }
    }
}

/// Reads a volume's source; `emptyDir: null` is no source at all.
pub(super) fn volume_source<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, VolumeSource>, D::Error> {
    let sources = BTreeMap::<String, Option<VolumeSource>>::deserialize(deserializer)?;
    Ok(sources
        .into_iter()
        .filter_map(|(kind, source)| Some((kind, source?)))
        .collect())
}
