//! Profiles of the golden files' configurations.

use berth_core::object::Pod;
use berth_core::object::config::{DEFAULT_SCHEDULER_NAME, KubeSchedulerConfiguration};
use berth_core::profile::{Profile, ScoringKind};
use serde_json::{Value, json};

/// All profiles of a configuration.
pub struct Profiles(Vec<Profile>);

impl Profiles {
    /// `strategy`: how `NodeResourcesFit` scores, where it is not the default one.
    pub fn new(config: Option<&Value>, strategy: Option<&str>) -> Self {
        let mut config = config.cloned().unwrap_or_else(|| json!({}));
        config["apiVersion"] = json!("kubescheduler.config.k8s.io/v1");
        config["kind"] = json!("KubeSchedulerConfiguration");
        let config: KubeSchedulerConfiguration =
            serde_json::from_value(config).expect("a configuration");
        let mut profiles = config.profiles().expect("a valid configuration");
        for profile in &mut profiles {
            profile.args.scoring_strategy.kind = match strategy {
                None => profile.args.scoring_strategy.kind,
                Some("LeastAllocated") => ScoringKind::LeastAllocated,
                Some("MostAllocated") => ScoringKind::MostAllocated,
                Some(other) => panic!("strategy {other}"),
            };
        }
        Self(profiles)
    }

    /// The one that schedules the pod; a missing name is the default one.
    pub fn of(&self, pod: &Pod) -> &Profile {
        let name = match pod.spec.scheduler_name.as_str() {
            "" => DEFAULT_SCHEDULER_NAME,
            name => name,
        };
        let mut profiles = self.0.iter();
        profiles
            .find(|profile| profile.scheduler_name == name)
            .unwrap_or_else(|| panic!("no profile for {name}"))
    }
}
