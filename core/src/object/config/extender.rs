//! Extenders: other processes that are asked over HTTP.

use super::{
    ConfigError, Duration, KubeSchedulerConfiguration, PluginArgs, nullable, nullable_list,
};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Deserializer, Serialize, de};

/// How one extender is reached and what it is asked. An empty verb is not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Extender {
    /// Verb of binding.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub bind_verb: String,
    /// Whether HTTPS is spoken; without a CA the certificate is not checked.
    #[serde(
        rename = "enableHTTPS",
        deserialize_with = "nullable",
        skip_serializing_if = "super::is_false"
    )]
    pub enable_https: bool,
    /// Verb of filtering.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub filter_verb: String,
    /// Longest wait for an answer.
    pub http_timeout: Duration,
    /// Whether its failing does not fail the pod.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "super::is_false")]
    pub ignorable: bool,
    /// Only pods that want one of these are shown to it; none means all pods.
    #[serde(
        deserialize_with = "nullable_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub managed_resources: Vec<ExtenderManagedResource>,
    /// Whether it knows the nodes and is sent names only.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "super::is_false")]
    pub node_cache_capable: bool,
    /// Verb of preemption.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub preempt_verb: String,
    /// Verb of scoring.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub prioritize_verb: String,
    /// How its HTTPS is set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_config: Option<ExtenderTlsConfig>,
    /// URL that verbs are appended to.
    #[serde(deserialize_with = "nullable")]
    pub url_prefix: String,
    /// Factor of its scores.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub weight: i64,
}

/// An extended resource that an extender manages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ExtenderManagedResource {
    /// Whether `NodeResourcesFit` does not look at it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "super::is_false")]
    pub ignored_by_scheduler: bool,
    /// The resource's name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

impl KubeSchedulerConfiguration {
    /// Sets the resources that NodeResourcesFit ignores to those that extenders take over, if there are
    /// any, in a defaulted configuration.
    pub(super) fn leave_to_extenders(&mut self, errors: &mut Vec<ConfigError>) {
        let managed = self.extenders.iter().flat_map(|own| &own.managed_resources);
        let ignored = managed.filter(|resource| resource.ignored_by_scheduler);
        let ignored: Vec<String> = ignored.map(|resource| resource.name.clone()).collect();
        if ignored.is_empty() {
            return;
        }
        for (index, profile) in self.profiles.iter_mut().enumerate() {
            let mut args = profile
                .plugin_config
                .iter_mut()
                .map(|config| &mut config.args);
            let fit = args.find_map(|args| match args {
                PluginArgs::NodeResourcesFit(args) => Some(args),
                _ => None,
            });
            match fit {
                Some(args) => args.ignored_resources.clone_from(&ignored),
                None => errors.push(ConfigError {
                    field: format!("profiles[{index}].pluginConfig"),
                    problem: String::from("can't find NodeResourcesFitArgs in plugin config"),
                }),
            }
        }
    }
}

/// TLS of an extender. Data goes before files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ExtenderTlsConfig {
    /// Certificates of trusted authorities.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "PemData::is_empty"
    )]
    pub ca_data: PemData,
    /// File of them.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub ca_file: String,
    /// The scheduler's certificate.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "PemData::is_empty"
    )]
    pub cert_data: PemData,
    /// File of it.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub cert_file: String,
    /// Whether the server's certificate is not checked.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "super::is_false")]
    pub insecure: bool,
    /// The scheduler's private key.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "PemData::is_empty"
    )]
    pub key_data: PemData,
    /// File of it.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub key_file: String,
    /// Name that the server's certificate must have; empty is the URL's host.
    #[serde(
        deserialize_with = "nullable",
        skip_serializing_if = "String::is_empty"
    )]
    pub server_name: String,
}

/// Bytes in base64, checked and kept as text. Debug output hides them: one is a private key.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PemData(String);

impl PemData {
    /// The base64 text.
    pub fn as_base64(&self) -> &str {
        &self.0
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for PemData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PemData({} characters)", self.0.len())
    }
}

impl<'de> Deserialize<'de> for PemData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Go's decoder skips line ends.
        let mut text = String::deserialize(deserializer)?;
        text.retain(|letter| letter != '\n' && letter != '\r');
        if is_base64(&text) {
            Ok(Self(text))
        } else {
            Err(de::Error::custom("illegal base64 data"))
        }
    }
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len().saturating_sub(digits.len());
    text.len().is_multiple_of(4)
        && padding <= 2
        && digits
            .bytes()
            .all(|digit| digit.is_ascii_alphanumeric() || digit == b'+' || digit == b'/')
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
