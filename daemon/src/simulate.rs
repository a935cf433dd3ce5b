//! `berth simulate`.

mod collector;
mod replay;

use crate::args::{Order, SimulateArgs};
use crate::failure::{Failure, Outcome, exit};
use crate::load::{Loaded, with_room};
use crate::output::{NodeRow, Output, Placements, Summary};
use crate::state::{self, State};
use crate::stopwatch::Stopwatch;
use crate::world::{Customs, Stop, World};
use berth_core::intake::Intake;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::{Capacities, Options};
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
    let start = Start {
        state: loaded.state.as_ref(),
        config: &loaded.config,
        options: args.rules.options(),
        customs: customs(args),
        capacities: loaded.capacities(),
    };
    let mut world = play(args, &start, |world| {
        world.load(&loaded.objects)?;
        stopwatch.stage(|timing| &mut timing.build);
        world.run_out()
    })?;
    world.tell_rest()?;
    stopwatch.stage(|timing| &mut timing.decide);
    save(args, world.intake())?;
    let nodes = NodeRow::all(world.scheduler());
    let placements = world.observer.into_placements();
    let summary = end(placements, nodes, args, &stopwatch, |summary| {
        summary.skipped = loaded.skipped as usize;
    })?;
    Ok(code(&summary, loaded.has_bad))
}

/// One attempt a pod, in the input's order.
fn by_file(args: &SimulateArgs) -> Outcome {
    let mut stopwatch = Stopwatch::start();
    let loaded = Loaded::read(&args.filename, &args.input)?;
    stopwatch.stage(|timing| &mut timing.read);
    let mut intake = loaded.build(args.rules.options())?;
    let scheduler = intake.scheduler_mut();
    stopwatch.stage(|timing| &mut timing.build);

    let mut placements = Placements::begin(args.output.output, Output::stdout())?;
    for (place, pod) in loaded.pending.iter().enumerate() {
        let Some(pod) = pod.find(scheduler) else {
            continue;
        };
        let decision = scheduler.schedule(pod);
        let record = scheduler.record(&decision, args.detail());
        placements.decision(place, record)?;
    }
    stopwatch.stage(|timing| &mut timing.decide);
    let nodes = NodeRow::all(scheduler);
    save(args, &intake)?;
    let summary = end(placements, nodes, args, &stopwatch, |summary| {
        summary.skipped = loaded.skipped as usize;
    })?;
    Ok(code(&summary, loaded.has_bad))
}

fn customs(args: &SimulateArgs) -> Customs {
    Customs {
        graceful_deletion: false,
        recreate_victims: args.recreate_victims,
        detail: args.detail(),
    }
}

fn save(args: &SimulateArgs, intake: &Intake) -> Result<(), Failure> {
    args.save
        .as_deref()
        .map_or(Ok(()), |file| state::save(file, intake))
}

/// What a world begins with.
struct Start<'a> {
    state: Option<&'a State>,
    config: &'a KubeSchedulerConfiguration,
    options: Options,
    customs: Customs,
    capacities: Capacities,
}

/// A world that was played through, with tables as large as it took. They may fill up at any time,
/// and the world is then made anew, so nothing is written before the end.
fn play(
    args: &SimulateArgs,
    start: &Start<'_>,
    mut play: impl FnMut(&mut World<Collector>) -> Result<(), Stop>,
) -> Result<World<Collector>, Failure> {
    if start.state.is_some() && start.customs.recreate_victims {
        let message = "--recreate-victims: a state file does not say what its pods were made \
                       from; leave it out, or give the objects";
        return Err(Failure::Usage(message.to_owned()));
    }
    with_room(start.capacities, |capacities| {
        let intake = match state::intake(start.state, start.config, start.options, capacities)? {
            Ok(intake) => intake,
            Err(full) => return Ok(Err(full)),
        };
        let placements = Placements::begin(args.output.output, Output::held())?;
        let collector = Collector::new(placements, args.attempts);
        let mut world = World::new(intake, start.customs, collector);
        match world.resume().and_then(|()| play(&mut world)) {
            Ok(()) => Ok(Ok(world)),
            Err(Stop::Full(full)) => Ok(Err(full)),
            Err(Stop::Failed(failure)) => Err(failure),
        }
    })
}

/// Writes what stands after the decisions, and tells the time if that is asked for.
fn end(
    placements: Placements,
    nodes: Vec<NodeRow>,
    args: &SimulateArgs,
    stopwatch: &Stopwatch,
    complete: impl FnOnce(&mut Summary),
) -> Result<Summary, Failure> {
    let summary = placements.end(nodes, |summary| {
        complete(summary);
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
