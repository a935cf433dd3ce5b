//! The state is what its objects say, whatever came before: what is undone leaves no trace, and a
//! scheduler that is fed with what is left answers the same.

use berth_core::object::{Object, Pod};
use berth_core::{
    Capacities, Change, DecisionRecord, Detail, NodeSearch, Options, Outcome, Scheduler, Ties,
};
use berth_test_support::generate::event::Event;
use berth_test_support::generate::profile::configuration;
use berth_test_support::generate::world::{Key, Step, World};
use berth_test_support::generate::{Case, case, tries};
use proptest::prelude::*;

/// The place of ImageLocality among the recipes' plugins. Its scores are as old as the last change
/// of each node, so they are not a matter of objects alone.
const IMAGE_LOCALITY: u8 = 6;

/// A history and the engine that lived it.
struct Lived {
    world: World,
    engine: Scheduler,
}

impl Lived {
    fn new(case: &Case) -> Self {
        let mut case = case.clone();
        for profile in &mut case.profiles {
            profile.disabled.push(IMAGE_LOCALITY);
            profile
                .weights
                .retain(|(plugin, _)| *plugin != IMAGE_LOCALITY);
        }
        let options = Options {
            ties: Some(Ties::FirstName),
            node_search: Some(NodeSearch::All),
            ..Options::default()
        };
        let config = configuration(&case.profiles);
        let engine = Scheduler::new(&config, options, Capacities::for_size(320, 256))
            .unwrap_or_else(|error| panic!("{error}"));
        Self {
            world: World::new(&case),
            engine,
        }
    }

    fn live(&mut self, event: &Event) -> Vec<Step> {
        let mut steps = Vec::new();
        for step in self.world.steps(event) {
            let bound = self.take(&step);
            steps.push(step);
            for step in bound {
                self.take(&step);
                steps.push(step);
            }
        }
        steps
    }

    /// Takes a step; what follows for the claims of a pod that it placed.
    fn take(&mut self, step: &Step) -> Vec<Step> {
        match step {
            Step::Apply(change, object) => apply(&mut self.engine, *change, object),
            Step::Schedule(key) => {
                let id = self.engine.find_pod(&key.0, &key.1).expect("the pod");
                if let Outcome::Scheduled(node) = self.engine.schedule(id).outcome {
                    let name = self.engine.node(node).name.to_owned();
                    self.world.assume(key, &name);
                    return self.world.bind_volumes(self.engine.volume_actions(id));
                }
            }
            Step::Ask(key) => {
                let id = self.engine.find_pod(&key.0, &key.1).expect("the pod");
                self.engine.evaluate(id);
            }
            Step::Forget(key) => forget(&mut self.engine, key),
        }
        Vec::new()
    }
}

fn apply(engine: &mut Scheduler, change: Change, object: &Object) {
    if let Err(error) = engine.apply(change, object) {
        panic!("{change:?} {}: {error}", object.metadata().name);
    }
}

fn forget(engine: &mut Scheduler, key: &Key) {
    let id = engine.find_pod(&key.0, &key.1).expect("the pod");
    engine.forget(id);
}

/// What the engine says of new pods.
fn verdicts(engine: &mut Scheduler, samples: &[Pod]) -> Vec<DecisionRecord> {
    let verdict = |pod: &Pod| {
        let object = Object::Pod(Box::new(pod.clone()));
        apply(engine, Change::Added, &object);
        let meta = &pod.metadata;
        let id = engine
            .find_pod(&meta.namespace, &meta.name)
            .expect("the pod");
        let record = engine.explain(id, Detail::Full).1;
        apply(engine, Change::Deleted, &object);
        record
    };
    samples.iter().map(verdict).collect()
}

/// Takes back what the steps of one event did to `before`.
fn undo(engine: &mut Scheduler, before: &World, steps: &[Step]) {
    for (nth, step) in steps.iter().enumerate().rev() {
        match step {
            Step::Apply(Change::Added, object) => apply(engine, Change::Deleted, object),
            Step::Apply(change, object) => {
                let old = as_it_was(before, &steps[..nth], object);
                undo_change(engine, *change, object, &old);
            }
            Step::Schedule(key) => forget(engine, key),
            Step::Forget(key) => {
                let pod = Object::Pod(Box::new(before.pod(key).placed()));
                apply(engine, Change::Modified, &pod);
            }
            Step::Ask(_) => {}
        }
    }
}

/// What `object` was before a step, after the `earlier` ones of the same event.
fn as_it_was(before: &World, earlier: &[Step], object: &Object) -> Object {
    let meta = object.metadata();
    let is_it = |old: &Object| {
        let own = old.metadata();
        old.kind() == object.kind() && own.name == meta.name && own.namespace == meta.namespace
    };
    let told = earlier.iter().rev().find_map(|step| match step {
        Step::Apply(_, told) if is_it(told) => Some((**told).clone()),
        _ => None,
    });
    told.or_else(|| before.objects().into_iter().find(is_it))
        .expect("the object as it was")
}

/// Takes back a change of an `object` that was `old` before.
fn undo_change(engine: &mut Scheduler, change: Change, object: &Object, old: &Object) {
    match (change, object) {
        (Change::Deleted, _) => apply(engine, Change::Added, old),
        (_, Object::Pod(pod)) if pod.status.is_finished() => apply(engine, Change::Added, old),
        _ => apply(engine, Change::Modified, old),
    }
    // A change that names no node leaves the pod where it is.
    if let Object::Pod(old) = old
        && old.spec.node_name.is_empty()
    {
        let meta = &old.metadata;
        forget(engine, &(meta.namespace.clone(), meta.name.clone()));
    }
}

proptest! {
    #![proptest_config(tries(300, "properties_state"))]

    #[test]
    fn what_is_undone_leaves_no_trace(case in case(), first in 0.0..1.0) {
        let mut lived = Lived::new(&case);
        let base = (case.events.len() as f64 * first) as usize;
        for event in &case.events[..base] {
            lived.live(event);
        }
        let samples = lived.world.samples();
        let before = verdicts(&mut lived.engine, &samples);
        let mut done = Vec::new();
        for event in &case.events[base..] {
            let (world, hash) = (lived.world.clone(), lived.engine.state_hash());
            let steps = lived.live(event);
            done.push((event, world, hash, steps));
        }
        for (event, world, hash, steps) in done.iter().rev() {
            undo(&mut lived.engine, world, steps);
            prop_assert_eq!(lived.engine.state_hash(), *hash, "after undoing {:?}", event);
        }
        prop_assert_eq!(verdicts(&mut lived.engine, &samples), before);
    }

    #[test]
    fn the_state_is_that_of_a_scheduler_fed_with_what_is_left(case in case()) {
        let mut lived = Lived::new(&case);
        for event in &case.events {
            lived.live(event);
        }
        let mut fresh = Lived::new(&case);
        for object in lived.world.objects() {
            apply(&mut fresh.engine, Change::Added, &object);
        }
        prop_assert_eq!(lived.engine.state_hash(), fresh.engine.state_hash());
        let samples = lived.world.samples();
        let (ours, theirs) =
            (verdicts(&mut lived.engine, &samples), verdicts(&mut fresh.engine, &samples));
        prop_assert_eq!(ours, theirs);
    }
}
