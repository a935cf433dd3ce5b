//! A random cluster as a line that upstream can be asked with, and the core answer: the golden
//! format, without verdicts.

use super::event::{self, Event};
use super::pod::PodRecipe;
use super::pool::NAMESPACES;
use super::profile::configuration_json;
use super::world::World;
use super::{Case, ProfileRecipe, json::json as object_json, lawful::lawful, node, pod, profile};
use berth_core::Quantity;
use berth_core::object::{Node, Object};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Clusters of up to 30 nodes and 80 pods that only grow: nodes, then other objects, then pods, of
/// which some are on a node already.
pub fn growing_case() -> impl Strategy<Value = Case> {
    let profiles = prop_oneof![
        2 => Just(vec![ProfileRecipe::default()]),
        5 => vec(profile::profile(), 1..=2),
    ];
    (
        profiles,
        vec(node::node(), 1..=8),
        vec(pod::pod(), 1..=12),
        event::growth(),
    )
        .prop_map(|(profiles, mut nodes, mut pods, events)| {
            for (at, pod) in pods.iter_mut().enumerate() {
                // Pods that no profile is for are not tried.
                pod.scheduler %= u8::try_from(profiles.len()).expect("few profiles");
                if at % 3 > 0 {
                    wish_less(pod);
                }
            }
            for (at, node) in (0_u8..).zip(&mut nodes).skip(1) {
                node.taints.truncate(1);
                node.unschedulable = false;
                // Rules about domains have little to say of nodes without one.
                node.zone.get_or_insert(at % 3);
                node.region.get_or_insert(at % 2);
            }
            Case {
                profiles,
                nodes,
                pods,
                events,
            }
        })
}

/// Takes out of a pod what most often lets it fit nowhere, where rules that weigh nodes have
/// nothing to say.
fn wish_less(pod: &mut PodRecipe) {
    let place = &mut pod.place;
    place.node_selector = None;
    place.required = None;
    place.near.clear();
    for container in pod.containers.iter_mut().chain(&mut pod.init) {
        container.requests.others.clear();
    }
}

/// Makes three of four nodes large enough for several pods; by name, so that a node keeps its size
/// while others are taken out.
fn enlarge(node: &mut Node) {
    let number: usize = node.metadata.name.bytes().map(usize::from).sum();
    let factor = [1, 8, 24, 64][number % 4];
    let Some(amounts) = node.status.allocatable.as_mut().filter(|_| factor > 1) else {
        return;
    };
    for name in ["cpu", "memory", "ephemeral-storage"] {
        let least = if name == "cpu" { 1 } else { 1 << 30 };
        let amount = amounts.entry(name.into()).or_default();
        if *amount < Quantity::from_integer(64 * least) {
            let whole = amount.value().max(least);
            *amount = Quantity::from_integer(whole * factor);
        }
    }
    let pods = amounts.entry("pods".into()).or_default();
    *pods = (*pods).max(Quantity::from_integer(factor));
}

/// The line of a case whose cluster only grows.
pub fn line(number: u64, case: &Case) -> Value {
    let mut world = World::new(case);
    for event in &case.events {
        assert!(
            matches!(
                event,
                Event::AddNodes { .. }
                    | Event::AddPod { .. }
                    | Event::AddBound { .. }
                    | Event::Namespace { .. }
                    | Event::Service { .. }
                    | Event::Owner { .. }
            ),
            "{event:?} is no growth"
        );
        world.steps(event);
    }
    let mut config = configuration_json(&case.profiles);
    let fields = config.as_object_mut().expect("a configuration");
    fields.remove("apiVersion");
    fields.remove("kind");
    let mut line = json!({"scenario": number, "config": config, "input": input(&world)});
    if number.is_multiple_of(2) {
        add_namespaces(&mut line["input"]);
    }
    line
}

fn input(world: &World) -> Value {
    let mut input = Map::new();
    for mut object in world.objects().into_iter().filter_map(lawful) {
        if let Object::Node(node) = &mut object {
            enlarge(node);
        }
        let list = input.entry(list_name(&object)).or_insert(json!([]));
        let list = list.as_array_mut().expect("a list");
        list.push(object_json(&object));
    }
    Value::Object(input)
}

/// Adds the namespaces that are in use and not there.
fn add_namespaces(input: &mut Value) {
    let mut namespaces = input["namespaces"].as_array().cloned().unwrap_or_default();
    for name in NAMESPACES {
        if namespaces.iter().all(|own| own["metadata"]["name"] != name) {
            namespaces.push(json!({"metadata": {"name": name}}));
        }
    }
    input["namespaces"] = json!(namespaces);
}

fn list_name(object: &Object) -> &'static str {
    match object {
        Object::Namespace(_) => "namespaces",
        Object::Node(_) => "nodes",
        Object::Service(_) => "services",
        Object::ReplicationController(_) => "replicationControllers",
        Object::ReplicaSet(_) => "replicaSets",
        Object::StatefulSet(_) => "statefulSets",
        Object::Pod(pod) if pod.spec.node_name.is_empty() => "podsInOrder",
        Object::Pod(_) => "boundPods",
        other => panic!("{} has no list", other.kind()),
    }
}

#[cfg(test)]
mod tests {
    use super::{growing_case, lawful, object_json};
    use crate::generate::world::World;
    use crate::object::object;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_object_is_read_back_as_it_was(case in growing_case()) {
            let mut world = World::new(&case);
            for event in &case.events {
                world.steps(event);
            }
            for made in world.objects().into_iter().filter_map(lawful) {
                let json = object_json(&made);
                prop_assert_eq!(&object(made.kind(), &json), &made, "{}", json);
            }
        }
    }
}
