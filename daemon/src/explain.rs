//! `berth explain`.

use crate::args::ExplainArgs;
use crate::failure::{Failure, Outcome, exit};
use crate::load::Loaded;
use crate::output::Verdicts;
use crate::room::decided;
use crate::stopwatch::Stopwatch;
use berth_core::{Detail, NodeSearch, PodResult};
use std::process::ExitCode;

/// Judges one pod, with nothing changed.
pub fn run(args: &ExplainArgs) -> Outcome {
    let mut stopwatch = Stopwatch::start();
    if args.rules.preemption == Some(true) {
        let message = "--preemption=true: explain judges the nodes as they are; leave it out";
        return Err(Failure::Usage(message.to_owned()));
    }
    let loaded = Loaded::read(&args.filename, &args.input)?;
    stopwatch.stage(|timing| &mut timing.read);
    let mut options = args.rules.options();
    // Every node's verdict is asked for, so a sample is not the default here.
    options.node_search.get_or_insert(NodeSearch::All);
    let mut intake = loaded.build(options)?;
    stopwatch.stage(|timing| &mut timing.build);

    let (namespace, name) = args.pod.split_once('/').unwrap_or(("default", &args.pod));
    let Some(pod) = intake.scheduler().find_pod(namespace, name) else {
        return Err(Failure::Usage(loaded.absent(namespace, name)));
    };
    let mut record = None;
    decided(&mut intake, |intake| {
        let (decision, own) = intake.scheduler_mut().explain(pod, Detail::Full);
        record = Some(own);
        decision
    })?;
    let record = record.unwrap_or_default();
    let scheduler = intake.scheduler();
    let bound = scheduler.node_of(pod);
    stopwatch.stage(|timing| &mut timing.decide);

    let verdicts = Verdicts {
        record: &record,
        nodes: scheduler.nodes().count(),
        bound: bound.map(|node| scheduler.node(node).name),
    };
    verdicts.write(args.output.output)?;
    if args.output.timing {
        stopwatch.tell(1);
    }
    Ok(if record.result == PodResult::Scheduled {
        ExitCode::SUCCESS
    } else {
        exit::not_placed()
    })
}
