//! Random clusters for the property tests, from recipes that shrink and print small.
//!
//! A [`Case`] holds a few recipes of nodes and pods, a configuration, and events that refer to them
//! by number; [`world`] turns each event into one change of a cluster. The recipes know small pools
//! of names and amounts, so that pods and nodes meet, and the odd values on which rules differ.

pub mod event;
pub mod json;
pub mod lawful;
pub mod node;
pub mod placement;
pub mod pod;
pub mod pool;
pub mod profile;
pub mod scenario;
pub mod storage;
pub mod volumes;
pub mod world;

use event::Event;
use node::NodeRecipe;
use pod::PodRecipe;
use profile::ProfileRecipe;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::fmt;

/// A whole history of a small cluster.
#[derive(Clone)]
pub struct Case {
    pub profiles: Vec<ProfileRecipe>,
    pub nodes: Vec<NodeRecipe>,
    pub pods: Vec<PodRecipe>,
    pub events: Vec<Event>,
}

/// One line a recipe or event, without what is absent.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = [
            ("profile", terse(&self.profiles)),
            ("node", terse(&self.nodes)),
            ("pod", terse(&self.pods)),
            ("event", terse(&self.events)),
        ];
        for (name, lines) in lists {
            for (at, line) in lines.iter().enumerate() {
                write!(f, "\n{name} {at}: {line}")?;
            }
        }
        Ok(())
    }
}

fn terse<T: fmt::Debug>(recipes: &[T]) -> Vec<String> {
    let line = |recipe: &T| {
        let text = format!("{recipe:?}").replace(" }", ", }");
        let fields = text.split_inclusive(", ");
        let empty = [": None, ", ": [], ", ": false, "];
        let told = fields.map(
            |field| match empty.iter().find(|empty| field.ends_with(*empty)) {
                // What opens before an absent field stays.
                Some(_) => field.rfind("{ ").map_or("", |at| &field[..at + 2]),
                None => field,
            },
        );
        told.collect()
    };
    recipes.iter().map(line).collect()
}

/// Histories of up to 30 nodes and 80 pods, most of them with every kind of event.
pub fn case() -> impl Strategy<Value = Case> {
    let profiles = prop_oneof![
        2 => Just(vec![ProfileRecipe::default()]),
        5 => vec(profile::profile(), 1..=2),
    ];
    (
        profiles,
        vec(node::node(), 1..=6),
        vec(pod_with_volumes(), 1..=6),
        event::history(),
    )
        .prop_map(|(profiles, nodes, pods, events)| Case {
            profiles,
            nodes,
            pods,
            events,
        })
}

fn pod_with_volumes() -> impl Strategy<Value = PodRecipe> {
    (pod::pod(), storage::uses()).prop_map(|(pod, volumes)| PodRecipe { volumes, ..pod })
}

/// Clusters of 100 to 250 nodes, few of which change: large enough that not all are looked at.
pub fn large_case() -> impl Strategy<Value = Case> {
    let profiles = prop_oneof![
        2 => Just(vec![ProfileRecipe::default()]),
        3 => vec(profile::profile(), 1..=1),
    ];
    (
        profiles,
        vec(node::node(), 1..=5),
        vec(pod::pod(), 1..=4),
        event::large_history(),
    )
        .prop_map(|(profiles, nodes, pods, events)| Case {
            profiles,
            nodes,
            pods,
            events,
        })
}

/// How a property of the suite `tests/SUITE.rs` is tried: so many times unless the environment says
/// otherwise, and with what it failed on before.
pub fn tries(default: u32, suite: &str) -> ProptestConfig {
    // Proptest keeps the path for as long as the process runs.
    let kept = format!("tests/{suite}.regressions").leak();
    ProptestConfig {
        cases: cases(default),
        max_shrink_iters: 20_000,
        // In proportion to the cases, of which the environment may ask for many.
        max_global_rejects: 1 << 20,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(kept))),
        ..ProptestConfig::default()
    }
}

/// How many cases a property is tried with: `default`, or a share of what `BERTH_CASES` says
/// instead of 300.
pub fn cases(default: u32) -> u32 {
    let wanted = std::env::var("BERTH_CASES")
        .ok()
        .map(|text| text.parse::<u32>().expect("BERTH_CASES is a number"));
    wanted.map_or(default, |wanted| (wanted * default / 300).max(1))
}

/// Mostly nothing: `strategy` in one of `one_in` cases.
fn rarely<S: Strategy>(one_in: u32, strategy: S) -> impl Strategy<Value = Option<S::Value>>
where
    S::Value: Clone,
{
    proptest::option::weighted(1.0 / f64::from(one_in), strategy)
}

/// Mostly an empty list; one of up to `most` in one of `one_in` cases.
fn few<S: Strategy>(one_in: u32, most: usize, strategy: S) -> impl Strategy<Value = Vec<S::Value>>
where
    S::Value: Clone,
{
    rarely(one_in, vec(strategy, 1..=most)).prop_map(Option::unwrap_or_default)
}
