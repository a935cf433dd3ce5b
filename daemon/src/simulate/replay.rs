//! `berth simulate --trace`.

use super::{Start, code, customs, end, play, save};
use crate::args::SimulateArgs;
use crate::config;
use crate::failure::{Failure, Outcome, tell, tell_problems};
use crate::input::{Input, Place, Problem};
use crate::notes;
use crate::output::{NodeRow, Output};
use crate::state::State;
use crate::stopwatch::Stopwatch;
use crate::trace::Trace;
use crate::world::{Customs, Put, World};
use berth_core::Capacities;
use berth_core::object::expand::Expansion;
use berth_core::object::validate::validate;
use berth_core::object::{Object, Pod};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Starts with the objects of the files, at time 0, and does what the trace says.
pub fn run(args: &SimulateArgs, trace: &Path) -> Outcome {
    let mut stopwatch = Stopwatch::start();
    let trace = Trace::read(trace)?;
    let config = match (&args.input.config, &trace.config) {
        (Some(_), Some(_)) => {
            let message = "--config: the trace has a configuration of its own; give only one";
            return Err(Failure::Usage(message.to_owned()));
        }
        (None, Some(config)) => config.clone(),
        (file, None) => config::load(file.as_deref(), false)?,
    };
    let (state, files) = State::among(&args.filename, &config)?;
    let (first, has_bad) = first_objects(args, &files)?;
    notes::other_kinds(&trace.other_kinds);
    trace.notes.iter().for_each(|note| tell("note", note));
    stopwatch.stage(|timing| &mut timing.read);

    let mut options = args.options();
    options.batching = trace.batching;
    let customs = Customs {
        graceful_deletion: trace.graceful_deletion,
        ..customs(args)
    };
    let mut capacities = capacities(&first, &trace);
    if let Some(state) = &state {
        capacities = capacities.plus(*state.intake.scheduler().capacities());
    }
    let start = Start {
        state: state.as_ref(),
        config: &config,
        options,
        customs,
        capacities,
    };
    stopwatch.stage(|timing| &mut timing.build);
    // A step may turn out to be wrong, and then nothing is told.
    let output = Output::held();
    let world = play(args, &start, output, |world| replay(world, &first, &trace))?;
    stopwatch.stage(|timing| &mut timing.decide);

    world.notes().for_each(|note| tell("note", note));
    if world.absent > 0 {
        let count = world.absent;
        let note = format!("updates and deletions of objects that were not there: {count}");
        tell("note", &note);
    }
    save(args, world.intake())?;
    let (nodes, course) = (NodeRow::all(world.scheduler()), world.course());
    let placements = world.observer.into_placements();
    let summary = end(placements, nodes, args, &stopwatch, |summary| {
        summary.course = Some(course);
    })?;
    Ok(code(&summary, has_bad))
}

fn replay(
    world: &mut World<super::Collector>,
    first: &[(Object, Place)],
    trace: &Trace,
) -> Result<(), Failure> {
    for (object, place) in first {
        world.tick()?;
        world.put(Put::Add, object.clone(), place, None)?;
    }
    trace.steps.iter().try_for_each(|step| world.step(step))
}

/// The objects of the files, those first that others look at, and whether bad ones are left out.
fn first_objects(
    args: &SimulateArgs,
    files: &[PathBuf],
) -> Result<(Vec<(Object, Place)>, bool), Failure> {
    if files.is_empty() {
        return Ok((Vec::new(), false));
    }
    let mut input = Input::read(files);
    notes::other_kinds(&input.other_kinds);
    let mut objects = Vec::new();
    for (object, place) in input.objects.into_iter().zip(input.places) {
        let invalid = validate(&object);
        if invalid.is_empty() {
            objects.push((object, place));
            continue;
        }
        let metadata = object.metadata();
        for invalid in invalid {
            input.problems.push(Problem {
                place: place.clone(),
                object: Some(format!("{} {}", object.kind(), metadata.name)),
                field: Some(invalid.field),
                message: invalid.problem,
            });
        }
    }
    let has_bad = !input.problems.is_empty();
    if has_bad && !args.input.skip_invalid {
        return Err(Failure::Input(input.problems));
    }
    tell_problems("left out", &input.problems);
    objects.sort_by_key(|(object, _)| match object {
        Object::PriorityClass(_) | Object::RuntimeClass(_) | Object::LimitRange(_) => 0,
        Object::Namespace(_) => 1,
        Object::Node(_) => 2,
        Object::Pod(pod) if pod.spec.node_name.is_empty() => 6,
        Object::Pod(_) => 5,
        _ if Expansion::of(object, &[]).is_some() => 6,
        Object::PersistentVolumeClaim(_) => 4,
        _ => 3,
    });
    Ok((objects, has_bad))
}

/// Room for everything that comes, as if nothing left; of a workload as many pods as it ever asks
/// for.
fn capacities(first: &[(Object, Place)], trace: &Trace) -> Capacities {
    let objects = || {
        first
            .iter()
            .map(|(object, _)| object)
            .chain(trace.objects())
    };
    let mut made: BTreeMap<_, (u64, Pod)> = BTreeMap::new();
    for object in objects() {
        let Some(expansion) = Expansion::of(object, &[]) else {
            continue;
        };
        let metadata = object.metadata();
        let key = (object.kind(), &metadata.namespace, &metadata.name);
        let count = expansion.count();
        let most = made.entry(key);
        let most = most.or_insert_with(|| (0, expansion.pod(0, 0)));
        most.0 = most.0.max(count);
    }
    let pods = made.values();
    let pods = pods.flat_map(|(count, pod)| std::iter::repeat_n(pod, *count as usize));
    Capacities::for_objects(objects(), pods)
}
