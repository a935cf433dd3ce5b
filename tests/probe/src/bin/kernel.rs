//! Core's lower level, without an allocator: node sets and block kernels on borrowed memory decide
//! on a pod.
#![no_std]
#![no_main]

use berth_core::kernel::word::{self, Strategy};
use berth_core::kernel::{LANES, NodeBlock};
use berth_core::node_set;
use berth_probe::Output;
use berth_probe::workload::{BLOCKS, NODES, fill, is_cordoned, request};
use core::fmt::{self, Write};

#[unsafe(no_mangle)]
extern "Rust" fn probe() -> fmt::Result {
    let mut blocks = [NodeBlock::EMPTY; BLOCKS];
    fill(&mut blocks);
    let mut cordoned = [0_u64; BLOCKS];
    for row in (0..NODES).filter(|row| is_cordoned(*row)) {
        node_set::insert(&mut cordoned, row);
    }
    let request = request();
    let mut feasible = [0_u64; BLOCKS];
    let mut best: Option<(u8, u32)> = None;
    let mut start = 0;
    for ((block, cordoned), feasible) in blocks.iter().zip(cordoned).zip(&mut feasible) {
        *feasible = block.present & block.slots & !cordoned & !word::exceeding(block, &request);
        let (mut fit, mut balance) = ([0; LANES], [0; LANES]);
        word::fit_scores(block, &request, Strategy::Least, [1, 1], &mut fit);
        word::balance_scores(block, &request, &mut balance);
        for (lane, (fit, balance)) in fit.into_iter().zip(balance).enumerate() {
            let total = fit.saturating_add(balance);
            let is_feasible = *feasible >> lane & 1 != 0;
            if is_feasible && best.is_none_or(|(best, _)| total > best) {
                best = Some((total, start | lane as u32));
            }
        }
        start += LANES as u32;
    }
    let count = node_set::count(&feasible);
    match best {
        Some((total, row)) => writeln!(Output, "row {row} of {count} feasible: {total}"),
        None => writeln!(Output, "no node"),
    }
}
