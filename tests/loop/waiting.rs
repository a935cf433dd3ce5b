//! What waits, for how long, and what is dropped.

use super::{Course, SECOND};
use berth_core::{AttemptError, Change, Outcome, QueuePart};
use berth_test_support::sample::{node, pod};
use serde_json::json;

#[test]
fn a_pod_is_tried_again_after_five_minutes_without_any_event() {
    let mut course = Course::new(&[("Node", node("a", json!({"spec": {"unschedulable": true}})))]);
    course.replay.add("Pod", &pod("p", json!({})));
    let id = course.id("p");
    let decision = course.turn().expect("a pod waits");
    assert_eq!(
        (decision.outcome, decision.attempt),
        (Outcome::Unschedulable, 1)
    );
    course.wait(300 * SECOND);
    let part = course.replay.scheduler.queue_part(id);
    assert_eq!(part, Some(QueuePart::Unschedulable));
    let next = course.replay.scheduler.next_timer().expect("a timer");
    assert!(next > course.now && next <= course.now + 30 * SECOND);
    course.wait(30 * SECOND);
    let part = course.replay.scheduler.queue_part(id);
    assert_eq!(part, Some(QueuePart::Active));
    assert_eq!(course.turn().map(|decision| decision.attempt), Some(2));
}

#[test]
fn pods_that_met_no_node_back_off_and_are_not_tried_early() {
    let mut course = Course::new(&[]);
    course.replay.add("Pod", &pod("p", json!({})));
    let decision = course.turn().expect("a pod waits");
    assert_eq!(decision.outcome, Outcome::Error(AttemptError::NoNodes));
    course.replay.add("Node", &node("a", json!({})));
    assert!(!course.replay.scheduler.has_ready());
    assert_eq!(course.turn(), None);
    course.wait(2 * SECOND);
    let placed = course.turn().map(|decision| decision.outcome);
    assert!(matches!(placed, Some(Outcome::Scheduled(_))));
}

#[test]
fn a_pod_that_is_being_deleted_is_dropped() {
    let mut course = Course::new(&[("Node", node("a", json!({})))]);
    let going = json!({"metadata": {"deletionTimestamp": "2000-01-01T00:00:00Z"}});
    course.replay.add("Pod", &pod("p", going));
    let decision = course.turn().expect("a pod waits");
    assert_eq!(decision.outcome, Outcome::Error(AttemptError::Deleting));
    assert_eq!(decision.reason(), None);
    assert_eq!(course.replay.scheduler.queue_part(decision.pod), None);
}

#[test]
fn an_unsupported_pod_is_dropped_until_it_changes() {
    let mut course = Course::new(&[("Node", node("a", json!({})))]);
    let claim = json!({"spec": {"resourceClaims": [{"name": "c"}]}});
    course.replay.add("Pod", &pod("p", claim));
    let decision = course.turn().expect("a pod waits");
    assert!(matches!(decision.outcome, Outcome::Unsupported(_)));
    assert_eq!(course.turn(), None);
    course.replay.add("Node", &node("b", json!({})));
    assert_eq!(course.turn(), None);
    course.apply(Change::Modified, "Pod", &pod("p", json!({})));
    let placed = course
        .turn()
        .map(|decision| (decision.outcome, decision.attempt));
    assert!(matches!(placed, Some((Outcome::Scheduled(_), 1))));
}

#[test]
fn a_pod_that_the_caller_places_leaves_the_queue() {
    let mut course = Course::new(&[("Node", node("a", json!({})))]);
    let id = course.replay.add_pod(&pod("p", json!({})));
    assert_eq!(course.replay.scheduler.queue_counts().active, 1);
    let decision = course.replay.scheduler.schedule(id);
    assert!(matches!(decision.outcome, Outcome::Scheduled(_)));
    assert_eq!(course.replay.scheduler.queue_counts().active, 0);
    course.replay.scheduler.forget(id);
    assert_eq!(course.replay.scheduler.queue_counts().active, 1);
    // The same of one that the loop placed.
    let decision = course.turn().expect("a pod waits");
    let part = |course: &Course| course.replay.scheduler.queue_part(id);
    assert_eq!(part(&course), Some(QueuePart::Binding));
    course.replay.scheduler.forget(decision.pod);
    assert_eq!(part(&course), Some(QueuePart::Active));
}

#[test]
fn the_latest_time_of_all_can_be_said() {
    let mut course = Course::new(&[("Node", node("a", json!({"spec": {"unschedulable": true}})))]);
    course.replay.add("Pod", &pod("p", json!({})));
    let id = course.id("p");
    course.turn().expect("a pod waits");
    let scheduler = &mut course.replay.scheduler;
    scheduler.advance(u64::MAX);
    assert_eq!(scheduler.queue_part(id), Some(QueuePart::Active));
    // It fails again, so that the timer that is left is set as well.
    let decision = scheduler.schedule_one(u64::MAX).expect("a pod waits");
    assert_eq!((decision.pod, decision.attempt), (id, 2));
    scheduler.advance(u64::MAX);
    assert_eq!(scheduler.queue_part(id), Some(QueuePart::Unschedulable));
}
