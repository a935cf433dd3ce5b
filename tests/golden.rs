//! kube-scheduler's verdicts, replayed through the core: node, feasible nodes, refusals with their
//! reasons, scores by plugin, totals, ties and message, pod by pod.
//!
//! Each set is replayed twice: once with the pods where Berth puts them, once with each pod put
//! where kube-scheduler put it, which shows the plugin that differs when something does.

use berth_test_support::answer::Answer;
use berth_test_support::golden::{Scenario, Verdict, scenarios};
use berth_test_support::replay::{Replay, VERDICTS};
use berth_test_support::tally::Tally;
use serde_json::Value;

/// Replays a set with `answer_one`, which takes one pod through the cluster and returns in what
/// its answer differs.
fn replay(
    set: &str,
    verdicts: usize,
    placed: usize,
    answer_one: fn(&mut Replay, &Value, &Verdict) -> Answer,
) {
    let mut tally = Tally::of(set);
    let mut chosen = 0;
    for scenario in scenarios(set) {
        let mut replay = Replay::of(&scenario, VERDICTS);
        for (pod, verdict) in exact_part(&scenario) {
            let answer = answer_one(&mut replay, pod, verdict);
            tally.count(&scenario.name, &verdict.pod, &answer.differences(verdict));
            chosen += usize::from(verdict.chosen.is_some());
        }
    }
    tally.finish(verdicts);
    assert_eq!(chosen, placed, "the set {set} is not whole");
}

/// The pods up to the first whose verdict rests on integers that overflowed; what Berth says from
/// there on is judged by `golden_huge.rs`.
fn exact_part(scenario: &Scenario) -> impl Iterator<Item = (&Value, &Verdict)> {
    let pods = scenario.input.pods_in_order.iter();
    pods.zip(&scenario.verdicts)
        .take_while(|(_, verdict)| !verdict.wraps && verdict.error.is_none())
}

macro_rules! sets {
    ($($name:ident $set:literal $verdicts:literal $placed:literal;)+) => {
        mod pods_go_where_berth_puts_them {
            $(#[test]
            fn $name() {
                super::replay($set, $verdicts, $placed, |replay, pod, _| replay.schedule(pod));
            })+
        }
        mod pods_go_where_kube_scheduler_put_them {
            $(#[test]
            fn $name() {
                super::replay($set, $verdicts, $placed, super::Replay::evaluate_and_follow);
            })+
        }
    };
}

sets! {
    hypershift "hypershift-13nodes" 142 142;
    platform_mix "platform-mix-12nodes" 324 222;
    dsb "dsb-6nodes" 108 96;
    openb "openb-gpuspec33-120nodes" 1400 1233;
    random "random-120-scenarios" 2593 1681;
    random_config "random-config" 1260 855;
    random_resources "random-resources" 1527 852;
    random_volumes "random-volumes" 1295 877;
    random_resources_huge "random-resources-huge" 107 62;
}
