//! `ImageLocality`: prefers nodes that hold the pod's images already.
//!
//! Mirrors `plugins/imagelocality/image_locality.go`. The more nodes hold an image, the more it
//! counts; how many do is as old as the node's last change, as in upstream's snapshot.

use super::Plugin;
use crate::class::Section;
use crate::cycle::{Attempt, Column, Scratch};
use crate::table::Table;

const MEBIBYTE: i64 = 1 << 20;
/// Below this sum of sizes a node scores 0.
const THRESHOLD_MIN: i64 = 23 * MEBIBYTE;
/// Above this sum for each container a node scores 100.
const THRESHOLD_MAX: i64 = 1000 * MEBIBYTE;

pub(crate) fn score(attempt: Attempt<'_>, scratch: &mut Scratch) -> Column {
    let cluster = attempt.cluster;
    let nodes = f64::from(cluster.node_count);
    scratch.row_sums.clear();
    for name in attempt.class.section(Section::Images) {
        let Some(image) = cluster.images.find(&[*name]) else {
            continue;
        };
        let size = *cluster.image_sizes.at(image) as f64;
        for (row, holders) in cluster.image_counts.slots(image) {
            // The quotient comes first, and each image is cut to whole bytes, as upstream does.
            let spread = f64::from(holders) / nodes;
            scratch.row_sums.add(row, (size * spread) as i64);
        }
    }
    if scratch.row_sums.len() == 0 {
        return Column::Constant(0);
    }
    let ceiling = THRESHOLD_MAX.saturating_mul(i64::from(attempt.class.class.image_count));
    let range = ceiling.saturating_sub(THRESHOLD_MIN);
    let found = core::mem::take(&mut scratch.found);
    for row in found.rows() {
        let sum = scratch
            .row_sums
            .sum(row)
            .clamp(THRESHOLD_MIN, ceiling.max(THRESHOLD_MIN));
        let above = sum.saturating_sub(THRESHOLD_MIN).saturating_mul(100);
        let score = above.checked_div(range).unwrap_or(0);
        scratch
            .column_mut(Plugin::ImageLocality)
            .set(row, score as u8);
    }
    scratch.found = found;
    Column::Rows
}
