//! A small cluster in columns, for the program without an allocator and for the test that computes
//! the same decision in the plain way.

use berth_core::Quantity;
use berth_core::kernel::{CPU, LANES, MEMORY, NodeBlock, Request};

/// Blocks of nodes.
pub const BLOCKS: usize = 3;
/// Nodes; the last block is not full.
pub const NODES: u32 = 150;

/// Writes the nodes: a few kinds of them, each with some of its room taken.
pub fn fill(blocks: &mut [NodeBlock]) {
    for row in 0..NODES {
        let (at, lane) = (row as usize / LANES, row as usize % LANES);
        let Some(block) = blocks.get_mut(at) else {
            return;
        };
        let (cpu, memory) = match row % 3 {
            0 => ("8", "16Gi"),
            1 => ("3900m", "15842Mi"),
            _ => ("32", "64G"),
        };
        let amounts = [
            (CPU, amount(cpu, Quantity::milli_value), row * 37 % 100),
            (MEMORY, amount(memory, Quantity::value), row * 61 % 100),
        ];
        for (resource, allocatable, share) in amounts {
            let taken = i128::from(allocatable / 100 * i64::from(share));
            put(&mut block.allocatable, resource, lane, allocatable);
            put(&mut block.requested, resource, lane, taken);
            put(&mut block.non_zero, resource, lane, taken);
        }
        if let Some(pods) = block.pods_allocatable.get_mut(lane) {
            *pods = 110;
        }
        block.present |= 1 << lane;
        block.refresh(lane);
    }
}

fn amount(text: &str, value: fn(Quantity) -> i64) -> i64 {
    Quantity::parse(text).map_or(0, value)
}

fn put<T>(columns: &mut [[T; LANES]], resource: usize, lane: usize, value: T) {
    let column = columns.get_mut(resource);
    if let Some(place) = column.and_then(|column| column.get_mut(lane)) {
        *place = value;
    }
}

/// What the pod asks for.
pub fn request() -> Request {
    let asked = [
        amount("750m", Quantity::milli_value),
        amount("1.5Gi", Quantity::value),
    ];
    Request {
        spec: asked,
        score: asked,
        status: asked,
    }
}

/// Whether only the node itself rules the pod out: every seventh is cordoned.
pub fn is_cordoned(row: u32) -> bool {
    row % 7 == 3
}
