//! Help, version and completions.

use crate::run::berth;

#[test]
fn help_fits_80_columns() {
    for (name, args) in [
        ("help", &["--help"][..]),
        ("help_simulate", &["simulate", "--help"]),
        ("help_explain", &["explain", "--help"]),
        ("help_run", &["run", "--help"]),
        ("help_config", &["config", "print", "--help"]),
    ] {
        let run = berth(args);
        assert_eq!(run.code, 0);
        for line in run.stdout.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        insta::assert_snapshot!(name, run.stdout);
    }
}

#[test]
fn version_is_the_package_s() {
    let run = berth(&["--version"]);
    assert_eq!(
        run.stdout,
        concat!("berth ", env!("CARGO_PKG_VERSION"), "\n")
    );
    assert_eq!(run.code, 0);
}

#[test]
fn every_shell_gets_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = berth(&["completion", shell]);
        assert_eq!(run.code, 0, "{shell}");
        assert!(run.stdout.contains("skip-invalid"), "{shell}");
    }
}

#[test]
fn wrong_use_ends_with_2_and_says_why() {
    for (args, why) in [
        (&[][..], "Usage"),
        (&["simulate"], "--filename"),
        (
            &["simulate", "-f", "cluster.yaml", "--ties", "x"],
            "first-name",
        ),
        (&["simulate", "-f", "cluster.yaml", "--seed", "x"], "--seed"),
        (
            &["simulate", "-f", "cluster.yaml", "--attempts"],
            "--attempts",
        ),
        (&["explain", "-f", "cluster.yaml"], "<POD>"),
        (&["completion", "tcsh"], "tcsh"),
        (
            &[
                "simulate",
                "-f",
                "cluster.yaml",
                "--order",
                "file",
                "--preemption",
            ],
            "--order queue",
        ),
        (
            &[
                "explain",
                "default/huge",
                "-f",
                "cluster.yaml",
                "--preemption=true",
            ],
            "leave it out",
        ),
        (
            &["simulate", "--trace", "cluster.yaml", "--order", "file"],
            "--trace",
        ),
    ] {
        let run = berth(args);
        assert_eq!(run.code, 2, "{args:?}");
        assert_eq!(run.stdout, "", "{args:?}");
        assert!(run.stderr.contains(why), "{args:?}: {}", run.stderr);
    }
}
