//! Which workloads of an input have their pods in it already.

use crate::object::{Object, ObjectMeta, OwnerReference, Pod};
use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// Workloads by namespace, kind and name.
type Workloads<'o> = HashSet<(&'o str, &'static str, &'o str), FixedState>;

/// The workloads that pods, replica sets and jobs name as their controllers.
pub(super) struct Owners<'o> {
    /// Named themselves, or through a set or job of theirs.
    named: Workloads<'o>,
    /// Replica sets and jobs that are in the input themselves.
    there: Workloads<'o>,
}

impl<'o> Owners<'o> {
    pub(super) fn of(objects: &'o [Object]) -> Self {
        let mut owners = Self {
            named: HashSet::with_hasher(FixedState::default()),
            there: HashSet::with_hasher(FixedState::default()),
        };
        for object in objects {
            let kind = match object {
                Object::ReplicaSet(_) => "ReplicaSet",
                Object::Job(_) => "Job",
                _ => continue,
            };
            let metadata = object.metadata();
            let namespace = metadata.namespace.as_str();
            owners.there.insert((namespace, kind, &metadata.name));
            owners.add_controller(metadata);
        }
        for object in objects {
            if let Object::Pod(pod) = object {
                owners.add_pod(pod);
            }
        }
        owners
    }

    fn add_controller(&mut self, metadata: &'o ObjectMeta) -> Option<(&'static str, &'o str)> {
        let owner = metadata.controller()?;
        let kind = kind(owner)?;
        self.named.insert((&metadata.namespace, kind, &owner.name));
        Some((kind, &owner.name))
    }

    fn add_pod(&mut self, pod: &'o Pod) {
        let Some((kind, name)) = self.add_controller(&pod.metadata) else {
            return;
        };
        let namespace = pod.metadata.namespace.as_str();
        if self.there.contains(&(namespace, kind, name)) {
            return;
        }
        // The set or job between is not in the input: its name tells whose it is.
        match kind {
            "ReplicaSet" => {
                let deployment = without_hash(name, pod);
                let deployment = deployment.map(|deployment| (namespace, "Deployment", deployment));
                self.named.extend(deployment);
            }
            "Job" => {
                let cron_job = without_time(name);
                self.named
                    .extend(cron_job.map(|cron_job| (namespace, "CronJob", cron_job)));
            }
            _ => {}
        }
    }

    /// Whether the workload has pods in the input, or a set or job that stands for it.
    pub(super) fn have_pods(&self, workload: &'o Object) -> bool {
        let metadata = workload.metadata();
        let key = |kind| (metadata.namespace.as_str(), kind, metadata.name.as_str());
        // Pods that were made here are of a set or job of the workload's own name.
        let implied = |kind| self.named.contains(&key(kind)) && !self.there.contains(&key(kind));
        self.named.contains(&key(workload.kind()))
            || match workload {
                Object::Deployment(_) => implied("ReplicaSet"),
                Object::CronJob(_) => implied("Job"),
                _ => false,
            }
    }
}

/// The owner's kind if it is one of Kubernetes' workloads: other API groups have jobs too.
fn kind(owner: &OwnerReference) -> Option<&'static str> {
    let group = owner.api_version.split('/').next().unwrap_or_default();
    let kinds = [
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
        "DaemonSet",
        "Deployment",
        "Job",
        "CronJob",
    ];
    let kind = kinds.into_iter().find(|kind| *kind == owner.kind);
    kind.filter(|_| !group.contains('.'))
}

/// The Deployment of a replica set called `DEPLOYMENT-HASH`.
fn without_hash<'o>(set: &'o str, pod: &Pod) -> Option<&'o str> {
    let (deployment, hash) = set.rsplit_once('-')?;
    let is_hash = match pod.metadata.labels.get("pod-template-hash") {
        Some(label) => label == hash,
        None => (1..=10).contains(&hash.len()) && hash.bytes().all(is_hash_letter),
    };
    is_hash.then_some(deployment)
}

/// Letters that upstream's `SafeEncodeString` writes.
fn is_hash_letter(byte: u8) -> bool {
    b"bcdfghjklmnpqrstvwxz2456789".contains(&byte)
}

/// The `CronJob` of a job called `CRONJOB-MINUTES`.
fn without_time(job: &str) -> Option<&str> {
    let (cron_job, minutes) = job.rsplit_once('-')?;
    let is_time = !minutes.is_empty() && minutes.bytes().all(|byte| byte.is_ascii_digit());
    is_time.then_some(cron_job)
}
