//! Faults that users met in the queue, in preemption and in nominations: `cases/bug_courses.yaml`, a
//! test a report.
//!
//! Those that need a hook or an outcome of a binding are in `loop/`; those of watches and relists in
//! `simulation/`.

use berth_test_support::course_tests;

course_tests! {
    "bug_courses.yaml";
    b012_a_pods_own_request_shrinks "B012";
    b038_a_pod_leaves_whose_rule_kept_another_away "B038";
    b039_a_pods_own_label_changes "B039";
    b047_a_nominated_pod_outside_the_affinity "B047";
    b054_a_pods_own_toleration_comes "B054";
    b080_two_preemptors_and_one_budget "B080";
    b084_a_skipped_plugin_stays_skipped "B084";
    b090_no_second_preemption_while_one_runs "B090";
    b091_a_victim_that_is_leaving_already "B091";
    b095_the_later_of_equal_pods_goes "B095";
    b097_the_nominated_node_is_deleted "B097";
    b098_a_nomination_ends_with_its_pod "B098";
    b099_a_nominated_place_is_kept "B099";
    b105_a_node_goes_and_comes_in_every_order "B105";
    b106_five_minutes_without_an_event "B106";
    b108_heartbeats_wake_nobody "B108";
    b112_a_pod_that_goes_before_its_turn "B112";
    b113_a_pod_that_backs_off_has_a_timer "B113";
    b157_one_free_node_and_one_victim "B157";
}
