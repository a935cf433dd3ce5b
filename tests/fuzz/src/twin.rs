//! The engine and its naive twin on one small cluster.

use super::side_by_side::same_records;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::validate::validate;
use berth_core::object::{Object, Pod};
use berth_core::profile::Profile;
use berth_core::{ApplyError, Capacities, Change, Detail, PodResult, Scheduler};
use berth_naive::Cluster;
use berth_test_support::replay::VERDICTS;

/// Both, fed with the same objects.
pub struct Twin {
    engine: Scheduler,
    naive: Cluster,
    profile: Profile,
}

/// Room for a handful of objects, so that a scheduler is made quickly.
pub fn small() -> Capacities {
    Capacities {
        texts: 1024,
        text_bytes: 1 << 16,
        node_words: 1 << 12,
        class_words: 1 << 14,
        live_words: 1 << 12,
        live_classes: 4,
        record_words: 1 << 14,
        terms: 256,
        term_words: 1 << 13,
        term_counts: 512,
        links: 512,
        images: 128,
        image_words: 512,
        image_counts: 512,
        ports: 128,
        port_counts: 128,
        domains: 128,
        objects: 64,
        object_words: 1 << 12,
        in_flight_events: 64,
        event_words: 1 << 13,
        ..Capacities::for_size(8, 16)
    }
}

impl Twin {
    /// An empty cluster with upstream's default configuration.
    pub fn new() -> Self {
        let config = KubeSchedulerConfiguration::default();
        let engine = Scheduler::new(&config, VERDICTS, small()).expect("the defaults");
        let profiles = config.profiles().expect("the defaults");
        Self {
            engine,
            naive: Cluster::default(),
            profile: profiles.into_iter().next().expect("a profile"),
        }
    }

    /// Adds an object to both; `false` if an API server or the engine would not have it.
    pub fn add(&mut self, object: &Object) -> bool {
        let is_valid = validate(object).is_empty();
        let before = self.engine.state_hash();
        match self.engine.apply(Change::Added, object) {
            Ok(()) if is_valid => {
                self.naive.apply(Change::Added, object);
                true
            }
            // The rules say nothing of it; that it could be taken in, and out again, is enough.
            Ok(()) => {
                let removed = self.engine.apply(Change::Deleted, object);
                assert_eq!(removed, Ok(()), "{object:?}");
                assert_eq!(self.engine.state_hash(), before, "{object:?}");
                false
            }
            Err(error) => {
                let is_full = matches!(error, ApplyError::Capacity(_));
                assert!(is_full || !is_valid, "{error:?}: {object:?}");
                assert_eq!(self.engine.state_hash(), before, "{error:?}: {object:?}");
                false
            }
        }
    }

    /// Asks both about a pod that is new; the engine is afterwards as before.
    pub fn agree_on(&mut self, pod: &Pod) {
        let before = self.engine.state_hash();
        let object = Object::Pod(Box::new(pod.clone()));
        let is_valid = validate(&object).is_empty();
        match self.engine.apply(Change::Added, &object) {
            Ok(()) => {}
            Err(error) => {
                let is_full = matches!(error, ApplyError::Capacity(_));
                assert!(is_full || !is_valid, "{error:?}: {pod:?}");
                assert_eq!(self.engine.state_hash(), before, "{error:?}: {pod:?}");
                return;
            }
        }
        let meta = &pod.metadata;
        if let Some(id) = self.engine.find_pod(&meta.namespace, &meta.name) {
            let with_it = self.engine.state_hash();
            let (decision, ours) = self.engine.explain(id, Detail::Full);
            assert_eq!(self.engine.state_hash(), with_it, "{pod:?}");
            let is_compared =
                is_valid && !matches!(ours.result, PodResult::Unsupported | PodResult::Gated);
            if is_compared {
                let options = berth_naive::Options {
                    search: berth_naive::Search::All,
                    ties: berth_naive::Ties::FirstName,
                };
                let theirs = self.naive.decide(pod, &self.profile, options);
                let both_fail =
                    ours.result == PodResult::Error && theirs.result == PodResult::Error;
                // The core's errors are values; their texts are its own.
                if !both_fail && let Err(difference) = same_records(&theirs, &ours) {
                    panic!("{decision:?} of {pod:#?}: {difference}");
                }
            }
        }
        let removed = self.engine.apply(Change::Deleted, &object);
        if !pod.status.is_finished() {
            assert_eq!(removed, Ok(()), "{pod:?}");
        }
        assert_eq!(self.engine.state_hash(), before, "{pod:?}");
    }
}
