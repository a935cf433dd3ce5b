//! `berth simulate`.

mod collector;
mod replay;

use crate::args::{Order, SimulateArgs};
use crate::failure::{Failure, Outcome, exit};
use crate::load::{Loaded, full, with_room};
use crate::output::{NodeRow, Output, Placements, Summary};
use crate::stopwatch::Stopwatch;
use crate::world::{Customs, Stop, World};
use berth_core::intake::Intake;
use collector::Collector;
use std::process::ExitCode;

/// Places the pending pods.
pub fn run(args: &SimulateArgs) -> Outcome {
    args.check()?;
    match (&args.trace, args.order) {
        (Some(trace), _) => replay::run(args, trace),
        (None, Order::Queue) => by_queue(args),
        (None, Order::File) => by_file(args),
    }
}

/// All pods arrive at once; time runs until nothing can wake a pod.
fn by_queue(args: &SimulateArgs) -> Outcome {
    let mut stopwatch = Stopwatch::start();
    let loaded = Loaded::read(&args.filename, &args.input)?;
    stopwatch.stage(|timing| &mut timing.read);
    let options = args.rules.options();
    let mut world = with_room(loaded.capacities(), |capacities| {
        let config = loaded.config.clone();
        let intake = match Intake::with_capacities(config, options, capacities) {
            Ok(intake) => intake,
            Err(error) => return full(error),
        };
        let mut world = World::new(intake, customs(args), collector(args)?);
        let loaded = world.load(&loaded.objects);
        stopwatch.stage(|timing| &mut timing.build);
        // A table may still fill up while pods are bound, so nothing is written before the end.
        let done = loaded.and_then(|()| world.run_out());
        filled(done).map(|done| done.map(|()| world))
    })?;
    world.tell_rest()?;
    stopwatch.stage(|timing| &mut timing.decide);
    let summary = end(world, args, &stopwatch, loaded.skipped, false)?;
    Ok(code(&summary, loaded.has_bad))
}

/// One attempt a pod, in the input's order.
fn by_file(args: &SimulateArgs) -> Outcome {
    let mut stopwatch = Stopwatch::start();
    let loaded = Loaded::read(&args.filename, &args.input)?;
    stopwatch.stage(|timing| &mut timing.read);
    let mut scheduler = loaded.build(args.rules.options())?;
    stopwatch.stage(|timing| &mut timing.build);

    let mut placements = Placements::begin(args.output.output, Output::stdout())?;
    for (place, pod) in loaded.pending.iter().enumerate() {
        let Some(pod) = pod.find(&scheduler) else {
            continue;
        };
        let decision = scheduler.schedule(pod);
        let record = scheduler.record(&decision, args.detail());
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
    Ok(code(&summary, loaded.has_bad))
}

fn customs(args: &SimulateArgs) -> Customs {
    Customs {
        graceful_deletion: false,
        recreate_victims: args.recreate_victims,
        detail: args.detail(),
    }
}

/// Writes to memory, and all at the end.
fn collector(args: &SimulateArgs) -> Result<Collector, Failure> {
    let placements = Placements::begin(args.output.output, Output::held())?;
    Ok(Collector::new(placements, args.attempts))
}

/// A run that needs larger tables, for [`with_room`].
fn filled<T>(result: Result<T, Stop>) -> Result<Result<T, berth_core::CapacityExceeded>, Failure> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Stop::Full(full)) => Ok(Err(full)),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// Writes what stands after the decisions; `tells_course`: with waits and the use over time.
fn end(
    world: World<Collector>,
    args: &SimulateArgs,
    stopwatch: &Stopwatch,
    skipped: u64,
    tells_course: bool,
) -> Result<Summary, Failure> {
    let nodes = NodeRow::all(world.scheduler());
    let course = tells_course.then(|| world.course());
    let placements = world.observer.into_placements();
    let summary = placements.end(nodes, |summary| {
        summary.skipped = skipped as usize;
        summary.course = course;
        summary.timing = args.output.timing.then(|| stopwatch.timing(summary.pods));
    })?;
    if let Some(timing) = &summary.timing {
        timing.tell();
    }
    Ok(summary)
}

fn code(summary: &Summary, has_bad: bool) -> ExitCode {
    if summary.scheduled == 0 && has_bad {
        exit::bad_input()
    } else if summary.pending() == 0 {
        ExitCode::SUCCESS
    } else {
        exit::not_placed()
    }
}
