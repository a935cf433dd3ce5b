//! What is sent to extenders: JSON with Go's field names.
//!
//! Mirrors `staging/src/k8s.io/kube-scheduler/extender/v1`. Answers are read in
//! [`berth_daemon::extender_answer`].

use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// `ExtenderArgs`: nodes as objects or by name.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Args<'a> {
    pub pod: &'a RawValue,
    pub nodes: Option<NodeList<'a>>,
    pub node_names: Option<Vec<&'a str>>,
}

/// A `NodeList`.
#[derive(Serialize)]
pub struct NodeList<'a> {
    metadata: ListMeta,
    items: Vec<&'a RawValue>,
}

#[derive(Serialize)]
struct ListMeta {}

impl<'a> NodeList<'a> {
    pub const fn of(items: Vec<&'a RawValue>) -> Self {
        Self {
            metadata: ListMeta {},
            items,
        }
    }
}

/// `ExtenderPreemptionArgs`.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PreemptionArgs<'a> {
    pub pod: &'a RawValue,
    pub node_name_to_victims: Option<BTreeMap<&'a str, Victims<Cow<'a, RawValue>>>>,
    pub node_name_to_meta_victims: Option<BTreeMap<&'a str, Victims<MetaPod<'a>>>>,
}

/// `Victims` and `MetaVictims`.
#[derive(Serialize)]
pub struct Victims<T> {
    #[serde(rename = "Pods")]
    pub pods: Vec<T>,
    #[serde(rename = "NumPDBViolations")]
    pub violations: i64,
}

/// `MetaPod`.
#[derive(Serialize)]
pub struct MetaPod<'a> {
    #[serde(rename = "UID")]
    pub uid: &'a str,
}
