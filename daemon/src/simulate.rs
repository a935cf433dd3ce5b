//! `berth simulate`.

mod collector;
mod replay;

use crate::args::{Order, SimulateArgs};
use crate::failure::{Failure, Outcome, exit};
use crate::load::Loaded;
use crate::output::{NodeRow, Output, Placements, Summary};
use crate::progress;
use crate::room::decided;
use crate::state::{self, State};
use crate::stopwatch::Stopwatch;
use crate::world::{Customs, World};
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
        options: args.options(),
        customs: customs(args),
        capacities: loaded.capacities(),
    };
    let world = play(args, &start, Output::stdout(), |world| {
        progress::during("building", &args.filename, || world.load(&loaded.objects))?;
        stopwatch.stage(|timing| &mut timing.build);
        world.observer.progress = progress::pods(loaded.pending.len());
        world.run_out()
    })?;
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
    let mut intake = loaded.build(args.options())?;
    stopwatch.stage(|timing| &mut timing.build);

    let mut placements = Placements::begin(args.output.output, Output::stdout())?;
    let progress = progress::pods(loaded.pending.len());
    for (place, pod) in loaded.pending.iter().enumerate() {
        let Some(pod) = pod.find(intake.scheduler()) else {
            continue;
        };
        let decision = decided(&mut intake, |intake| intake.scheduler_mut().schedule(pod))?;
        let mut record = intake.scheduler().record(&decision, args.detail());
        record.volumes = intake.bind_volumes(pod)?;
        placements.decision(place, record)?;
        progress.inc(1);
    }
    progress.finish_and_clear();
    stopwatch.stage(|timing| &mut timing.decide);
    let nodes = NodeRow::all(intake.scheduler());
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

/// A world that was played through to its end.
fn play(
    args: &SimulateArgs,
    start: &Start<'_>,
    output: Output,
    play: impl FnOnce(&mut World<Collector>) -> Result<(), Failure>,
) -> Result<World<Collector>, Failure> {
    if start.state.is_some() && start.customs.recreate_victims {
        let message = "--recreate-victims: a state file does not say what its pods were made \
                       from; leave it out, or give the objects";
        return Err(Failure::Usage(message.to_owned()));
    }
    let intake = state::intake(start.state, start.config, start.options, start.capacities)?;
    let placements = Placements::begin(args.output.output, output)?;
    let collector = Collector::new(placements, args.attempts);
    let mut world = World::new(intake, start.customs, collector);
    world.resume()?;
    play(&mut world)?;
    world.tell_rest()?;
    world.observer.progress.finish_and_clear();
    Ok(world)
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
    if args.output.timing {
        stopwatch.tell(summary.pods);
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
