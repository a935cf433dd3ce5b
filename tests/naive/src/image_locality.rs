//! `ImageLocality`: images that are there already.
//! Mirrors `plugins/imagelocality/image_locality.go`.

use crate::NodeState;
use berth_core::object::Pod;

const MEBIBYTE: i128 = 1024 * 1024;
/// Below this sum of image bytes a node scores 0.
const LEAST: i128 = 23 * MEBIBYTE;
/// From this sum, per image of the pod, a node scores 100.
const MOST_PER_IMAGE: i128 = 1000 * MEBIBYTE;

/// 0..=100. `nodes`: number of all nodes.
pub fn score(pod: &Pod, node: &NodeState, nodes: usize) -> i64 {
    let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
    let volumes = pod.spec.volumes.iter();
    let images: Vec<&str> = containers
        .map(|container| container.image.as_str())
        .chain(
            volumes
                .filter_map(|volume| volume.source.get("image"))
                .map(|source| source.reference.as_str()),
        )
        .collect();
    let sum: i128 = images
        .iter()
        .filter_map(|name| node.images.get(&tagged(name)))
        .map(|image| {
            let spread = image.nodes as f64 / nodes as f64;
            (image.bytes as f64 * spread) as i128
        })
        .sum();
    let most = MOST_PER_IMAGE * images.len() as i128;
    let clamped = if sum < LEAST { LEAST } else { sum.min(most) };
    (100 * (clamped - LEAST) / (most - LEAST)) as i64
}

/// The name with a tag: `:latest` unless it has one, or a digest.
fn tagged(name: &str) -> String {
    if name.rfind(':') <= name.rfind('/') {
        format!("{name}:latest")
    } else {
        name.to_owned()
    }
}
