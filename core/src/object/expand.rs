//! The pods that workloads' controllers would make.
//!
//! Stage before: [`defaults`](super::defaults), which each pod made here still has to pass.
//! Stage after: [`Scheduler::apply`](crate::Scheduler::apply). Mirrors `pkg/controller`, with one
//! difference: a pod of every kind is called `NAME-0`, `NAME-1`, ... instead of `NAME-x7k2p`.

pub(crate) mod claim;
mod daemon;

use super::{
    Job, JobSpec, Node, NodeAffinity, NodeSelector, NodeSelectorTerm, Object, ObjectMeta,
    OwnerReference, PersistentVolumeClaim, Pod, PodSpec, PodTemplate, Requirement, Volume,
    VolumeSource, Workload,
};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// A workload, and what its controller would make if there were no pods of it yet.
#[derive(Debug)]
pub struct Expansion<'a> {
    metadata: &'a ObjectMeta,
    template: &'a PodTemplate,
    owner: OwnerReference,
    rest: Rest<'a>,
}

/// What differs between the kinds of workloads.
#[derive(Debug)]
enum Rest<'a> {
    Replicas(u64),
    Deployment {
        replicas: u64,
        hash: String,
    },
    StatefulSet {
        workload: &'a Workload,
    },
    /// Names of the nodes that get a pod.
    DaemonSet(Vec<&'a str>),
    Job {
        pods: u64,
        label: bool,
    },
}

impl<'a> Expansion<'a> {
    /// `None` if the object is no workload or has no pod template.
    ///
    /// `nodes` are all nodes, in order; a `DaemonSet` gets a pod for each that is eligible. Costs
    /// as much as looking at them.
    pub fn of(object: &'a Object, nodes: &[&'a Node]) -> Option<Self> {
        let of = |workload: &'a Workload, kind: &str, rest| {
            Some(Self {
                metadata: &workload.metadata,
                template: workload.spec.template.as_deref()?,
                owner: owner(&workload.metadata, "apps/v1", kind),
                rest,
            })
        };
        match object {
            Object::ReplicationController(controller) => Some(Self {
                metadata: &controller.metadata,
                template: controller.spec.template.as_deref()?,
                owner: owner(&controller.metadata, "v1", "ReplicationController"),
                rest: Rest::Replicas(replicas(controller.spec.replicas)),
            }),
            Object::ReplicaSet(set) => {
                let replicas = replicas(set.spec.replicas);
                of(set, "ReplicaSet", Rest::Replicas(replicas))
            }
            Object::Deployment(deployment) => {
                let rest = Rest::Deployment {
                    replicas: replicas(deployment.spec.replicas),
                    hash: template_hash(&deployment.metadata),
                };
                let expansion = of(deployment, "ReplicaSet", rest)?;
                let uid = made_uid(&deployment.metadata.namespace, &deployment.metadata.name);
                let owner = OwnerReference {
                    uid,
                    ..expansion.owner
                };
                Some(Self { owner, ..expansion })
            }
            Object::StatefulSet(set) => of(set, "StatefulSet", Rest::StatefulSet { workload: set }),
            Object::DaemonSet(set) => {
                let spec = &set.spec.template.as_deref()?.spec;
                let eligible = daemon::eligible_nodes(spec, nodes);
                of(set, "DaemonSet", Rest::DaemonSet(eligible))
            }
            Object::Job(job) => Self::of_job(&job.metadata, &job.spec, job_pods(job)),
            Object::CronJob(job) => {
                let spec = &job.spec.job_template.spec;
                let pods = if job.spec.suspend { 0 } else { parallel(spec) };
                let expansion = Self::of_job(&job.metadata, spec, pods)?;
                let owner = OwnerReference {
                    uid: made_uid(&job.metadata.namespace, &job.metadata.name),
                    ..expansion.owner
                };
                Some(Self { owner, ..expansion })
            }
            _ => None,
        }
    }

    fn of_job(metadata: &'a ObjectMeta, spec: &'a JobSpec, pods: u64) -> Option<Self> {
        Some(Self {
            metadata,
            template: spec.template.as_deref()?,
            owner: owner(metadata, "batch/v1", "Job"),
            rest: Rest::Job {
                pods,
                label: !spec.manual_selector,
            },
        })
    }

    /// How many pods there would be; 0 for a workload that is being deleted.
    pub fn count(&self) -> u64 {
        if self.metadata.deletion_timestamp.is_some() {
            return 0;
        }
        match &self.rest {
            Rest::Replicas(replicas) | Rest::Deployment { replicas, .. } => *replicas,
            Rest::StatefulSet { workload } => replicas(workload.spec.replicas),
            Rest::DaemonSet(nodes) => nodes.len() as u64,
            Rest::Job { pods, .. } => *pods,
        }
    }

    /// Number of the first pod, from which the others count up.
    pub fn first_ordinal(&self) -> u64 {
        match &self.rest {
            Rest::StatefulSet { workload } => {
                u64::try_from(workload.spec.ordinals.start).unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// The workload's metadata.
    pub fn metadata(&self) -> &'a ObjectMeta {
        self.metadata
    }

    /// The node that a `DaemonSet`'s pod at `index` is for.
    pub fn node(&self, index: u64) -> Option<&'a str> {
        match &self.rest {
            Rest::DaemonSet(nodes) => nodes.get(usize::try_from(index).ok()?).copied(),
            _ => None,
        }
    }

    /// The template of the pods.
    pub fn template(&self) -> &'a PodTemplate {
        self.template
    }

    /// The pod at `index` below [`count`](Self::count), under the number `ordinal`.
    pub fn pod(&self, index: u64, ordinal: u64) -> Pod {
        let name = self.name(ordinal);
        let namespace = &self.metadata.namespace;
        let mut pod = Pod {
            metadata: ObjectMeta {
                uid: made_uid(namespace, &name),
                namespace: namespace.clone(),
                labels: self.template.metadata.labels.clone(),
                owner_references: vec![self.owner.clone()],
                name,
                ..ObjectMeta::default()
            },
            spec: self.template.spec.clone(),
            ..Pod::default()
        };
        match &self.rest {
            Rest::Replicas(_) => {}
            Rest::Deployment { hash, .. } => {
                label(&mut pod, "pod-template-hash", hash);
            }
            Rest::StatefulSet { workload } => {
                let name = pod.metadata.name.clone();
                label(&mut pod, "statefulset.kubernetes.io/pod-name", &name);
                label(
                    &mut pod,
                    "apps.kubernetes.io/pod-index",
                    &ordinal.to_string(),
                );
                claim_volumes(&mut pod.spec, workload, &name);
            }
            Rest::DaemonSet(nodes) => {
                daemon::add_tolerations(&mut pod.spec);
                let node = usize::try_from(index)
                    .ok()
                    .and_then(|index| nodes.get(index));
                if let Some(node) = node {
                    require_node(&mut pod.spec, node);
                }
            }
            Rest::Job { label: wanted, .. } => {
                if *wanted {
                    let job = &self.owner.name;
                    for key in ["job-name", "batch.kubernetes.io/job-name"] {
                        let labels = &mut pod.metadata.labels;
                        labels.entry(key.to_owned()).or_insert_with(|| job.clone());
                    }
                }
            }
        }
        pod
    }

    /// The claims that controllers make for one of the pods.
    pub fn claims(&self, pod: &Pod) -> Vec<PersistentVolumeClaim> {
        let of_set = match &self.rest {
            Rest::StatefulSet { workload } => Some(claim::of_set(workload, pod)),
            _ => None,
        };
        let claims = of_set.into_iter().flatten();
        claims.chain(claim::of_pod(pod)).collect()
    }

    /// The pod's name under a number.
    pub fn name(&self, ordinal: u64) -> String {
        format!("{}-{ordinal}", self.metadata.name)
    }
}

/// The `ReplicaSet` that a Deployment's controller would make, under the Deployment's name.
///
/// Spreading by default reads its selector.
pub fn implied_replica_set(deployment: &Workload) -> Workload {
    let mut set = deployment.clone();
    set.metadata.uid = made_uid(&set.metadata.namespace, &set.metadata.name);
    set.metadata.owner_references = vec![owner(&deployment.metadata, "apps/v1", "Deployment")];
    set
}

fn owner(metadata: &ObjectMeta, api_version: &str, kind: &str) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: metadata.name.clone(),
        uid: match metadata.uid.as_str() {
            "" => made_uid(&metadata.namespace, &metadata.name),
            uid => uid.to_owned(),
        },
        controller: true,
    }
}

fn made_uid(namespace: &str, name: &str) -> String {
    format!("{namespace}-{name}")
}

fn replicas(replicas: Option<i32>) -> u64 {
    u64::try_from(replicas.unwrap_or(1)).unwrap_or(0)
}

fn job_pods(job: &Job) -> u64 {
    let finished = job.status.conditions.iter().any(|condition| {
        condition.status == "True" && matches!(condition.type_.as_str(), "Complete" | "Failed")
    });
    if finished { 0 } else { parallel(&job.spec) }
}

fn parallel(job: &JobSpec) -> u64 {
    let parallelism = replicas(job.parallelism);
    let completions = job.completions.map(|count| replicas(Some(count)));
    if job.suspend {
        0
    } else {
        completions.map_or(parallelism, |completions| completions.min(parallelism))
    }
}

fn label(pod: &mut Pod, key: &str, value: &str) {
    let labels = &mut pod.metadata.labels;
    labels.insert(key.to_owned(), value.to_owned());
}

/// A value for the label `pod-template-hash`: the controller's own hash is over Go's view of the
/// template; what matters is that no two Deployments share it. 32 bits of FNV-1a, in the letters
/// that upstream uses.
fn template_hash(metadata: &ObjectMeta) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let name = [metadata.namespace.as_str(), "/", metadata.name.as_str()];
    let bytes = name.iter().flat_map(|part| part.bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let digits = hash.to_string();
    let letter = |digit: u8| LETTERS.get(usize::from(digit % 27));
    digits
        .bytes()
        .filter_map(letter)
        .map(|letter| char::from(*letter))
        .collect()
}

/// The claims that are made for a pod that no workload makes: of its generic ephemeral volumes.
pub fn claims_of_pod(pod: &Pod) -> impl Iterator<Item = PersistentVolumeClaim> {
    claim::of_pod(pod)
}

/// Puts the set's claims in place of the volumes of their names.
fn claim_volumes(spec: &mut PodSpec, set: &Workload, pod: &str) {
    let templates = &set.spec.volume_claim_templates;
    let names = || templates.iter().map(|template| &template.metadata.name);
    spec.volumes
        .retain(|volume| names().all(|name| *name != volume.name));
    let claims = templates.iter().map(|template| {
        let source = VolumeSource {
            claim_name: claim::name_in_set(template, pod),
            ..VolumeSource::default()
        };
        Volume {
            name: template.metadata.name.clone(),
            source: BTreeMap::from([("persistentVolumeClaim".to_owned(), source)]),
        }
    });
    spec.volumes.splice(0..0, claims);
}

/// Replaces the required node affinity by one for this node alone, as the `DaemonSet` controller
/// does: the pod's own has been looked at when the node was found eligible.
fn require_node(spec: &mut PodSpec, node: &str) {
    let affinity = spec.affinity.get_or_insert_default();
    let affinity: &mut NodeAffinity = affinity.node_affinity.get_or_insert_default();
    affinity.required = Some(NodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_fields: vec![Requirement {
                key: "metadata.name".to_owned(),
                operator: "In".to_owned(),
                values: vec![node.to_owned()],
            }],
            ..NodeSelectorTerm::default()
        }],
    });
}

#[cfg(test)]
mod tests;
