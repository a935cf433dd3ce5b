//! Clusters with volumes: the engine decides as its naive twin does, and gives claims the same
//! volumes, from pod to pod as they are bound.
//!
//! `BERTH_CASES` says how many clusters; they are the same each time.

use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Object, Pod};
use berth_core::plugins::{Plugin, Point};
use berth_core::profile::Profile;
use berth_core::{Change, DecisionRecord, Detail, PodResult};
use berth_naive::{Cluster, Options, Search, Ties};
use berth_test_support::generate::cases;
use berth_test_support::generate::scenario::{growing_case, line};
use berth_test_support::generate::volumes::add_volumes;
use berth_test_support::golden::{Scenario, scenario};
use berth_test_support::object::object;
use berth_test_support::replay::{Replay, VERDICTS};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;
use std::collections::BTreeMap;

/// From here on every plugin has its say.
const CLUSTERS_TELLING: u32 = 200;

/// What the clusters had in them.
#[derive(Debug, Default)]
struct Seen {
    pods: usize,
    placed: usize,
    /// Of both sorts: bound to what is there, provisioned.
    bound: [usize; 2],
    refusals: BTreeMap<String, usize>,
}

fn cluster(number: u64) -> Scenario {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let case = growing_case().new_tree(&mut runner).expect("a case");
    let mut line = line(number, &case.current());
    add_volumes(&mut line, number);
    let nothing = json!({"scenario": number, "pods": []});
    scenario("twin", &line.to_string(), &nothing.to_string())
}

/// The profile under which the twin decides about a pod; it knows neither gates nor deletion.
fn profile<'a>(profiles: &'a [Profile], pod: &Pod) -> Option<&'a Profile> {
    let name = &pod.spec.scheduler_name;
    let profile = profiles.iter().find(|own| own.scheduler_name == *name)?;
    let gates = profile.plugins(Point::PreEnqueue);
    let held = !pod.spec.scheduling_gates.is_empty() && gates.contains(&Plugin::SchedulingGates);
    (!held && pod.metadata.deletion_timestamp.is_none()).then_some(profile)
}

fn compare(scenario: &Scenario, seen: &mut Seen) {
    let config = scenario.config.clone().unwrap_or_else(|| json!({}));
    let config: KubeSchedulerConfiguration =
        serde_json::from_value(config).expect("a configuration");
    let profiles = config.profiles().expect("a valid configuration");
    let mut engine = Replay::of(scenario, VERDICTS);
    let mut twin = Cluster::default();
    for (kind, json) in scenario.input.cluster() {
        twin.apply(Change::Added, &object(kind, json));
    }
    for json in &scenario.input.pods_in_order {
        let Object::Pod(pod) = object("Pod", json) else {
            continue;
        };
        let Some(profile) = profile(&profiles, &pod) else {
            continue;
        };
        let options = Options {
            search: Search::All,
            ties: Ties::FirstName,
        };
        let theirs = twin.decide(&pod, profile, options);
        let id = engine.add_pod(json);
        let decision = engine.scheduler.schedule(id);
        let ours = engine.scheduler.record(&decision, Detail::Full);
        seen.count(&ours);
        let both_fail = [&ours, &theirs].map(|record| record.result == PodResult::Error);
        // The core's errors are values; their texts are its own.
        if both_fail != [true, true] {
            assert_eq!(theirs, ours, "{}, naive twin and engine", scenario.name);
        }
        if let Some(node) = &ours.node {
            engine.bind_volumes(id);
            twin.assume(&pod, node);
            twin.bind_volumes(&ours.volumes, node);
        } else {
            engine.remove_pod(json);
        }
    }
}

impl Seen {
    fn count(&mut self, record: &DecisionRecord) {
        self.pods += 1;
        self.placed += usize::from(record.node.is_some());
        for own in &record.volumes {
            self.bound[usize::from(own.provisioned)] += 1;
        }
        for reasons in record.rejected.iter().flat_map(BTreeMap::values) {
            *self.refusals.entry(reasons[0].clone()).or_default() += 1;
        }
    }
}

#[test]
fn pods_with_volumes_are_decided_as_the_naive_twin_decides_them() {
    let mut seen = Seen::default();
    let clusters = cases(200);
    for number in 0..u64::from(clusters) {
        compare(&cluster(number), &mut seen);
    }
    println!("{seen:#?}");
    if clusters < CLUSTERS_TELLING {
        return;
    }
    assert!(seen.bound.iter().all(|count| *count > 20), "{seen:#?}");
    for plugin in [
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
    ] {
        let refusals = seen.refusals.get(plugin).copied().unwrap_or(0);
        assert!(refusals > 20, "{plugin}: {seen:#?}");
    }
}
