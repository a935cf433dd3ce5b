//! Every rule of a KubeSchedulerConfiguration has a case that breaks it and one that keeps it.
//!
//! `cases/config_rules.yaml` lists the rules; the cases and upstream's answers to them are those of
//! `golden/config-validation.jsonl`, which `config.rs` compares word for word.

use berth_core::object::config::{
    ConfigError, KubeSchedulerConfiguration, KubeSchedulerProfile, LeaderElection,
    NodeResourcesFitArgs, PluginArgs, PluginConfig,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    source: String,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(rename = "rule")]
    text: String,
    refused: Vec<String>,
    accepted: Vec<String>,
}

/// A golden case: the configuration, and whether upstream's answer was an error.
struct Case {
    config: Value,
    is_refused: bool,
}

fn rules() -> Vec<Rule> {
    let sources: Vec<Source> =
        serde_saphyr::from_str(&berth_test_support::read("cases/config_rules.yaml"))
            .expect("the table is as its head says");
    for source in &sources {
        assert!(!source.rules.is_empty(), "{} has no rules", source.source);
    }
    sources
        .into_iter()
        .flat_map(|source| source.rules)
        .collect()
}

fn cases() -> BTreeMap<String, Case> {
    let text = berth_test_support::read("golden/config-validation.jsonl");
    let cases = text.lines().map(|line| {
        let mut case: Value = serde_json::from_str(line).expect(line);
        let name = case["name"].as_str().expect("a name").to_owned();
        let is_refused = case
            .get("decode_error")
            .or(case.get("error_field"))
            .is_some();
        let config = case["config"].take();
        (name, Case { config, is_refused })
    });
    cases.collect()
}

/// What Berth says of a configuration, but for having nobody to ask as an extender.
fn errors(config: &Value) -> Vec<ConfigError> {
    let value = serde_json::from_value(config.clone()).expect("any value");
    match KubeSchedulerConfiguration::from_value(value).map(|config| config.profiles()) {
        Err(error) => vec![error],
        Ok(Ok(_)) => Vec::new(),
        Ok(Err(errors)) => errors.0,
    }
}

fn cannot_be_asked(error: &ConfigError) -> bool {
    error.field == "extenders" && error.problem.starts_with("Forbidden: ")
}

#[test]
fn every_rule_is_broken_by_one_case_and_kept_by_another() {
    let cases = cases();
    let mut wrong = Vec::new();
    for Rule {
        text: rule,
        refused,
        accepted,
    } in rules()
    {
        assert!(!refused.is_empty() && !accepted.is_empty(), "{rule}");
        for name in &refused {
            let case = &cases[name];
            if !case.is_refused || errors(&case.config).is_empty() {
                wrong.push(format!("{rule}: {name}: was not refused"));
            }
        }
        for name in &accepted {
            let mut errors = errors(&cases[name].config);
            errors.retain(|error| !cannot_be_asked(error));
            if !errors.is_empty() {
                wrong.push(format!("{rule}: {name}: {errors:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_refused_case_stands_for_a_rule_and_every_rule_stands_once() {
    let rules = rules();
    let named: BTreeSet<&String> = rules.iter().flat_map(|rule| &rule.refused).collect();
    let cases = cases();
    let refused = cases.iter().filter(|(_, case)| case.is_refused);
    let without: Vec<_> = refused
        .map(|(name, _)| name)
        .filter(|name| !named.contains(name))
        .collect();
    assert_eq!(without, [""; 0], "cases that stand for no rule");
    let distinct: BTreeSet<&String> = rules.iter().map(|rule| &rule.text).collect();
    assert_eq!(distinct.len(), rules.len(), "a rule stands twice");
}

/// Rules that no file can break, since the defaults are filled in before.
#[test]
fn what_the_defaults_fill_in_is_required_without_them() {
    let fit = PluginConfig {
        name: "NodeResourcesFit".to_owned(),
        args: PluginArgs::NodeResourcesFit(NodeResourcesFitArgs::default()),
    };
    let mut profile = KubeSchedulerProfile {
        scheduler_name: Some("a".to_owned()),
        plugin_config: vec![fit],
        ..KubeSchedulerProfile::default()
    };
    profile.plugins.filter.enabled = vec![berth_core::object::config::PluginEntry {
        name: "NodeResourcesFit".to_owned(),
        weight: 0,
    }];
    let election = LeaderElection {
        leader_elect: Some(true),
        ..LeaderElection::default()
    };
    for (config, field, problem) in [
        (
            KubeSchedulerConfiguration::default(),
            "profiles",
            "Required value",
        ),
        (
            KubeSchedulerConfiguration {
                profiles: vec![profile],
                ..KubeSchedulerConfiguration::default()
            },
            "profiles[0].pluginConfig[0].args.scoringStrategy",
            "Required value: ScoringStrategy field is required",
        ),
    ] {
        let errors = config.validate();
        let error = errors.iter().find(|error| error.field == field);
        let error = error.unwrap_or_else(|| panic!("{field}: {errors:?}"));
        assert_eq!(error.problem, problem, "{field}");
        assert_eq!(config.defaulted().validate(), [], "{field}");
    }
    let config = KubeSchedulerConfiguration {
        leader_election: election,
        ..KubeSchedulerConfiguration::default()
    };
    let errors = config.validate();
    for field in ["resourceLock", "resourceName", "resourceNamespace"] {
        let field = format!("leaderElection.{field}");
        let required = errors
            .iter()
            .any(|error| error.field == field && error.problem == "Required value");
        assert!(required, "{field}: {errors:?}");
    }
    assert_eq!(config.defaulted().validate(), []);
}
