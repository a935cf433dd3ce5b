//! Configurations: what is refused and how, what is filled in, which plugins run where.
//!
//! The cases of `golden/config-*.jsonl` were answered by kube-scheduler 1.37.2: a Go program
//! decoded each `config` with the scheduler's own codecs, ran
//! `ValidateKubeSchedulerConfiguration`, then `scheduler.New` with a fake client set, and printed
//! the errors, or `ListPlugins` of each profile and the YAML of `--write-config-to`. Errors that
//! kube-scheduler reports while it starts have no path there; `error_field` is ours then. Of those
//! it reports one at a time; the others in `more_errors` are ours. `decode_field`, `decode_error`
//! and the rules that are Berth's alone are ours too. `profiles` lists by point
//! what differs from the default profile, which is the first case; scores with their weights.

use berth_core::object::config::{
    ConfigError, ConfigErrors, Duration, KubeSchedulerConfiguration, KubeSchedulerProfile,
    PluginArgs,
};
use berth_core::plugins::{Plugin, Point};
use berth_core::profile::{DefaultConstraints, Profile, ScoringKind};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    config: Value,
    decode_field: Option<String>,
    decode_error: Option<String>,
    error_field: Option<String>,
    error_text: Option<String>,
    #[serde(default)]
    more_errors: Vec<(String, String)>,
    profiles: Option<BTreeMap<String, Points>>,
    written: Option<Value>,
}

/// Names of plugins by point.
type Points = BTreeMap<String, String>;

fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    let text = std::fs::read_to_string(path).expect("the golden file is there");
    text.lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

fn all_cases() -> impl Iterator<Item = Case> {
    ["config-validation.jsonl", "config-profiles.jsonl"]
        .into_iter()
        .flat_map(cases)
}

fn decode(config: &Value) -> Result<KubeSchedulerConfiguration, ConfigError> {
    let value = serde_json::from_str(&config.to_string()).expect("it is JSON");
    KubeSchedulerConfiguration::from_value(value)
}

fn decoded(config: &Value) -> KubeSchedulerConfiguration {
    decode(config).expect("the configuration decodes")
}

/// The profiles of a configuration whose apiVersion and kind are left out.
fn profiles(mut config: Value) -> Result<Vec<Profile>, ConfigErrors> {
    config["apiVersion"] = json!("kubescheduler.config.k8s.io/v1");
    config["kind"] = json!("KubeSchedulerConfiguration");
    decoded(&config).profiles()
}

fn points(profile: &Profile) -> Points {
    Point::ALL
        .iter()
        .map(|point| {
            let names: Vec<String> = profile
                .plugins(*point)
                .iter()
                .map(|plugin| match point {
                    Point::Score => format!("{}*{}", plugin.name(), profile.weight(*plugin)),
                    _ => plugin.name().to_string(),
                })
                .collect();
            (point.field_name().to_string(), names.join(" "))
        })
        .collect()
}

#[test]
fn every_case_is_answered_as_kube_scheduler_answers_it() {
    let mut default = Points::new();
    let mut wrong = Vec::new();
    for case in all_cases() {
        let name = &case.name;
        let config = match (decode(&case.config), &case.decode_error) {
            (Ok(config), None) => config,
            (Err(error), Some(expected))
                if Some(&error.field) == case.decode_field.as_ref()
                    && error.problem.contains(expected) =>
            {
                continue;
            }
            (result, _) => {
                wrong.push(format!("{name}: decoding gave {:?}", result.err()));
                continue;
            }
        };
        let mut expected: Vec<(String, String)> = case
            .error_field
            .into_iter()
            .zip(case.error_text)
            .chain(case.more_errors)
            .collect();
        match config.profiles() {
            Ok(profiles) => {
                let mut found = BTreeMap::new();
                for profile in profiles {
                    let mut points = points(&profile);
                    if default.is_empty() {
                        default.clone_from(&points);
                    } else {
                        points.retain(|point, names| *names != default[point]);
                    }
                    found.insert(profile.scheduler_name, points);
                }
                if case.profiles.as_ref() != Some(&found) {
                    wrong.push(format!("{name}: got {found:?}, not {:?}", case.profiles));
                }
            }
            Err(ConfigErrors(errors)) => {
                let mut found: Vec<_> = errors
                    .into_iter()
                    .map(|error| (error.field, error.problem))
                    .collect();
                // Upstream keeps points in a map and so reports them in any order.
                found.sort();
                expected.sort();
                if found != expected {
                    wrong.push(format!("{name}: got {found:#?}, not {expected:#?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_completed_configuration_is_what_write_config_to_writes() {
    let mut count = 0;
    for case in all_cases() {
        let Some(written) = case.written else {
            continue;
        };
        count += 1;
        let completed = decoded(&case.config).completed();
        let value = serde_json::to_value(&completed).expect("it is JSON");
        assert_eq!(value, written, "{}", case.name);
    }
    assert!(count >= 4, "only {count} cases say what is written");
}

#[test]
fn fields_are_written_in_alphabetical_order() {
    for case in all_cases().filter(|case| case.decode_error.is_none()) {
        let text = serde_json::to_string(&decoded(&case.config).completed()).expect("it is JSON");
        let value: Value = serde_json::from_str(&text).expect("it is JSON");
        // Maps of `Value` are sorted.
        assert_eq!(text, value.to_string(), "{}", case.name);
    }
}

#[test]
fn a_written_configuration_is_read_back_unchanged() {
    for case in all_cases().filter(|case| case.profiles.is_some()) {
        let completed = decoded(&case.config).completed();
        let text = serde_json::to_string(&completed).expect("it is JSON");
        let again: KubeSchedulerConfiguration = serde_json::from_str(&text).expect("it decodes");
        assert_eq!(again, completed, "{}", case.name);
        let text = serde_saphyr::to_string(&completed).expect("it is YAML");
        let again: KubeSchedulerConfiguration = serde_saphyr::from_str(&text).expect("it decodes");
        assert_eq!(again, completed, "{}: as YAML", case.name);
        assert_eq!(
            again.completed(),
            completed,
            "{}: defaulted twice",
            case.name
        );
    }
}

#[test]
fn a_key_given_twice_is_refused_everywhere() {
    let head =
        r#""apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration""#;
    for (rest, field) in [
        (r#""parallelism":1,"parallelism":1"#, "parallelism"),
        (
            r#""profiles":[{"plugins":{"score":{},"score":{}}}]"#,
            "score",
        ),
        (
            r#""profiles":[{"pluginConfig":[{"name":"NodeName","name":"NodeName"}]}]"#,
            "name",
        ),
        (
            r#""profiles":[{"pluginConfig":[{"name":"VolumeBinding","args":{"shape":[],"shape":[]}}]}]"#,
            "shape",
        ),
        (
            r#""profiles":[{"pluginConfig":[{"name":"NodeName","args":{"a":{"b":1,"b":1}}}]}]"#,
            "b",
        ),
    ] {
        let text = format!("{{{head},{rest}}}");
        let error = serde_json::from_str::<KubeSchedulerConfiguration>(&text)
            .expect_err(rest)
            .to_string();
        assert!(
            error.contains(&format!("duplicate field `{field}`")),
            "{error}"
        );
    }
}

#[test]
fn yaml_is_read_with_args_before_and_after_the_name() {
    let config: KubeSchedulerConfiguration = serde_saphyr::from_str(
        r#"
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaseDuration: 1m30s
clientConnection:
  qps: 5
profiles:
- schedulerName: packing
  pluginConfig:
  - args:
      scoringStrategy:
        type: MostAllocated
        resources:
        - {name: cpu, weight: 3}
    name: NodeResourcesFit
  - name: DynamicResources
    args:
      kind: DynamicResourcesArgs
      filterTimeout: 100ms
  plugins:
    score:
      disabled:
      - name: "*"
      enabled:
      - name: NodeResourcesFit
        weight: 2
"#,
    )
    .expect("it decodes");
    assert_eq!(
        config.leader_election.lease_duration,
        Duration::from_seconds(90)
    );
    assert_eq!(config.client_connection.qps, 5.0);
    let profiles = config.profiles().expect("it is valid");
    let [profile] = profiles.as_slice() else {
        panic!("{} profiles", profiles.len());
    };
    assert_eq!(profile.scheduler_name, "packing");
    assert_eq!(profile.plugins(Point::Score), [Plugin::NodeResourcesFit]);
    assert_eq!(profile.weight(Plugin::NodeResourcesFit), 2);
    let strategy = &profile.args.scoring_strategy;
    assert_eq!(strategy.kind, ScoringKind::MostAllocated);
    assert_eq!(strategy.resources, [("cpu".to_string(), 3)]);
    assert_eq!(
        profile.args.device_filter_timeout,
        Duration::parse("0.1s").expect("a duration")
    );
}

#[test]
fn yaml_scalars_keep_their_types() {
    for (line, error) in [
        ("parallelism: \"16\"", "parallelism: invalid type: string"),
        (
            "profiles: [{schedulerName: 5}]",
            "profiles[0].schedulerName: invalid type: integer",
        ),
        (
            "podMaxBackoffSeconds: 1.5",
            "podMaxBackoffSeconds: invalid type: floating point",
        ),
        (
            "delayCacheUntilActive: \"true\"",
            "delayCacheUntilActive: invalid type: string",
        ),
    ] {
        let text = format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n{line}\n"
        );
        let found = serde_saphyr::from_str::<KubeSchedulerConfiguration>(&text)
            .expect_err(line)
            .to_string();
        assert!(found.contains(error), "{found}");
    }
}

#[test]
fn args_that_are_not_given_are_the_defaults() {
    let profiles = profiles(json!({})).expect("it is valid");
    let args = &profiles[0].args;
    let cpu_and_memory = ["cpu".to_string(), "memory".to_string()];
    assert_eq!(args.hard_pod_affinity_weight, 1);
    assert!(!args.ignore_preferred_terms_of_existing_pods);
    assert_eq!(args.added_affinity, None);
    assert!(args.ignored_resources.is_empty() && args.ignored_resource_groups.is_empty());
    assert_eq!(args.scoring_strategy.kind, ScoringKind::LeastAllocated);
    assert_eq!(
        args.scoring_strategy.resources,
        cpu_and_memory.clone().map(|name| (name, 1))
    );
    assert_eq!(args.balanced_resources, cpu_and_memory);
    assert_eq!(args.default_constraints, DefaultConstraints::System);
    assert_eq!(args.min_candidate_nodes_percentage, 10);
    assert_eq!(args.min_candidate_nodes_absolute, 100);
    assert_eq!(args.volume_bind_timeout_seconds, 600);
    assert_eq!(args.volume_shape, [(0, 100), (100, 0)]);
    assert_eq!(args.device_filter_timeout, Duration::from_seconds(10));
    assert_eq!(args.device_binding_timeout, Duration::from_seconds(600));
}

#[test]
fn args_that_are_given_reach_the_profile() {
    let profiles = profiles(json!({"profiles": [{"pluginConfig": [
        {"name": "InterPodAffinity", "args": {
            "hardPodAffinityWeight": 0, "ignorePreferredTermsOfExistingPods": true}},
        {"name": "NodeAffinity", "args": {"addedAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": []}}},
        {"name": "NodeResourcesFit", "args": {
            "ignoredResources": ["example.com/x"], "ignoredResourceGroups": ["example.org"],
            "scoringStrategy": {"type": "RequestedToCapacityRatio", "resources": [{"name": "x"}],
                "requestedToCapacityRatio": {"shape": [
                    {"utilization": 5, "score": 1}, {"utilization": 70, "score": 10}]}}}},
        {"name": "NodeResourcesBalancedAllocation", "args": {"resources": [{"name": "y"}]}},
        {"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": [
            {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
             "minDomains": 3, "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["k"]}]}},
        {"name": "DefaultPreemption", "args": {
            "minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 7}},
        {"name": "VolumeBinding", "args": {
            "bindTimeoutSeconds": 0, "shape": [{"utilization": 0, "score": 3}]}},
        {"name": "DynamicResources", "args": {"filterTimeout": "0s", "bindingTimeout": "2s"}},
    ]}]}))
    .expect("it is valid");
    let args = &profiles[0].args;
    assert_eq!(args.hard_pod_affinity_weight, 0);
    assert!(args.ignore_preferred_terms_of_existing_pods);
    let added = args.added_affinity.as_ref().expect("affinity is added");
    let required = added.required.as_ref().expect("some is required");
    assert_eq!(
        required.node_selector_terms[0].match_expressions[0].values,
        ["b"]
    );
    assert_eq!(added.preferred, Some(vec![]), "empty is not absent");
    assert_eq!(args.ignored_resources, ["example.com/x"]);
    assert_eq!(args.ignored_resource_groups, ["example.org"]);
    assert_eq!(
        args.scoring_strategy.kind,
        ScoringKind::RequestedToCapacityRatio
    );
    assert_eq!(args.scoring_strategy.resources, [("x".to_string(), 1)]);
    assert_eq!(args.scoring_strategy.shape, [(5, 10), (70, 100)]);
    assert_eq!(args.balanced_resources, ["y"]);
    let DefaultConstraints::List(constraints) = &args.default_constraints else {
        panic!("{:?}", args.default_constraints);
    };
    assert_eq!(constraints.len(), 1);
    assert_eq!(
        (constraints[0].max_skew, constraints[0].min_domains),
        (2, Some(3))
    );
    assert_eq!(constraints[0].topology_key, "zone");
    assert_eq!(constraints[0].when_unsatisfiable, "DoNotSchedule");
    assert_eq!(constraints[0].node_taints_policy.as_deref(), Some("Honor"));
    assert_eq!(constraints[0].match_label_keys, ["k"]);
    assert_eq!(args.min_candidate_nodes_percentage, 0);
    assert_eq!(args.min_candidate_nodes_absolute, 7);
    assert_eq!(args.volume_bind_timeout_seconds, 0);
    assert_eq!(args.volume_shape, [(0, 30)]);
    assert_eq!(args.device_filter_timeout, Duration::ZERO);
    assert_eq!(args.device_binding_timeout, Duration::from_seconds(2));
}

#[test]
fn a_profile_overrides_the_percentage_of_the_configuration() {
    let profiles = profiles(json!({"percentageOfNodesToScore": 40, "profiles": [
        {"schedulerName": "a"},
        {"schedulerName": "b", "percentageOfNodesToScore": 0},
        {"schedulerName": "c", "percentageOfNodesToScore": 100}]}))
    .expect("it is valid");
    let percentages: Vec<i32> = profiles
        .iter()
        .map(|profile| profile.percentage_of_nodes_to_score)
        .collect();
    assert_eq!(percentages, [40, 0, 100]);
}

#[test]
fn errors_are_displayed_one_a_line() {
    let errors =
        profiles(json!({"parallelism": 0, "podMaxBackoffSeconds": 0})).expect_err("refused");
    assert_eq!(
        errors.to_string(),
        "parallelism: Invalid value: 0: should be an integer value greater than zero\n\
         podMaxBackoffSeconds: Invalid value: 0: \
         must be greater than or equal to PodInitialBackoffSeconds"
    );
}

#[test]
fn a_private_key_is_not_in_debug_output() {
    let config = decoded(&json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": "http://a", "tlsConfig": {"keyData": "c2VjcmV0"}}]}));
    assert!(!format!("{config:?}").contains("c2VjcmV0"));
}

/// A set of plugins by name, `*` and an unknown one among them.
fn any_set() -> impl Strategy<Value = Value> {
    let mut names: Vec<&str> = Plugin::ALL.iter().map(|plugin| plugin.name()).collect();
    names.extend(["*", "Unknown"]);
    let name = prop::sample::select(names);
    let enabled = prop::collection::vec((name.clone(), any::<i32>()), 0..4);
    let disabled = prop::collection::vec(name, 0..3);
    (enabled, disabled).prop_map(|(enabled, disabled)| {
        let enabled: Vec<Value> = enabled
            .iter()
            .map(|(name, weight)| json!({"name": name, "weight": weight}))
            .collect();
        let disabled: Vec<Value> = disabled.iter().map(|name| json!({"name": name})).collect();
        json!({"enabled": enabled, "disabled": disabled})
    })
}

proptest! {
    #[test]
    fn a_plugin_runs_at_most_once_at_a_point_and_only_where_it_can(
        multi_point in any_set(),
        sets in prop::collection::btree_map(prop::sample::select(Point::ALL), any_set(), 0..3),
    ) {
        let mut plugins = json!({"multiPoint": multi_point});
        for (point, set) in sets {
            plugins[point.field_name()] = set;
        }
        if let Ok(profiles) = profiles(json!({"profiles": [{"plugins": plugins}]})) {
            for point in Point::ALL {
                let running = profiles[0].plugins(*point);
                let distinct: BTreeSet<_> = running.iter().collect();
                prop_assert_eq!(distinct.len(), running.len());
                prop_assert!(running.iter().all(|plugin| plugin.extends(*point)));
            }
        }
    }
}

#[test]
fn args_count_however_the_profile_was_decoded() {
    let profile = json!({"pluginConfig": [{"name": "NodeResourcesFit",
        "args": {"scoringStrategy": {"type": "MostAllocated"}}}]});
    let alone: KubeSchedulerProfile = serde_json::from_value(profile).expect("a profile");
    let config = KubeSchedulerConfiguration {
        profiles: vec![alone],
        ..KubeSchedulerConfiguration::default()
    };
    let profiles = config.profiles().expect("a valid configuration");
    let strategy = &profiles[0].args.scoring_strategy;
    assert_eq!(strategy.kind, ScoringKind::MostAllocated);
}

/// The derived function would leave args undecoded; it is not there to be called by mistake.
#[test]
fn a_configuration_is_decoded_with_its_args_whatever_calls_its_decoding() {
    let json = json!({"apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration", "profiles": [{"pluginConfig": [{
        "name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}]});
    let value = serde_json::from_value(json.clone()).expect("any value");
    let ways = [
        KubeSchedulerConfiguration::deserialize(json.clone()).expect("decoded"),
        serde_json::from_value(json.clone()).expect("decoded"),
        serde_json::from_str(&json.to_string()).expect("decoded"),
        KubeSchedulerConfiguration::from_value(value).expect("decoded"),
    ];
    for config in &ways {
        let args = &config.profiles[0].plugin_config[0].args;
        assert!(matches!(args, PluginArgs::NodeResourcesFit(_)), "{args:?}");
    }
}
