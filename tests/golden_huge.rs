//! Quantities near and beyond 64 bits, where kube-scheduler's integers overflow and Berth's
//! saturate (bad inputs B1 to B10): what Berth says is judged by exact arithmetic on the texts of
//! the inputs.

use berth_core::plugins::Plugin;
use berth_test_support::answer::Answer;
use berth_test_support::exact::{Mode, Room};
use berth_test_support::golden::scenarios;
use berth_test_support::replay::{Replay, VERDICTS};
use serde_json::Value;

/// Places the pods of every scenario and hands each answer to `judge`, with the exact room before
/// the pod was placed.
fn judge_all(judge: impl Fn(&str, &Value, &Answer, &Room)) {
    let mut judged = 0;
    for scenario in scenarios("random-resources-huge") {
        let mut room = Room::of(&scenario.input);
        let mut replay = Replay::of(&scenario, VERDICTS);
        for pod in &scenario.input.pods_in_order {
            let id = replay.add_pod(pod);
            let decision = replay.scheduler.schedule(id);
            let answer = replay.answer(&decision);
            judge(&scenario.name, pod, &answer, &room);
            match &answer.node {
                Some(node) => room.place(pod, Mode::Spec, node),
                None => replay.remove_pod(pod),
            }
            judged += 1;
        }
    }
    assert_eq!(judged, 779);
    println!("random-resources-huge: {judged} answers hold");
}

#[test]
fn no_pod_is_placed_where_its_exact_request_exceeds_what_is_free() {
    judge_all(|scenario, pod, answer, room| {
        if let Some(node) = &answer.node {
            let shortages = room.shortages(pod, node);
            assert!(
                shortages.is_empty(),
                "{scenario} {} on {node}: {shortages:?}",
                answer.pod
            );
        }
    });
}

#[test]
fn each_node_is_refused_for_exactly_the_resources_that_are_short() {
    judge_all(|scenario, pod, answer, room| {
        for node in room.nodes() {
            let shortages = room.shortages(pod, node);
            let refusal = match answer.rejected.get(node).map(Vec::as_slice) {
                None => &[],
                Some([plugin, reasons @ ..]) if plugin == "NodeResourcesFit" => reasons,
                Some(other) => panic!("{scenario} {} on {node}: {other:?}", answer.pod),
            };
            assert_eq!(refusal, shortages, "{scenario} {} on {node}", answer.pod);
        }
    });
}

#[test]
fn no_attempt_fails_and_no_score_leaves_its_range() {
    judge_all(|scenario, _, answer, _| {
        let what = format!("{scenario} {}", answer.pod);
        assert!(
            matches!(answer.result.as_str(), "scheduled" | "unschedulable"),
            "{what}: {} {:?}",
            answer.result,
            answer.error
        );
        for score in answer.scores.iter().flatten() {
            let sum: i64 = score.plugins.values().sum();
            assert_eq!(score.total, sum, "{what} on {}", score.node);
            for (name, value) in &score.plugins {
                let plugin = Plugin::from_name(name).expect("a plugin's name");
                let most = 100 * i64::from(plugin.default_weight().max(1));
                assert!(
                    (0..=most).contains(value),
                    "{what} on {}: {name} {value}",
                    score.node
                );
            }
        }
    });
}

#[test]
fn the_best_total_is_taken_and_of_equals_the_first_name() {
    judge_all(|scenario, _, answer, _| {
        let Some(scores) = &answer.scores else {
            return;
        };
        let best = scores.iter().map(|score| score.total).max();
        let ties: Vec<&String> = scores
            .iter()
            .filter(|score| Some(score.total) == best)
            .map(|score| &score.node)
            .collect();
        let what = format!("{scenario} {}", answer.pod);
        assert_eq!(answer.node.as_ref(), ties.first().copied(), "{what}");
        assert_eq!(
            answer.ties.iter().flatten().collect::<Vec<_>>(),
            ties,
            "{what}"
        );
    });
}
