//! `berth explain`.

use crate::run::{Run, berth};

fn explain(pod: &str, flags: &[&str]) -> Run {
    let mut args = vec!["explain", pod, "-f", "cluster.yaml", "-f", "workloads.yaml"];
    args.extend(flags);
    berth(&args)
}

#[test]
fn every_node_has_a_verdict_in_every_form() {
    for form in ["table", "wide", "json", "jsonl", "yaml", "csv", "name"] {
        let run = explain("shop/web-0", &["-o", form]);
        assert_eq!(run.code, 0, "{form}");
        insta::assert_snapshot!(format!("explain_{form}"), run.stdout);
    }
}

#[test]
fn a_bound_pod_is_judged_as_if_it_were_not_and_its_node_is_marked() {
    let run = explain("shop/db-0", &[]);
    assert_eq!(run.code, 0);
    insta::assert_snapshot!("explain_bound", run.stdout);
}

#[test]
fn a_pod_that_fits_nowhere_ends_with_1() {
    let run = explain("huge", &[]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!("explain_unschedulable", run.stdout);
}

#[test]
fn a_gated_pod_ends_with_1() {
    let run = explain("default/later", &[]);
    assert_eq!(
        run.stdout,
        "default/later was not judged: has scheduling gates.\n"
    );
    assert_eq!(run.code, 1);
}

#[test]
fn a_pod_that_is_not_there_ends_with_2_and_names_its_namesakes() {
    let run = explain("trainer", &[]);
    assert_eq!(run.code, 2);
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr.contains("no pod default/trainer"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("there is shop/trainer"),
        "{}",
        run.stderr
    );
}

#[test]
fn other_pending_pods_take_no_room() {
    let run = explain("important", &["-o", "name"]);
    assert_eq!(run.stdout, "worker-a\n");
}
