//! `berth config`.

use crate::run::{Run, berth};

const HEADER: &str =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn with_config(text: &str, args: &[&str]) -> Run {
    let folder = tempfile::tempdir().expect("a folder for the configuration");
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, text).expect("the configuration is written");
    let mut args = args.to_vec();
    args.extend(["--config", file.to_str().expect("the path is UTF-8")]);
    let mut run = berth(&args);
    let folder = format!("{}/", folder.path().display());
    run.stderr = run.stderr.replace(&folder, "");
    run
}

#[test]
fn printed_defaults_are_a_valid_configuration_that_prints_the_same() {
    let printed = berth(&["config", "print"]);
    assert_eq!(printed.code, 0);
    let again = with_config(&printed.stdout, &["config", "print"]);
    assert_eq!(again.stdout, printed.stdout);
    assert_eq!(with_config(&printed.stdout, &["config", "check"]).code, 0);
}

#[test]
fn json_says_the_same_as_yaml() {
    let json = berth(&["config", "print", "-o", "json"]);
    let again = with_config(&json.stdout, &["config", "print"]);
    assert_eq!(again.stdout, berth(&["config", "print"]).stdout);
}

#[test]
fn everything_that_is_wrong_is_told_with_its_field() {
    let text = format!("{HEADER}parallelism: 0\npodInitialBackoffSeconds: 0\n");
    let run = with_config(&text, &["config", "check"]);
    assert_eq!(run.code, 2);
    let lines: Vec<_> = run.stderr.lines().collect();
    assert!(
        lines[0].starts_with("error: config.yaml:3: parallelism: "),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("error: config.yaml:4: podInitialBackoffSeconds: "),
        "{lines:?}"
    );
}

#[test]
fn what_cannot_be_decoded_is_told_with_its_line() {
    for (text, told) in [
        (
            "profiles:\n- schedulerNames: a\n",
            "config.yaml:4: profiles[0].schedulerNames: unknown field, expected `percentageOfNodesToScore`",
        ),
        (
            "parallelism: 3\nparallelism: 4\n",
            "config.yaml:4: column 1: duplicate",
        ),
        ("parallelism: many\n", "config.yaml:3: parallelism: "),
        ("---\nmore: 1\n", "config.yaml:4: "),
    ] {
        let run = with_config(&format!("{HEADER}{text}"), &["config", "check"]);
        assert_eq!(run.code, 2, "{text}");
        assert!(run.stderr.contains(told), "{text}: {}", run.stderr);
    }
}

/// Row, the configuration after its head, and every line that is told.
const ROWS: [(&str, &str, &[&str]); 34] = [
    (
        "B63",
        "paralellism: 1\n",
        &["config.yaml:3: paralellism: unknown field, expected "],
    ),
    (
        "B63",
        "profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n    args:\n      hardPodAffinityWieght: 1\n",
        &[
            "config.yaml:7: profiles[0].pluginConfig[0].args.hardPodAffinityWieght: decoding args for plugin InterPodAffinity: unknown field, expected ",
        ],
    ),
    (
        "B63",
        "parallelism: 1\nparallelism: 1\n",
        &["config.yaml:4: column 1: duplicate mapping key `parallelism`"],
    ),
    (
        "B64",
        "profiles:\n- plugins:\n    score:\n      enabled:\n      - name: Coscheduling\n",
        &[
            "config.yaml:7: profiles[0].plugins.score.enabled[0]: ScorePlugin \"Coscheduling\" does not exist",
        ],
    ),
    (
        "B64",
        "parallelism: 0\nprofiles:\n- plugins:\n    multiPoint:\n      enabled:\n      - name: Coscheduling\n    filter:\n      enabled:\n      - name: NodeName\n      - name: Nope\n",
        &[
            "config.yaml:3: parallelism: Invalid value: 0: ",
            "config.yaml:12: profiles[0].plugins.filter.enabled[1]: FilterPlugin \"Nope\" does not exist",
            "config.yaml:8: profiles[0].plugins.multiPoint.enabled[0]: PreFilterPlugin \"Coscheduling\" does not exist",
        ],
    ),
    (
        "B64",
        "profiles:\n- plugins: {preFilter: {enabled: [{name: EBSLimits}]}}\n",
        &[
            "config.yaml:4: profiles[0].plugins.preFilter.enabled[0]: Invalid value: \"EBSLimits\": was invalid in version ",
        ],
    ),
    (
        "B64",
        "profiles:\n- plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}\n",
        &[
            "profiles[0].plugins.filter.enabled[1]: plugin \"NodeName\" already registered as \"FilterPlugin\"",
        ],
    ),
    (
        "B64",
        "profiles:\n- pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]\n",
        &["profiles[0].pluginConfig[1]: Duplicate value: \"NodeAffinity\""],
    ),
    (
        "B64",
        "profiles:\n- pluginConfig: [{name: NodeAffinity, args: {kind: VolumeBindingArgs}}]\n",
        &[
            "profiles[0].pluginConfig[0].args.kind: decoding args for plugin NodeAffinity: must be \"NodeAffinityArgs\", got \"VolumeBindingArgs\"",
        ],
    ),
    (
        "B64",
        "profiles:\n- pluginConfig: [{name: Coscheduling, args: {}}]\n",
        &[
            "profiles[0].pluginConfig[0].name: Invalid value: \"Coscheduling\": is not a plugin of Berth",
        ],
    ),
    (
        "B65",
        "profiles:\n- plugins: {queueSort: {enabled: [{name: PrioritySort}, {name: PrioritySort}]}}\n",
        &[
            "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
            "profiles[0].plugins.queueSort.enabled[1]: plugin \"PrioritySort\" already registered",
        ],
    ),
    (
        "B65",
        "profiles:\n- schedulerName: a\n- schedulerName: b\n  plugins: {queueSort: {enabled: [{name: PrioritySort}]}}\n",
        &["config.yaml:6: profiles[1].plugins.queueSort: Invalid value: "],
    ),
    (
        "B65",
        "profiles:\n- schedulerName: a\n- schedulerName: a\n",
        &["config.yaml:5: profiles[1].schedulerName: Duplicate value: "],
    ),
    (
        "B65",
        "profiles:\n- schedulerName: a\n- percentageOfNodesToScore: 5\n",
        &["config.yaml:5: profiles[1].schedulerName: Required value"],
    ),
    (
        "B66",
        "parallelism: 0\n",
        &[
            "config.yaml:3: parallelism: Invalid value: 0: should be an integer value greater than zero",
        ],
    ),
    (
        "B66",
        "percentageOfNodesToScore: 101\n",
        &["percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"],
    ),
    (
        "B66",
        "percentageOfNodesToScore: -1\n",
        &["percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"],
    ),
    (
        "B66",
        "podInitialBackoffSeconds: 0\n",
        &["podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"],
    ),
    (
        "B66",
        "podInitialBackoffSeconds: 9\npodMaxBackoffSeconds: 8\n",
        &["config.yaml:4: podMaxBackoffSeconds: Invalid value: 8: "],
    ),
    (
        "B67",
        "leaderElection: {leaseDuration: 10s}\n",
        &[
            "leaderElection.leaseDuration: Invalid value: \"10s\": must be greater than `RenewDeadline`",
        ],
    ),
    (
        "B67",
        "leaderElection: {renewDeadline: 2400ms}\n",
        &[
            "leaderElection.renewDeadline: Invalid value: \"2.4s\": renewDeadline must be greater than retryPeriod*JitterFactor",
        ],
    ),
    (
        "B67",
        "leaderElection: {retryPeriod: -1s}\n",
        &["leaderElection.retryPeriod: Invalid value: \"-1s\": must be greater than zero"],
    ),
    (
        "B67",
        "leaderElection: {resourceLock: configmaps}\n",
        &[
            "leaderElection.resourceLock: Invalid value: \"configmaps\": resourceLock value must be \"leases\"",
        ],
    ),
    (
        "B68",
        "extenders:\n- urlPrefix: http://a\n  prioritizeVerb: p\n",
        &["extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
    ),
    (
        "B68",
        "extenders: [{urlPrefix: http://a, bindVerb: b}, {urlPrefix: http://b, bindVerb: b}]\n",
        &["config.yaml:3: extenders: Invalid value: \"found 2 extenders implementing bind\": "],
    ),
    (
        "B68",
        "extenders: [{urlPrefix: http://a, managedResources: [{name: cpu}, {name: example.com/a}, {name: example.com/a}]}]\n",
        &[
            "extenders[0].managedResources[0].name: Invalid value: \"cpu\": is an invalid extended resource name",
            "extenders[0].managedResources[2].name: Invalid value: \"example.com/a\": duplicate extender managed resource name",
        ],
    ),
    (
        "B68",
        "extenders: [{urlPrefix: 'ftp://a'}]\n",
        &[
            "extenders[0].urlPrefix: Invalid value: \"ftp://a\": must be an http or https URL with a host",
        ],
    ),
    (
        "B69",
        "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 50, score: 1}, {utilization: 40, score: 11}]}}]}]\n",
        &[
            "args.shape[1].utilization: Invalid value: 40: values must be sorted in increasing order",
            "args.shape[1].score: Invalid value: 11: not in valid range [0, 10]",
        ],
    ),
    (
        "B69",
        "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: -1}, {name: memory, weight: 101}, {name: x, weight: 0}]}}}]}]\n",
        &[
            "resources[0].weight: Invalid value: -1: resource weight of cpu not in valid range (0, 100]",
            "resources[1].weight: Invalid value: 101: resource weight of memory not in valid range (0, 100]",
        ],
    ),
    (
        "B69",
        "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu, weight: 2}]}}]}]\n",
        &["resources[0].weight: Invalid value: 2: must be 1"],
    ),
    (
        "B69",
        "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]}]\n",
        &[
            "args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute",
            "args.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage",
        ],
    ),
    (
        "B69",
        "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]}}]}]\n",
        &[
            "args.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector",
        ],
    ),
    (
        "B69",
        "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]\n",
        &["args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"],
    ),
    (
        "B69",
        "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: -1, score: 1}, {utilization: 101, score: 1}]}}]}]\n",
        &[
            "args.shape[0].utilization: Invalid value: -1: not in valid range [0, 100]",
            "args.shape[1].utilization: Invalid value: 101: not in valid range [0, 100]",
        ],
    ),
];

/// The rows of a number: each is told with file, line and field, and nothing else is.
fn check(row: &str) {
    let mut count = 0;
    for (_, text, told) in ROWS.iter().filter(|(own, ..)| *own == row) {
        count += 1;
        let run = with_config(&format!("{HEADER}{text}"), &["config", "check"]);
        assert_eq!(run.code, 2, "{text}");
        assert_eq!(run.stdout, "", "{text}");
        let lines: Vec<&str> = run.stderr.lines().collect();
        assert_eq!(lines.len(), told.len(), "{text}: {}", run.stderr);
        for (line, told) in lines.iter().zip(*told) {
            assert!(line.starts_with("error: config.yaml:"), "{text}: {line}");
            assert!(line.contains(told), "{text}: {line}");
        }
    }
    assert!(count > 0, "{row} has no rows");
}

macro_rules! rows {
    ($($test:ident $row:literal;)+) => {
        $(#[test] fn $test() { check($row); })+

        #[test]
        fn every_row_has_a_test() {
            for (row, text, _) in ROWS {
                assert!([$($row),+].contains(&row), "{row}: {text}");
            }
        }
    };
}

rows! {
    b63_strict_decoding "B63";
    b64_plugins_and_their_args "B64";
    b65_profiles_and_queue_sort "B65";
    b66_numbers_out_of_range "B66";
    b67_leader_election "B67";
    b68_extenders "B68";
    b69_args_out_of_range "B69";
}

#[test]
fn b63_another_version_or_kind_is_refused() {
    for (text, told) in [
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
            "config.yaml:1: apiVersion: ",
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: Policy\n",
            "config.yaml:2: kind: ",
        ),
        (
            "kind: KubeSchedulerConfiguration\n",
            "config.yaml:1: apiVersion: is missing",
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\n",
            "config.yaml:1: kind: is missing",
        ),
        ("", "config.yaml:1: invalid type: null, expected a map"),
        ("[]\n", "config.yaml:1: invalid type: list, expected a map"),
    ] {
        let run = with_config(text, &["config", "check"]);
        assert_eq!(run.code, 2, "{text}");
        assert!(run.stderr.contains(told), "{text}: {}", run.stderr);
    }
}

#[test]
fn b67_b69_b70_what_means_the_default_is_taken() {
    for text in [
        "",
        "profiles: []\n",
        "profiles: null\n",
        "leaderElection: {leaderElect: false, leaseDuration: 1s, renewDeadline: 5s, resourceLock: x}\n",
        "leaderElection: {leaseDuration: 0s, resourceName: ''}\n",
        "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 0}]}}}]}]\n",
    ] {
        let run = with_config(&format!("{HEADER}{text}"), &["config", "check"]);
        assert_eq!(run.code, 0, "{text}: {}", run.stderr);
        let printed = with_config(&format!("{HEADER}{text}"), &["config", "print"]);
        assert!(
            printed
                .stdout
                .contains("schedulerName: default-scheduler\n"),
            "{text}"
        );
    }
}

#[test]
fn b71_flags_that_do_not_exist_and_values_of_a_wrong_type() {
    for args in [
        &[
            "simulate",
            "-f",
            "cluster.yaml",
            "--feature-gates",
            "X=true",
        ][..],
        &["simulate", "-f", "cluster.yaml", "--seed", "many"],
        &["simulate", "-f", "cluster.yaml", "--ties", "last"],
        &["simulate", "-f", "cluster.yaml", "--preemption=perhaps"],
        &["config", "check", "--confg", "x"],
        &["config", "verify"],
    ] {
        let run = berth(args);
        assert_eq!(run.code, 2, "{args:?}");
        assert_eq!(run.stdout, "", "{args:?}");
        let given = args
            .last()
            .expect("an argument")
            .split('=')
            .next_back()
            .expect("a part");
        let is_named =
            args.iter().any(|arg| run.stderr.contains(arg)) || run.stderr.contains(given);
        assert!(is_named, "{args:?}: {}", run.stderr);
    }
}

#[test]
fn b72_a_configuration_that_is_too_large_is_refused_unread() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.yaml");
    let file = std::fs::File::create(&path).expect("a file is made");
    file.set_len(1 << 30).expect("a hole takes no room");
    let path = path.to_str().expect("the path is UTF-8");
    let run = berth(&["config", "check", "--config", path]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("more than 16 MiB"), "{}", run.stderr);
}

#[test]
fn a_bad_configuration_ends_every_command_with_2() {
    let text = format!("{HEADER}parallelism: 0\n");
    for args in [
        &["config", "print"][..],
        &["simulate", "-f", "cluster.yaml"],
        &["explain", "shop/db-0", "-f", "cluster.yaml"],
    ] {
        let run = with_config(&text, args);
        assert_eq!(run.code, 2, "{args:?}");
        assert_eq!(run.stdout, "", "{args:?}");
        assert!(
            run.stderr.contains("parallelism"),
            "{args:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn b72_a_configuration_that_cannot_be_read_is_named() {
    for file in ["absent.yaml", "."] {
        let run = berth(&["config", "check", "--config", file]);
        assert_eq!(run.code, 2);
        assert!(
            run.stderr.starts_with(&format!("error: {file}: ")),
            "{}",
            run.stderr
        );
    }
}
