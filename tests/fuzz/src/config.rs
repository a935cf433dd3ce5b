//! Configurations: decoding, defaults, validation, and a scheduler made of them.

use super::twin::small;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::{CreateError, Options, Scheduler};
use berth_daemon::input::{Place, Whole};

/// Reads a configuration from YAML.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let Ok(whole) = Whole::read(Place::default(), text.to_owned()) else {
        return;
    };
    let value = whole.value();
    let config = match KubeSchedulerConfiguration::from_value(value.clone()) {
        Ok(config) => config,
        Err(error) => {
            // It is told with its line.
            let told = whole.problem(error.field, error.problem).to_string();
            assert!(!told.is_empty());
            return;
        }
    };
    // However it is decoded.
    if let Ok(json) = serde_json::to_string(&value)
        && let Ok(from_json) = serde_json::from_str::<KubeSchedulerConfiguration>(&json)
    {
        assert_eq!(from_json, config);
    }
    let defaulted = config.clone().defaulted();
    assert_eq!(defaulted.clone().defaulted(), defaulted);
    let printed = serde_json::to_string(&defaulted).expect("a configuration is JSON");
    let read: KubeSchedulerConfiguration =
        serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));
    assert_eq!(read, defaulted, "{printed}");

    match config.profiles() {
        Ok(profiles) => {
            assert!(!profiles.is_empty());
            assert_eq!(defaulted.validate(), []);
            match Scheduler::new(&config, Options::default(), small()) {
                Ok(_) | Err(CreateError::Capacity(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        Err(errors) => {
            assert!(!errors.0.is_empty());
            let made = Scheduler::new(&config, Options::default(), small());
            assert!(matches!(made, Err(CreateError::Config(_))));
        }
    }
}
