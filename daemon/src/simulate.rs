//! `berth simulate`.

use crate::args::{Order, SimulateArgs};
use crate::failure::{Outcome, exit};
use crate::load::{Loaded, PendingPod};
use crate::output::{NodeRow, Placements};
use crate::stopwatch::Stopwatch;
use std::cmp::Reverse;
use std::process::ExitCode;

/// Places the pending pods one by one.
pub fn run(args: &SimulateArgs) -> Outcome {
    let mut stopwatch = Stopwatch::start();
    args.rules.check()?;
    let loaded = Loaded::read(&args.input)?;
    stopwatch.stage(|timing| &mut timing.read);
    let mut scheduler = loaded.build(args.rules.options())?;
    stopwatch.stage(|timing| &mut timing.build);

    let mut placements = Placements::begin(args.output.output)?;
    for place in order(&loaded.pending, args.order) {
        let Some(pod) = loaded
            .pending
            .get(place)
            .and_then(|pod| pod.find(&scheduler))
        else {
            continue;
        };
        let decision = scheduler.schedule(pod);
        let record = scheduler.record(&decision, args.explain.detail());
        placements.decision(place, record)?;
    }
    stopwatch.stage(|timing| &mut timing.decide);

    let summary = placements.end(NodeRow::all(&scheduler), |summary| {
        summary.skipped = loaded.skipped as usize;
        summary.timing = args.output.timing.then(|| stopwatch.timing(summary.pods));
    })?;
    if let Some(timing) = &summary.timing {
        timing.tell();
    }
    Ok(if summary.scheduled == 0 && loaded.has_bad {
        exit::bad_input()
    } else if summary.pending() == 0 {
        ExitCode::SUCCESS
    } else {
        exit::not_placed()
    })
}

/// Places in `pending`, in the order in which the pods are tried.
fn order(pending: &[PendingPod], order: Order) -> Vec<usize> {
    let mut places: Vec<_> = (0..pending.len()).collect();
    if order == Order::Queue {
        // Stable: equal priorities keep the input's order.
        places.sort_by_key(|place| pending.get(*place).map(|pod| Reverse(pod.priority)));
    }
    places
}
