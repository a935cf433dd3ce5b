//! What a seed makes before the first step: configuration, recipes, sizes, rates. Sizes lean to the
//! edge: one node, room for one pod, priorities and times that are all equal.

use crate::fault::{Fault, Faults};
use crate::random::Random;
use crate::storage::StorageSetup;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::profile::Profile;
use berth_core::{Capacities, Detail, Fidelity, NodeSearch, Options, Ties};
use berth_test_support::generate::node::{self, NodeRecipe};
use berth_test_support::generate::placement::{NearRecipe, SpreadRecipe};
use berth_test_support::generate::pod::{self, ContainerRecipe, PlaceRecipe, PodRecipe};
use berth_test_support::generate::pool::{Amounts, SelectorRecipe};
use berth_test_support::generate::profile::{self, ProfileRecipe, configuration_json};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

/// How time passes between steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Only when a step says so.
    Still,
    /// By up to 5 ms.
    Slow,
    /// By up to a second.
    Fast,
}

/// Everything that the steps of a seed refer to.
#[derive(Clone, Debug)]
pub struct Setup {
    pub seed: u64,
    pub config: KubeSchedulerConfiguration,
    /// Its profiles, resolved.
    pub profiles: Vec<Profile>,
    /// Seconds of the first and of the longest backoff.
    pub backoff: (u64, u64),
    pub options: Options,
    pub capacities: Capacities,
    pub nodes: Vec<NodeRecipe>,
    pub pods: Vec<PodRecipe>,
    /// Nodes and pods on the server at most.
    pub most: (usize, usize),
    pub priorities: Vec<i32>,
    pub clock: Clock,
    /// Which faults may happen.
    pub faults: Faults,
    /// How often, in percent of the occasions.
    pub rate: u8,
    /// Bound pods get their time when they are deleted.
    pub graceful: bool,
    /// Pods say when they started.
    pub starts: bool,
    /// Rules outside the core make pods wait, in percent.
    pub waits: u8,
    /// An update with another UID comes as one update, not as a deletion and an addition.
    pub merges_recreation: bool,
    /// Weights of the kinds of steps are multiplied by these.
    pub moods: [usize; 4],
    /// Volumes, if the seed has any.
    pub storage: Option<StorageSetup>,
}

impl Setup {
    /// The setup of a seed.
    pub fn of(seed: u64) -> Self {
        let mut random = Random::part(seed, 0);
        let mut recipes = Recipes::new(&mut random);
        let (initial, longest) = random.choose(&[(1, 10), (1, 10), (1, 2), (3, 60), (1, 1)]);
        let profiles = match random.below(4) {
            0 | 1 => vec![ProfileRecipe::default()],
            2 => vec![ProfileRecipe::default(), recipes.draw(&profile::profile())],
            _ => (0..=random.below(2))
                .map(|_| recipes.draw(&profile::profile()))
                .collect(),
        };
        let mut config = configuration_json(&profiles);
        config["podInitialBackoffSeconds"] = json!(initial);
        config["podMaxBackoffSeconds"] = json!(longest);
        let storage = StorageSetup::draw(&mut Random::part(seed, u64::MAX - 1));
        if let Some(storage) = &storage {
            let args = json!({"bindTimeoutSeconds": storage.timeout});
            let profiles = config["profiles"].as_array_mut();
            for profile in profiles.expect("a list") {
                let args = json!({"name": "VolumeBinding", "args": args});
                let all = profile["pluginConfig"].as_array_mut();
                all.expect("a list").push(args);
            }
        }
        let config: KubeSchedulerConfiguration =
            serde_json::from_value(config).expect("a configuration");
        let style = random.choose(&[0, 0, 1, 2]);
        let nodes = (0..=random.below(4))
            .map(|at| match style {
                _ if at == 0 => plain_node(&mut random),
                0 => plain_node(&mut random),
                1 => recipes.draw(&node::node()),
                _ if random.one_in(2) => plain_node(&mut random),
                _ => recipes.draw(&node::node()),
            })
            .collect();
        let pods = (0..=random.below(6))
            .map(|at| match style {
                _ if at == 0 => plain_pod(&mut random),
                0 => plain_pod(&mut random),
                1 => recipes.draw(&pod::pod()),
                _ if random.one_in(2) => plain_pod(&mut random),
                _ => recipes.draw(&pod::pod()),
            })
            .collect();
        let most = (
            random.choose(&[1, 2, 3, 4, 6, 8, 12]),
            random.choose(&[3, 6, 10, 16, 24, 40]),
        );
        let faults = draw_faults(&mut random);
        Self {
            seed,
            profiles: config.profiles().expect("a configuration that is accepted"),
            config,
            backoff: (initial, longest),
            options: draw_options(&mut random),
            capacities: draw_capacities(&mut random, most, faults),
            nodes,
            pods,
            most,
            priorities: random
                .choose(&[
                    &[0][..],
                    &[0, 10],
                    &[-5, 0, 5, 7],
                    &[0, 10],
                    &[-5, 0, 5, 7],
                    &[i32::MIN, 0, i32::MAX],
                ])
                .to_vec(),
            clock: random.choose(&[Clock::Still, Clock::Slow, Clock::Fast]),
            faults,
            rate: random.choose(&[3, 10, 30, 60]),
            graceful: random.one_in(2),
            starts: random.one_in(2),
            waits: random.choose(&[0, 0, 10, 40]),
            merges_recreation: random.one_in(2),
            moods: [(); 4].map(|()| random.choose(&[1, 1, 2, 4])),
            storage,
        }
    }

    /// The profile that is responsible for a pod.
    pub fn profile(&self, scheduler_name: &str) -> Option<&Profile> {
        let mut all = self.profiles.iter();
        all.find(|profile| profile.scheduler_name == scheduler_name)
    }
}

/// Draws from the strategies of the property tests.
struct Recipes(TestRunner);

impl Recipes {
    fn new(random: &mut Random) -> Self {
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&random.draw().to_le_bytes());
        }
        let stream = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Self(TestRunner::new_with_rng(Config::default(), stream))
    }

    fn draw<S: Strategy>(&mut self, strategy: &S) -> S::Value {
        let tree = strategy.new_tree(&mut self.0);
        tree.expect("a strategy without filters").current()
    }
}

/// Some seeds know one kind of fault only, some a few, some all.
fn draw_faults(random: &mut Random) -> Faults {
    let mut faults = Faults::NONE;
    match random.below(6) {
        0 => faults.with(random.choose(&Fault::ALL)),
        1 => Faults::ALL,
        2 => {
            for _ in 0..4 {
                faults = faults.with(random.choose(&Fault::ALL));
            }
            faults
        }
        _ => {
            for fault in Fault::ALL {
                if random.one_in(2) {
                    faults = faults.with(fault);
                }
            }
            faults
        }
    }
}

fn draw_options(random: &mut Random) -> Options {
    let all = |ties| Options {
        ties: Some(ties),
        node_search: Some(NodeSearch::All),
        seed: 7,
        ..Options::default()
    };
    let mut options = match random.below(6) {
        0 => Options {
            fidelity: Fidelity::Best,
            detail: random.one_in(2).then_some(Detail::None),
            ..Options::default()
        },
        1 => all(Ties::Random),
        2 => all(Ties::FirstName),
        _ => Options::default(),
    };
    if random.one_in(8) {
        options.preemption = Some(false);
    }
    if random.one_in(4) {
        options.batching = Some(false);
    }
    options
}

/// Room for all that the server may hold, or a little less.
fn draw_capacities(random: &mut Random, most: (usize, usize), faults: Faults) -> Capacities {
    let small = |count: usize| u32::try_from(count).expect("a small cluster");
    let mut capacities = Capacities::for_size(32, 128);
    capacities.text_bytes = 1 << 17;
    capacities.record_words = 1 << 15;
    capacities.event_words = 1 << 15;
    capacities.live_words = 1 << 13;
    capacities.live_classes = random.choose(&[1, 3, 32]);
    if faults.has(Fault::CapacityFull) {
        match random.below(6) {
            0 => capacities.nodes = small(most.0.saturating_sub(1).max(1)),
            1 => capacities.pods = small((most.1 * 2 / 3).max(1)),
            2 => capacities.classes = small((most.1 / 3).max(2)),
            3 => capacities.volumes = 12,
            4 => capacities.volume_uses = small((most.1 / 3).max(2)),
            _ => capacities.in_flight_events = 16,
        }
    }
    capacities
}

/// Room for a whole number of plain pods.
fn plain_node(random: &mut Random) -> NodeRecipe {
    NodeRecipe {
        amounts: Some(Amounts {
            // 1, 2, 4, 7 cores.
            cpu: Some(random.choose(&[0, 0, 4, 5, 9])),
            memory: Some(5),
            others: Vec::new(),
        }),
        // 110, 3, 8, 1 pods.
        pods: Some(random.choose(&[0, 0, 0, 1, 2, 4])),
        zone: random.choose(&[None, Some(0), Some(0), Some(1), Some(1)]),
        // Domains without room that other reasons than room keep empty.
        unschedulable: random.one_in(8),
        taints: if random.one_in(8) {
            vec![(0, 0, 0)]
        } else {
            Vec::new()
        },
        ..NodeRecipe::default()
    }
}

/// One core, or half, or nothing; some with a port, some that care for others.
fn plain_pod(random: &mut Random) -> PodRecipe {
    let ports = if random.one_in(4) {
        vec![(0, 0, 0)]
    } else {
        Vec::new()
    };
    PodRecipe {
        labels: random
            .choose(&[&[][..], &[(3, 0)], &[(3, 0)], &[(3, 1)]])
            .to_vec(),
        containers: vec![ContainerRecipe {
            requests: Amounts {
                cpu: random.choose(&[Some(0), Some(0), Some(3), Some(4), None]),
                memory: random.choose(&[Some(0), None]),
                others: Vec::new(),
            },
            ports,
            ..ContainerRecipe::default()
        }],
        place: if random.one_in(2) {
            plain_place(random)
        } else {
            PlaceRecipe::default()
        },
        ..PodRecipe::default()
    }
}

/// Apart from pods of a label, near them, or spread with them, by node or zone.
fn plain_place(random: &mut Random) -> PlaceRecipe {
    let selector = Some(SelectorRecipe {
        pairs: vec![(3, random.choose(&[0, 0, 1]))],
        expressions: Vec::new(),
    });
    let key = random.choose(&[0, 1]);
    let mut place = PlaceRecipe::default();
    if random.one_in(2) {
        place.spread = vec![SpreadRecipe {
            max_skew: 1,
            key,
            hard: true,
            selector,
            min_domains: None,
            honor_affinity: None,
            honor_taints: None,
            match_label_keys: Vec::new(),
        }];
        return place;
    }
    let term = NearRecipe {
        key,
        selector,
        namespaces: Vec::new(),
        namespace_selector: None,
    };
    if random.one_in(2) {
        place.far = vec![term];
    } else {
        place.near = vec![term];
    }
    place
}
