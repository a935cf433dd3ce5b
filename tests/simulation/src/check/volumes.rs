//! Volumes: what is promised, what a placed pod may use, and how far its claims are. Told by the rules
//! alone, from objects as they are.

use crate::expected::Place;
use crate::server::{Key, Server};
use crate::simulation::Simulation;
use crate::storage;
use crate::violation::{Check, ensure};
use berth_core::object::{
    BIND_COMPLETED, Labels, Object, PersistentVolume, PersistentVolumeClaim, Pod, SELECTED_NODE,
};
use berth_core::{VolumeAction, VolumesBound};
use berth_naive::Promise;
use std::collections::{BTreeMap, BTreeSet};

/// Each pod promises what was found for it, and one that is nowhere nothing.
pub(crate) fn promises(simulation: &Simulation) -> Check {
    let promises = &simulation.shadow.storage.promises;
    for own in &promises.waiting {
        let place = simulation.pods.get(&own.pod).map(|pod| pod.place);
        let waits = matches!(
            place,
            Some(Place::Permit { .. } | Place::PreBind | Place::Binding)
        );
        ensure(waits, "volumes", || {
            format!("{own:?} of a pod at {place:?}")
        })?;
    }
    for id in simulation.engine.pods() {
        let key = simulation.key(id);
        let expected: BTreeSet<String> = promises.of(&key).map(line).collect();
        let actions = simulation.engine.volume_actions(id);
        let own: BTreeSet<String> = actions.map(action_line).collect();
        ensure(own == expected, "volumes", || {
            format!("{key:?} promises {own:?}, but should {expected:?}")
        })?;
    }
    Ok(())
}

fn line(promise: &Promise) -> String {
    let (namespace, name) = &promise.claim;
    let Promise { volume, node, .. } = promise;
    match volume {
        Some(volume) => format!("{namespace}/{name} gets {volume}"),
        None => format!("{namespace}/{name} is provisioned on {node}"),
    }
}

fn action_line(action: VolumeAction<'_>) -> String {
    match action {
        VolumeAction::BindVolume {
            volume,
            namespace,
            claim,
        } => format!("{namespace}/{claim} gets {volume}"),
        VolumeAction::SelectNode {
            namespace,
            claim,
            node,
        } => format!("{namespace}/{claim} is provisioned on {node}"),
    }
}

/// On the server: no volume of two claims, no claim with two volumes.
pub(crate) fn bound_once(server: &Server) -> Check {
    let mut claims = BTreeMap::new();
    for claim in server.claims() {
        let volume = &claim.spec.volume_name;
        if volume.is_empty() {
            continue;
        }
        let name = (&claim.metadata.namespace, &claim.metadata.name);
        let other = claims.insert(volume, name);
        ensure(other.is_none(), "volumes", || {
            format!("{volume} is bound to {name:?} and to {other:?}")
        })?;
    }
    let mut volumes = BTreeMap::new();
    for volume in server.volumes() {
        let kept = volume.spec.claim_ref.as_ref();
        let Some(kept) = kept.filter(|_| volume.status.phase == "Bound") else {
            continue;
        };
        let claim = server.claim(&(kept.namespace.clone(), kept.name.clone()));
        let own = &volume.metadata.name;
        if claim.is_some_and(|claim| claim.metadata.uid == kept.uid) {
            let other = volumes.insert(&kept.uid, own);
            ensure(other.is_none(), "volumes", || {
                format!("{kept:?} has {own} and {other:?}")
            })?;
        }
    }
    Ok(())
}

/// The node takes the volumes of a pod that is to be placed there: no claim of one pod has another
/// one, bound volumes are in reach, and no driver has more volumes than the node takes. The pod is not
/// there yet.
pub(crate) fn taken(simulation: &Simulation, pod: &Pod, node: &str) -> Check {
    let name = &pod.metadata.name;
    let told = |kind: &'static str, namespace: &str, name: &str| {
        let id = (kind, namespace.to_owned(), name.to_owned());
        simulation.client.told.get(&id)
    };
    for (claim_name, is_own) in storage::claims_of(pod) {
        let Some(claim) = claim(simulation, &pod.metadata.namespace, &claim_name) else {
            return ensure(false, "volumes", || {
                format!("{name} was placed without its claim {claim_name}")
            });
        };
        let alone = claim
            .spec
            .access_modes
            .iter()
            .any(|own| own == "ReadWriteOncePod");
        let mut others = simulation.shadow.placed();
        let other = others.find(|(_, other)| {
            let meta = &other.pod.metadata;
            meta.namespace == pod.metadata.namespace
                && storage::claims_of(&other.pod).any(|(own, _)| own == claim_name)
        });
        let is_free = !alone || is_own || other.is_none();
        ensure(is_free, "volumes", || {
            let other = other.map(|(_, other)| &other.pod.metadata.name);
            format!("{name} shares {claim_name} with {other:?}, which one pod alone may use")
        })?;
        if is_bound(claim) {
            let labels = labels(simulation, node);
            let volume = volume(simulation, &claim.spec.volume_name);
            let reached = volume.is_some_and(|volume| reaches(volume, &labels));
            ensure(reached, "volumes", || {
                format!("{name} cannot reach {} from {node}", claim.spec.volume_name)
            })?;
        }
    }
    let Some(Object::CsiNode(csi_node)) = told("CSINode", "", node) else {
        return Ok(());
    };
    let placed = simulation.shadow.placed();
    let there = placed.filter(|(state, _)| state.name() == node);
    let before: BTreeSet<(String, String)> = there
        .flat_map(|(_, other)| attached(simulation, &other.pod))
        .collect();
    let own: BTreeSet<(String, String)> = attached(simulation, pod).collect();
    for driver in &csi_node.spec.drivers {
        let Some(limit) = driver.allocatable.count else {
            continue;
        };
        let of = |(name, _): &&(String, String)| *name == driver.name;
        let more = own.difference(&before).filter(of).count();
        let all = before.iter().filter(of).count() + more;
        let fits = more == 0 || all <= usize::try_from(limit).unwrap_or(0);
        ensure(fits, "volumes", || {
            let driver = &driver.name;
            format!("{name} makes {all} volumes of {driver} on {node}, which takes {limit}")
        })?;
    }
    Ok(())
}

/// Driver and volume of each claim of a pod; one without a volume counts by its class.
fn attached<'a>(
    simulation: &'a Simulation,
    pod: &'a Pod,
) -> impl Iterator<Item = (String, String)> + 'a {
    let namespace = &pod.metadata.namespace;
    storage::claims_of(pod).filter_map(move |(name, _)| {
        let claim = claim(simulation, namespace, &name)?;
        if let Some(volume) = volume(simulation, &claim.spec.volume_name) {
            let csi = volume.spec.csi.as_ref()?;
            return Some((csi.driver.clone(), csi.volume_handle.clone()));
        }
        let id = ("StorageClass", String::new(), claim.class().to_owned());
        match simulation.client.told.get(&id)? {
            Object::StorageClass(class) => {
                Some((class.provisioner.clone(), format!("{namespace}/{name}")))
            }
            _ => None,
        }
    })
}

/// What a pod is bound with: claims that have a volume in reach. Of a claim that was bound to another
/// volume than the one found for it, upstream asks no more.
pub(crate) fn volumes_hold(simulation: &Simulation, key: &Key) -> Check {
    for own in simulation.shadow.storage.promises.of(key) {
        let claim = claim(simulation, &own.claim.0, &own.claim.1);
        let bound = claim.is_some_and(is_bound);
        let is_other = claim.zip(own.volume.as_ref());
        if is_other.is_some_and(|(claim, volume)| claim.spec.volume_name != *volume) {
            continue;
        }
        let volume = claim.and_then(|claim| volume(simulation, &claim.spec.volume_name));
        let labels = labels(simulation, &own.node);
        let holds = bound && volume.is_some_and(|volume| reaches(volume, &labels));
        ensure(holds, "volumes", || {
            format!("{key:?} is to be bound, but {own:?} does not hold: {claim:?}, {volume:?}")
        })?;
    }
    Ok(())
}

/// How far the volumes of a pod should be. Mirrors `checkBindings`.
pub(crate) fn volumes_bound(simulation: &Simulation, key: &Key) -> VolumesBound {
    let mut waits = false;
    for own in simulation.shadow.storage.promises.of(key) {
        match progress(simulation, own) {
            VolumesBound::Yes => {}
            VolumesBound::NotYet => {
                waits = true;
                break;
            }
            failed => return failed,
        }
    }
    let pod = simulation.pods.get(key);
    let since = pod.map_or(0, |pod| pod.binding_since);
    let seconds = simulation
        .setup
        .storage
        .as_ref()
        .map_or(0, |own| own.timeout);
    let over = since + seconds * crate::expected::SECOND;
    match waits {
        true if simulation.now >= over => VolumesBound::TimedOut,
        true => VolumesBound::NotYet,
        false => VolumesBound::Yes,
    }
}

fn progress(simulation: &Simulation, own: &Promise) -> VolumesBound {
    let promises = &simulation.shadow.storage.promises;
    let node = simulation
        .client
        .told
        .get(&("Node", String::new(), own.node.clone()));
    let Some(claim) = claim(simulation, &own.claim.0, &own.claim.1).filter(|_| node.is_some())
    else {
        return VolumesBound::Failed;
    };
    let labels = labels(simulation, &own.node);
    let mut volume_name = &claim.spec.volume_name;
    if let Some(name) = &own.volume {
        if volume(simulation, name).is_none() {
            return VolumesBound::Failed;
        }
        volume_name = name;
    }
    if promises.is_assumed(own) {
        return VolumesBound::NotYet;
    }
    let volume = volume(simulation, volume_name);
    let fails = match (&own.volume, volume) {
        (Some(_), volume) => volume.is_none_or(|volume| volume.spec.claim_ref.is_none()),
        (None, _) => claim.metadata.annotations.get(SELECTED_NODE) != Some(&own.node),
    };
    if fails || volume.is_some_and(|volume| !reaches(volume, &labels)) {
        return VolumesBound::Failed;
    }
    if is_bound(claim) && volume.is_some() {
        VolumesBound::Yes
    } else {
        VolumesBound::NotYet
    }
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    !claim.spec.volume_name.is_empty() && claim.metadata.annotations.contains_key(BIND_COMPLETED)
}

/// Affinities of the simulation name values of one label.
fn reaches(volume: &PersistentVolume, labels: &Labels) -> bool {
    let required = volume.spec.node_affinity.required.as_ref();
    required.is_none_or(|required| {
        let mut terms = required.node_selector_terms.iter();
        terms.any(|term| {
            let mut rules = term.match_expressions.iter();
            rules.all(|rule| {
                labels
                    .get(&rule.key)
                    .is_some_and(|own| rule.values.contains(own))
            })
        })
    })
}

fn claim<'a>(
    simulation: &'a Simulation,
    namespace: &str,
    name: &str,
) -> Option<&'a PersistentVolumeClaim> {
    let id = (
        "PersistentVolumeClaim",
        namespace.to_owned(),
        name.to_owned(),
    );
    match simulation.client.told.get(&id)? {
        Object::PersistentVolumeClaim(claim) => Some(claim),
        _ => None,
    }
}

fn volume<'a>(simulation: &'a Simulation, name: &str) -> Option<&'a PersistentVolume> {
    let id = ("PersistentVolume", String::new(), name.to_owned());
    match simulation.client.told.get(&id)? {
        Object::PersistentVolume(volume) => Some(volume),
        _ => None,
    }
}

fn labels(simulation: &Simulation, node: &str) -> Labels {
    match simulation
        .client
        .told
        .get(&("Node", String::new(), node.to_owned()))
    {
        Some(Object::Node(node)) => node.metadata.labels.clone(),
        _ => Labels::new(),
    }
}
