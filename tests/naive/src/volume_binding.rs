//! `VolumeBinding`. Mirrors `plugins/volumebinding/{volume_binding,binder,scorer}.go`, and
//! `FindMatchingVolume` of component-helpers.
//!
//! Of equal volumes, and of several capacity objects with room, the first by name is taken.

use crate::bind;
use crate::cluster::Key;
use crate::node_affinity::matches_any_term;
use crate::node_resources_fit::on_shape;
use crate::selector::Selector;
use crate::storage::{self, claims_of};
use crate::{Cluster, NodeState, Refusal};
use berth_core::BoundClaim;
use berth_core::object::{
    BIND_COMPLETED, MIGRATED_PLUGINS, NodeSelector, PersistentVolume, PersistentVolumeClaim, Pod,
    ResourceList, SELECTED_NODE, StorageClass, TopologySelectorTerm,
};
use berth_core::quantity::Quantity;
use std::collections::{BTreeMap, BTreeSet};

/// The claims of a pod.
pub struct Claims {
    /// Volumes of those that are bound.
    bound: Vec<String>,
    /// Those that are bound when the pod is placed.
    delayed: Vec<PersistentVolumeClaim>,
}

/// How a pre-filter ends that does not go on.
pub enum Stop {
    Refused(String),
    Failed(String),
}

/// `Ok(None)`: the pod has no claims.
pub fn pre_filter(cluster: &Cluster, pod: &Pod) -> Result<Option<Claims>, Stop> {
    let mut claims = Vec::new();
    for named in claims_of(pod) {
        let name = &named.key.1;
        let refused = |reason| Err(Stop::Refused(reason));
        let Some(claim) = cluster.storage.claims.get(&named.key) else {
            return refused(if named.is_ephemeral {
                let controller = "waiting for ephemeral volume controller";
                format!("{controller} to create the persistentvolumeclaim {name:?}")
            } else {
                format!("persistentvolumeclaim {name:?} not found")
            });
        };
        if claim.status.phase == "Lost" {
            let volume = &claim.spec.volume_name;
            return refused(format!(
                "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
            ));
        }
        if claim.metadata.deletion_timestamp.is_some() {
            return refused(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        if named.is_ephemeral && !storage::is_made_for(claim, pod) {
            let (namespace, own) = (&pod.metadata.namespace, &pod.metadata.name);
            return refused(format!(
                "PVC {}/{name} was not created for pod {namespace}/{own} (pod is not owner)",
                named.key.0
            ));
        }
        claims.push(claim);
    }
    if claims.is_empty() {
        return Ok(None);
    }
    let (mut bound, mut delayed, mut immediate) = (Vec::new(), Vec::new(), false);
    for claim in claims {
        let volume = &claim.spec.volume_name;
        if !volume.is_empty() && claim.metadata.annotations.contains_key(BIND_COMPLETED) {
            bound.push(volume.clone());
            continue;
        }
        let waits = match cluster.storage.class(claim.class()) {
            None => false,
            Some(class) => match class.volume_binding_mode.as_deref() {
                None => {
                    let name = &class.metadata.name;
                    let reason = format!("VolumeBindingMode not set for StorageClass {name:?}");
                    return Err(Stop::Failed(reason));
                }
                Some(mode) => mode == "WaitForFirstConsumer",
            },
        };
        if waits && volume.is_empty() {
            delayed.push(claim.clone());
        } else {
            immediate = true;
        }
    }
    if immediate {
        let reason = "pod has unbound immediate PersistentVolumeClaims";
        return Err(Stop::Refused(reason.to_owned()));
    }
    Ok(Some(Claims { bound, delayed }))
}

/// What the claims of a pod get on a node.
#[derive(Default)]
pub struct Plan<'a> {
    /// Claims and the volumes for them.
    matched: Vec<(&'a PersistentVolumeClaim, &'a PersistentVolume)>,
    /// Claims to be provisioned for, and the room of the object that says so.
    provisioned: Vec<(&'a PersistentVolumeClaim, Option<i64>)>,
}

impl Plan<'_> {
    /// As records tell it.
    pub fn bound_claims(&self) -> Vec<BoundClaim> {
        let name = |claim: &PersistentVolumeClaim| {
            format!("{}/{}", claim.metadata.namespace, claim.metadata.name)
        };
        let matched = self.matched.iter().map(|(claim, volume)| BoundClaim {
            claim: name(claim),
            volume: Some(volume.metadata.name.clone()),
            provisioned: false,
        });
        let provisioned = self.provisioned.iter().map(|(claim, _)| BoundClaim {
            claim: name(claim),
            volume: None,
            provisioned: true,
        });
        matched.chain(provisioned).collect()
    }
}

/// Mirrors `FindPodVolumes`.
///
/// # Errors
/// What fails the attempt.
pub fn filter<'a>(
    cluster: &'a Cluster,
    claims: &'a Claims,
    node: &NodeState,
) -> Result<Result<Plan<'a>, Refusal>, String> {
    const NODE: &str = "node(s) didn't match PersistentVolume's node affinity";
    const BIND: &str = "node(s) didn't find available persistent volumes to bind";
    const ROOM: &str = "node(s) did not have enough free storage";
    const GONE: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
    let mut reasons: BTreeSet<(usize, &str)> = BTreeSet::new();
    for name in &claims.bound {
        let Some(volume) = cluster.storage.volume(name) else {
            reasons.insert((3, GONE));
            break;
        };
        if !is_reachable(affinity_on(cluster, volume, node)?.as_ref(), node) {
            reasons.insert((0, NODE));
            break;
        }
    }
    let mut plan = Plan::default();
    let mut due: Vec<&PersistentVolumeClaim> = Vec::new();
    let mut to_match: Vec<&PersistentVolumeClaim> = Vec::new();
    for claim in &claims.delayed {
        match cluster.storage.selected_node(claim) {
            None => to_match.push(claim),
            Some(selected) if selected == node.name() => due.push(claim),
            Some(_) => {
                reasons.insert((1, BIND));
            }
        }
    }
    if !reasons.iter().any(|(_, reason)| *reason == BIND) {
        to_match.sort_by_key(|claim| request(claim));
        for claim in to_match {
            match matching(cluster, claim, &plan, node) {
                Some(volume) => plan.matched.push((claim, volume)),
                None => due.push(claim),
            }
        }
        for claim in due {
            let class = cluster.storage.class(claim.class());
            let class = class.ok_or("no StorageClass")?;
            let provisioner = class.provisioner.as_str();
            let by_hand = matches!(provisioner, "" | "kubernetes.io/no-provisioner");
            if by_hand || !allows(&class.allowed_topologies, node) {
                reasons.insert((1, BIND));
                break;
            }
            let Some(capacity) = room(cluster, claim, class, node) else {
                reasons.insert((2, ROOM));
                break;
            };
            plan.provisioned.push((claim, capacity));
        }
    }
    Ok(if reasons.is_empty() {
        Ok(plan)
    } else {
        let reasons = reasons.into_iter().map(|(_, reason)| reason.to_owned());
        Err(Refusal {
            unresolvable: true,
            reasons: reasons.collect(),
        })
    })
}

/// The affinity of a bound volume on this node, where CSI may stand in for its plugin.
fn affinity_on(
    cluster: &Cluster,
    volume: &PersistentVolume,
    node: &NodeState,
) -> Result<Option<NodeSelector>, String> {
    let own = volume.spec.node_affinity.required.clone();
    let Some((plugin, source)) = storage::source_of(volume).filter(|(own, _)| own.is_migrated)
    else {
        return Ok(own);
    };
    let csi_node = cluster.storage.csi_node(node.name());
    let migrated = csi_node.and_then(|own| own.metadata.annotations.get(MIGRATED_PLUGINS));
    let is_migrated =
        migrated.is_some_and(|names| names.split(',').any(|name| name == plugin.name));
    if !is_migrated {
        return Ok(own);
    }
    let handle = storage::handle(plugin, source, Some(&volume.metadata.labels));
    handle.ok_or("could not translate a volume")?;
    Ok(storage::translated_affinity(volume))
}

fn is_reachable(affinity: Option<&NodeSelector>, node: &NodeState) -> bool {
    // The node's name is not told: only its labels count.
    let mut bare = node.node.clone();
    bare.metadata.name.clear();
    affinity.is_none_or(|terms| matches_any_term(terms, &bare))
}

fn request(claim: &PersistentVolumeClaim) -> Quantity {
    storage_of(&claim.spec.resources.requests).unwrap_or_default()
}

fn storage_of(list: &ResourceList) -> Option<Quantity> {
    list.get("storage").copied()
}

/// Mirrors `FindMatchingVolume`: one that is kept for the claim, else the smallest that fits.
fn matching<'a>(
    cluster: &'a Cluster,
    claim: &PersistentVolumeClaim,
    plan: &Plan<'_>,
    node: &NodeState,
) -> Option<&'a PersistentVolume> {
    let mut smallest: Option<(Quantity, &PersistentVolume)> = None;
    let mut kept: Option<(Quantity, &PersistentVolume)> = None;
    let selector = claim.spec.selector.as_ref();
    let selector = selector.map(|own| Selector::of_labels(Some(own)).unwrap_or(Selector::Nothing));
    let mode = |mode: &Option<String>| match mode.as_deref() {
        None | Some("") => "Filesystem".to_owned(),
        Some(mode) => mode.to_owned(),
    };
    let attributes = |class: &Option<String>| class.clone().unwrap_or_default();
    for volume in cluster.storage.volumes.values() {
        let is_taken = plan
            .matched
            .iter()
            .any(|(_, own)| own.metadata.name == volume.metadata.name);
        let spec = &volume.spec;
        let capacity = storage_of(&spec.capacity).unwrap_or_default();
        let deleting = volume.metadata.deletion_timestamp.is_some();
        if is_taken
            || volume.class() != claim.class()
            || mode(&spec.volume_mode) != mode(&claim.spec.volume_mode)
            || attributes(&spec.volume_attributes_class_name)
                != attributes(&claim.spec.volume_attributes_class_name)
            || capacity < request(claim)
            || deleting
        {
            continue;
        }
        if let Some(owner) = cluster.storage.claim_of(volume) {
            let metadata = &claim.metadata;
            let is_for = owner.name == metadata.name
                && owner.namespace == metadata.namespace
                && (owner.uid.is_empty() || owner.uid == metadata.uid);
            if is_for && kept.is_none_or(|(least, _)| capacity < least) {
                kept = Some((capacity, volume));
            }
            continue;
        }
        let modes = &claim.spec.access_modes;
        let fits = is_reachable(spec.node_affinity.required.as_ref(), node)
            && volume.status.phase == "Available"
            && selector
                .as_ref()
                .is_none_or(|own| own.matches(&volume.metadata.labels))
            && modes.iter().all(|mode| spec.access_modes.contains(mode));
        if fits && smallest.is_none_or(|(least, _)| capacity < least) {
            smallest = Some((capacity, volume));
        }
    }
    if let Some((_, volume)) = kept {
        // The only one that the claim may get.
        let affinity = volume.spec.node_affinity.required.as_ref();
        return is_reachable(affinity, node).then_some(volume);
    }
    smallest.map(|(_, volume)| volume)
}

/// Mirrors `MatchTopologySelectorTerms`.
fn allows(terms: &[TopologySelectorTerm], node: &NodeState) -> bool {
    let matches = |term: &TopologySelectorTerm| {
        let rules = &term.match_label_expressions;
        let mut all = rules.iter();
        !rules.is_empty()
            && all.all(|rule| {
                let own = node.labels().get(&rule.key);
                own.is_some_and(|own| rule.values.contains(own))
            })
    };
    terms.is_empty() || terms.iter().any(matches)
}

/// Mirrors `hasEnoughCapacity`: `None` without room.
#[expect(clippy::option_option, reason = "no room, room, room by an object")]
fn room(
    cluster: &Cluster,
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    node: &NodeState,
) -> Option<Option<i64>> {
    let driver = cluster.storage.csi_driver(&class.provisioner);
    let request = storage_of(&claim.spec.resources.requests);
    let Some(request) = request.filter(|_| driver.is_some_and(|own| own.spec.storage_capacity))
    else {
        return Some(None);
    };
    let mut objects = cluster.storage.capacities.values();
    let found = objects.find(|object| {
        let limit = object.maximum_volume_size.or(object.capacity);
        let topology = Selector::of_labels(object.node_topology.as_ref());
        object.storage_class_name == claim.class()
            && limit.is_some_and(|limit| limit.value() >= request.value())
            && topology.is_ok_and(|own| own.matches(node.labels()))
    })?;
    Some(Some(found.capacity.map_or(0, Quantity::value)))
}

/// Mirrors `Score` and `buildScorerFunction`.
pub fn score(plan: &Plan<'_>, shape: &[(i64, i64)]) -> i64 {
    let mut classes: BTreeMap<&str, (i128, i128)> = BTreeMap::new();
    let value = |claim| i128::from(request(claim).value());
    for (claim, volume) in &plan.matched {
        let class = classes.entry(&volume.spec.storage_class_name).or_default();
        class.0 += value(claim);
        let capacity = storage_of(&volume.spec.capacity).unwrap_or_default();
        class.1 += i128::from(capacity.value());
    }
    if plan.matched.is_empty() {
        for (claim, capacity) in &plan.provisioned {
            if let Some(capacity) = capacity {
                let name = claim.spec.storage_class_name.as_deref().unwrap_or("");
                let class = classes.entry(name).or_default();
                class.0 += value(claim);
                class.1 = i128::from(*capacity);
            }
        }
    }
    if classes.is_empty() {
        return 0;
    }
    let scores = classes.values().map(|(requested, capacity)| {
        let full = *capacity == 0 || requested > capacity;
        on_shape(
            shape,
            if full {
                100
            } else {
                requested * 100 / capacity
            },
        )
    });
    let (sum, count) = (scores.sum::<i128>(), classes.len() as i128);
    // Rounded half up.
    ((2 * sum + count) / (2 * count)) as i64
}

impl Cluster {
    /// What the volume controllers and a provisioner make of a placed pod's claims. Provisioned
    /// volumes are in the node's zone.
    pub fn bind_volumes(&mut self, bound: &[BoundClaim], node: &str) {
        for own in bound {
            let (namespace, name) = own.claim.split_once('/').unwrap_or_default();
            let key: Key = (namespace.to_owned(), name.to_owned());
            let Some(mut claim) = self.storage.claims.get(&key).cloned() else {
                continue;
            };
            // A claim that the pod names twice keeps its first volume.
            let is_bound = !claim.spec.volume_name.is_empty();
            let volume = match &own.volume {
                Some(volume) => self.storage.volume(volume).cloned().map(|mut volume| {
                    let mut second = claim.clone();
                    bind::bind(&mut volume, &mut second);
                    if !is_bound {
                        claim = second;
                    }
                    volume
                }),
                None if is_bound => {
                    let annotations = &mut claim.metadata.annotations;
                    annotations.insert(SELECTED_NODE.to_owned(), node.to_owned());
                    None
                }
                None => self.storage.class(claim.class()).map(|class| {
                    let mut nodes = self.nodes.iter();
                    let state = nodes.find(|state| state.name() == node);
                    let zone = state.and_then(|state| {
                        let zone = state.labels().get("topology.kubernetes.io/zone");
                        zone.map(String::as_str)
                    });
                    bind::provision(&mut claim, &class.provisioner, node, zone)
                }),
            };
            if let Some(volume) = volume {
                let place = storage::key_of(&volume.metadata);
                self.storage.volumes.insert(place, volume);
            }
            self.storage.claims.insert(key, claim);
        }
    }
}
