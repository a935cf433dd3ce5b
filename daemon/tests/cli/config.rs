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
fn a_configuration_that_cannot_be_read_is_named() {
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
