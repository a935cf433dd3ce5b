//! A scheduler of the core, fed with the suites' inputs.

use crate::answer::Answer;
use crate::golden::{BoundClaim, Scenario, Verdict, full_name};
use crate::object::{object, pod};
use berth_core::id::PodId;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Object, Pod};
use berth_core::{
    Capacities, Change, Decision, Detail, Fidelity, NodeSearch, Options, Scheduler, Ties,
    VolumeAction, VolumesBound,
};
use serde_json::Value;

/// How the golden verdicts were made: every node is looked at, the first name wins a tie.
pub const VERDICTS: Options = Options {
    fidelity: Fidelity::Exact,
    ties: Some(Ties::FirstName),
    node_search: Some(NodeSearch::All),
    seed: 0,
    preemption: None,
    batching: None,
    longest_wait: None,
    extenders: false,
    detail: None,
};

/// A scheduler with helpers that panic, naming the object, where the core returns errors.
pub struct Replay {
    pub scheduler: Scheduler,
}

impl Replay {
    /// An empty cluster.
    pub fn new(config: Option<&Value>, options: Options, nodes: usize, pods: usize) -> Self {
        let config: KubeSchedulerConfiguration = config.map_or_else(Default::default, |config| {
            serde_json::from_value(config.clone())
                .unwrap_or_else(|error| panic!("{error}: {config}"))
        });
        let small = |count| u32::try_from(count).expect("a small cluster");
        let capacities = Capacities::for_size(small(nodes), small(pods));
        let scheduler = Scheduler::new(&config, options, capacities)
            .unwrap_or_else(|errors| panic!("{errors:?}: {config:?}"));
        Self { scheduler }
    }

    /// The scenario's cluster, without the pods that are to be placed.
    pub fn of(scenario: &Scenario, options: Options) -> Self {
        let input = &scenario.input;
        let pods = input.bound_pods.len() + input.pods_in_order.len();
        let mut replay = Self::new(scenario.config.as_ref(), options, input.nodes.len(), pods);
        for (kind, json) in input.cluster() {
            replay.add(kind, json);
        }
        replay
    }

    /// Adds an object.
    pub fn add(&mut self, kind: &str, json: &Value) {
        self.apply(Change::Added, &object(kind, json));
    }

    /// Adds a pod.
    pub fn add_pod(&mut self, json: &Value) -> PodId {
        self.add("Pod", json);
        let metadata = &pod(json).metadata;
        self.scheduler
            .find_pod(&metadata.namespace, &metadata.name)
            .unwrap_or_else(|| panic!("{} was added and is not found", full_name(json)))
    }

    /// Takes a pod away.
    pub fn remove_pod(&mut self, json: &Value) {
        self.apply(Change::Deleted, &object("Pod", json));
    }

    /// Binds a pod to a node, as another scheduler would.
    pub fn bind_pod(&mut self, json: &Value, node: &str) {
        let mut pod: Pod = pod(json);
        node.clone_into(&mut pod.spec.node_name);
        self.apply(Change::Modified, &Object::Pod(Box::new(pod)));
    }

    /// Tries a new pod. On its node it stays, otherwise it is gone again.
    pub fn schedule(&mut self, json: &Value) -> Answer {
        let id = self.add_pod(json);
        let decision = self.scheduler.schedule(id);
        let mut answer = self.answer(&decision);
        if answer.node.is_none() {
            self.remove_pod(json);
        }
        answer.volumes = Some(self.bind_volumes(id));
        answer
    }

    /// Binds what a placed pod waits for.
    pub fn bind_volumes(&mut self, pod: PodId) -> Vec<BoundClaim> {
        let bound = self.scheduler.bind_volumes(pod);
        bound.expect("room for what is provisioned");
        // Failed: a volume of a migrated plugin is elsewhere once it is translated.
        assert_ne!(self.scheduler.volumes_bound(pod, 0), VolumesBound::NotYet);
        let bound = self.scheduler.volumes_of(pod).map(|own| BoundClaim {
            claim: own.claim,
            volume: own.volume.expect("it is bound"),
            provisioned: own.provisioned,
        });
        bound.collect()
    }

    /// Asks about a new pod, which changes nothing, and puts it where the verdict says.
    pub fn evaluate_and_follow(&mut self, json: &Value, verdict: &Verdict) -> Answer {
        let id = self.add_pod(json);
        let before = self.scheduler.state_hash();
        let decision = self.scheduler.evaluate(id);
        let answer = self.answer(&decision);
        let after = self.scheduler.state_hash();
        assert_eq!(after, before, "{} was evaluated", verdict.pod);
        match &verdict.chosen {
            Some(node) => {
                for bound in &verdict.volumes {
                    let (namespace, claim) = bound.claim.split_once('/').expect("a full name");
                    let action = if bound.provisioned {
                        VolumeAction::SelectNode {
                            namespace,
                            claim,
                            node,
                        }
                    } else {
                        VolumeAction::BindVolume {
                            volume: &bound.volume,
                            namespace,
                            claim,
                        }
                    };
                    let bound = self.scheduler.carry_out(action);
                    bound.expect("room for what is provisioned");
                }
                self.bind_pod(json, node);
            }
            None => self.remove_pod(json),
        }
        answer
    }

    /// The whole record of the last attempt or evaluation.
    pub fn answer(&self, decision: &Decision) -> Answer {
        Answer::from_record(&self.scheduler.record(decision, Detail::Full))
    }

    /// Applies a change.
    pub fn apply(&mut self, change: Change, object: &Object) {
        if let Err(error) = self.scheduler.apply(change, object) {
            let metadata = object.metadata();
            panic!(
                "{change:?} {} {}/{}: {error:?}",
                object.kind(),
                metadata.namespace,
                metadata.name
            );
        }
    }
}
