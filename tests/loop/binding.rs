//! Reserve, Permit, and what becomes of a binding.

use super::{Course, SECOND, START};
use berth_core::id::{NodeId, PodId};
use berth_core::{
    ApplyError, BindOutcome, Capacities, Change, Hooks, Nomination, Options, Outcome, Permit,
    QueuePart, Reserve, Scheduler,
};
use berth_test_support::object::object;
use berth_test_support::sample::{bound, node, pod};
use serde_json::json;

/// Answers of rules from outside, and what they were told.
struct Rules {
    reserve: Reserve,
    permit: Permit,
    pre_bind: bool,
    told: Vec<&'static str>,
}

impl Rules {
    const fn permit(permit: Permit) -> Self {
        Self {
            reserve: Reserve::Done,
            permit,
            pre_bind: false,
            told: Vec::new(),
        }
    }
}

impl Hooks for Rules {
    fn reserve(&mut self, scheduler: &Scheduler, pod: PodId, node: NodeId) -> Reserve {
        assert_eq!(scheduler.node_of(pod), Some(node));
        self.told.push("reserve");
        self.reserve
    }

    fn unreserve(&mut self, _: &Scheduler, _: PodId, _: NodeId) {
        self.told.push("unreserve");
    }

    fn permit(&mut self, _: &Scheduler, _: PodId, _: NodeId) -> Permit {
        self.told.push("permit");
        self.permit
    }

    fn has_pre_bind(&mut self, _: &Scheduler, _: PodId, _: NodeId) -> bool {
        self.pre_bind
    }
}

/// One node, one pod, and the state before it was tried.
fn course() -> (Course, PodId, u64) {
    let mut course = Course::new(&[("Node", node("a", json!({})))]);
    let id = course.replay.add_pod(&pod("p", json!({})));
    let before = course.replay.scheduler.state_hash();
    (course, id, before)
}

fn turn(course: &mut Course, rules: &mut Rules) -> Outcome {
    course.now += 1_000_000;
    let scheduler = &mut course.replay.scheduler;
    let decision = scheduler.schedule_one_with(course.now, rules);
    decision.expect("a pod waits").outcome
}

#[test]
fn a_pod_at_permit_keeps_its_place_until_it_is_allowed_and_bound() {
    let (mut course, id, before) = course();
    let mut rules = Rules::permit(Permit::Wait(10 * SECOND));
    course.now += 1_000_000;
    let scheduler = &mut course.replay.scheduler;
    let decision = scheduler.schedule_one_with(course.now, &mut rules);
    let decision = decision.expect("a pod waits");
    assert_eq!(decision.outcome, Outcome::Scheduled(NodeId(0)));
    assert_eq!(decision.nomination, Nomination::Node(NodeId(0)));
    assert_eq!(rules.told, ["reserve", "permit"]);
    let scheduler = &mut course.replay.scheduler;
    assert_eq!(scheduler.queue_part(id), Some(QueuePart::Permit));
    assert_eq!(scheduler.queue_counts().in_flight, 1);
    assert_ne!(scheduler.state_hash(), before);
    assert!(!scheduler.bound(id, BindOutcome::Bound, course.now));
    assert!(scheduler.allow(id));
    assert!(!scheduler.allow(id));
    assert_eq!(scheduler.queue_part(id), Some(QueuePart::Binding));
    assert!(scheduler.bound(id, BindOutcome::Bound, course.now));
    assert_eq!(scheduler.queue_part(id), None);
    course.apply(Change::Modified, "Pod", &bound("p", "a", json!({})));
    assert!(course.replay.scheduler.node_of(id).is_some());
}

#[test]
fn a_pod_rejected_at_permit_comes_back_where_the_events_since_then_send_it() {
    for (news, part) in [
        (false, QueuePart::Unschedulable),
        (true, QueuePart::Backoff),
    ] {
        let (mut course, id, before) = course();
        let mut rules = Rules::permit(Permit::Wait(10 * SECOND));
        turn(&mut course, &mut rules);
        let mut expected = before;
        if news {
            course.replay.add("Pod", &bound("other", "a", json!({})));
            course.replay.remove_pod(&bound("other", "a", json!({})));
            expected = before;
        }
        assert!(course.replay.scheduler.reject(id));
        let scheduler = &course.replay.scheduler;
        assert_eq!(scheduler.queue_part(id), Some(part), "with news: {news}");
        assert_eq!(scheduler.state_hash(), expected);
        assert_eq!(scheduler.queue_counts().in_flight, 0);
    }
}

#[test]
fn waiting_at_permit_ends_in_time() {
    let (mut course, id, before) = course();
    let mut rules = Rules::permit(Permit::Wait(10 * SECOND));
    turn(&mut course, &mut rules);
    course.wait(10 * SECOND - 1);
    let part = |course: &Course| course.replay.scheduler.queue_part(id);
    assert_eq!(part(&course), Some(QueuePart::Permit));
    assert_eq!(course.replay.scheduler.next_timer(), Some(course.now + 1));
    course.wait(1);
    assert_eq!(part(&course), Some(QueuePart::Unschedulable));
    assert_eq!(course.replay.scheduler.state_hash(), before);
    // Never longer than 15 minutes.
    course.replay.scheduler.activate(id);
    rules.permit = Permit::Wait(u64::MAX);
    turn(&mut course, &mut rules);
    course.wait(15 * 60 * SECOND);
    assert_ne!(part(&course), Some(QueuePart::Permit));
}

/// B100: neither room nor nomination stays.
#[test]
fn a_refusal_at_reserve_or_permit_leaves_nothing_behind() {
    let cases = [
        (Reserve::Rejected, Permit::Allow, QueuePart::Unschedulable),
        (Reserve::Failed, Permit::Allow, QueuePart::Backoff),
        (Reserve::Done, Permit::Rejected, QueuePart::Unschedulable),
        (Reserve::Done, Permit::Failed, QueuePart::Backoff),
    ];
    for (reserve, permit, part) in cases {
        let (mut course, id, before) = course();
        let mut rules = Rules::permit(permit);
        rules.reserve = reserve;
        let outcome = turn(&mut course, &mut rules);
        assert!(!matches!(outcome, Outcome::Scheduled(_)));
        assert_eq!(rules.told.last(), Some(&"unreserve"));
        assert_eq!(course.replay.scheduler.queue_part(id), Some(part));
        assert_eq!(course.replay.scheduler.state_hash(), before);
    }
}

/// B110: whatever became of the pod meanwhile.
#[test]
fn a_binding_that_fails_frees_the_room_and_wakes_others() {
    let (mut course, id, _) = course();
    let container = json!({"name": "c", "resources": {"requests": {"cpu": "4"}}});
    let big = pod("big", json!({"spec": {"containers": [container]}}));
    course.turn();
    let other = course.replay.add_pod(&big);
    course.turn();
    let part = |course: &Course, id| course.replay.scheduler.queue_part(id);
    assert_eq!(part(&course, other), Some(QueuePart::Unschedulable));
    let scheduler = &mut course.replay.scheduler;
    assert!(scheduler.bound(id, BindOutcome::Failed, course.now));
    assert_eq!(part(&course, id), Some(QueuePart::Backoff));
    assert_eq!(part(&course, other), Some(QueuePart::Backoff));
    // A rejected pod's backoff is cut short, that of an error is not.
    assert_eq!(course.turn().map(|decision| decision.pod), Some(other));
    assert_eq!(course.turn(), None);
}

/// B119: one step ends it.
#[test]
fn an_unknown_outcome_keeps_the_room_until_the_pod_is_seen() {
    let (mut course, id, _) = course();
    course.turn();
    let held = course.replay.scheduler.state_hash();
    let scheduler = &mut course.replay.scheduler;
    assert!(scheduler.bound(id, BindOutcome::Unknown, course.now));
    assert_eq!(scheduler.state_hash(), held);
    assert_eq!(scheduler.queue_part(id), Some(QueuePart::Binding));
    course.apply(Change::Modified, "Pod", &bound("p", "a", json!({})));
    assert_eq!(course.replay.scheduler.queue_part(id), None);
    assert!(
        !course
            .replay
            .scheduler
            .bound(id, BindOutcome::Failed, course.now)
    );
}

#[test]
fn a_pod_deleted_while_it_is_bound_is_gone_for_good() {
    let (mut course, id, _) = course();
    course.turn();
    course.replay.remove_pod(&pod("p", json!({})));
    assert!(
        !course
            .replay
            .scheduler
            .bound(id, BindOutcome::Failed, course.now)
    );
    let empty = Course::new(&[("Node", node("a", json!({})))]);
    assert_eq!(
        course.replay.scheduler.state_hash(),
        empty.replay.scheduler.state_hash()
    );
    assert_eq!(course.turn(), None);
}

#[test]
fn an_update_of_an_assumed_pod_is_no_news() {
    let (mut course, id, _) = course();
    course.turn();
    let other = course
        .replay
        .add_pod(&pod("q", json!({"spec": {"nodeSelector": {"x": "y"}}})));
    course.turn();
    let container = json!({"name": "c", "resources": {"requests": {"cpu": "2"}}});
    let changed = pod("p", json!({"spec": {"containers": [container]}}));
    course.apply(Change::Modified, "Pod", &changed);
    let scheduler = &course.replay.scheduler;
    assert_eq!(scheduler.queue_part(id), Some(QueuePart::Binding));
    assert_eq!(scheduler.queue_part(other), Some(QueuePart::Unschedulable));
    let node = scheduler.node_of(id).expect("it is assumed");
    let cpu = scheduler.node(node).resources().next();
    assert_eq!(cpu, Some(("cpu", 2000, 4000)));
}

#[test]
fn a_full_table_of_events_refuses_the_change() {
    // One change makes up to eight events; room for as many must be left.
    let few_events = Capacities {
        in_flight_events: 9,
        ..Capacities::for_size(64, 8)
    };
    let few_words = Capacities {
        event_words: 400,
        ..Capacities::for_size(64, 8)
    };
    for (capacities, which) in [(few_events, "in_flight_events"), (few_words, "event_words")] {
        let config = berth_core::object::config::KubeSchedulerConfiguration::default();
        let scheduler = Scheduler::new(&config, Options::default(), capacities);
        let mut scheduler = scheduler.unwrap_or_else(|error| panic!("{error}"));
        scheduler.advance(START);
        let add = |scheduler: &mut Scheduler, kind, json| {
            scheduler.apply(Change::Added, &object(kind, &json))
        };
        add(&mut scheduler, "Node", node("a", json!({}))).expect("room");
        add(&mut scheduler, "Pod", pod("p", json!({}))).expect("room");
        let mut rules = Rules::permit(Permit::Wait(SECOND));
        let decision = scheduler.schedule_one_with(START + 1, &mut rules);
        let id = decision.expect("a pod waits").pod;
        for name in ["b", "c"] {
            add(&mut scheduler, "Node", node(name, json!({}))).expect("room");
        }
        let mut names = (0..20).map(|index| format!("n{index}"));
        let mut before = scheduler.state_hash();
        let refused = names.find_map(|name| {
            before = scheduler.state_hash();
            let added = add(&mut scheduler, "Node", node(&name, json!({})));
            added.err().map(|error| (name, error))
        });
        let (name, error) = refused.expect("a refusal");
        for error in [
            Err(error),
            add(&mut scheduler, "Node", node(&name, json!({}))),
        ] {
            match error {
                Err(ApplyError::Capacity(full)) => assert_eq!(full.which, which),
                other => panic!("{which}: {other:?}"),
            }
            assert_eq!(scheduler.state_hash(), before, "{which}");
        }
        assert!(scheduler.allow(id));
        add(&mut scheduler, "Node", node(&name, json!({}))).expect("nobody needs events now");
    }
}

#[test]
fn another_pod_under_the_name_is_new_whatever_the_old_one_was_about() {
    let of = |uid: &str| pod("p", json!({"metadata": {"uid": uid}}));
    for permit in [Permit::Allow, Permit::Wait(10 * SECOND)] {
        let mut course = Course::new(&[("Node", node("a", json!({}))), ("Pod", of("old"))]);
        let id = course.id("p");
        let before = course.replay.scheduler.state_hash();
        turn(&mut course, &mut Rules::permit(permit));
        course.apply(Change::Modified, "Pod", &of("new"));
        let scheduler = &mut course.replay.scheduler;
        assert_eq!(scheduler.queue_part(id), Some(QueuePart::Active));
        assert_eq!(scheduler.node_of(id), None);
        assert_eq!(scheduler.attempts(id), 0);
        assert_eq!(scheduler.queue_counts().in_flight, 0);
        // The old one's binding is nobody's.
        assert!(!scheduler.bound(id, BindOutcome::Bound, course.now));
        course.apply(Change::Modified, "Pod", &of("old"));
        assert_eq!(course.replay.scheduler.state_hash(), before);
    }
}

#[test]
fn a_pod_keeps_waiting_for_the_node_that_it_was_assumed_on() {
    let (mut course, id, _) = course();
    turn(&mut course, &mut Rules::permit(Permit::Allow));
    let scheduler = &mut course.replay.scheduler;
    assert!(scheduler.bound(id, BindOutcome::Unknown, course.now));
    course.apply(Change::Deleted, "Node", &node("a", json!({})));
    // An update that was on its way does not say that it was not bound.
    let labelled = pod("p", json!({"metadata": {"labels": {"a": "b"}}}));
    course.apply(Change::Modified, "Pod", &labelled);
    course.replay.add("Node", &node("a", json!({})));
    let scheduler = &mut course.replay.scheduler;
    assert_eq!(scheduler.node_of(id), scheduler.find_node("a"));
    assert_eq!(scheduler.queue_part(id), Some(QueuePart::Binding));
    assert!(scheduler.bound(id, BindOutcome::Failed, course.now));
    assert_eq!(scheduler.node_of(id), None);
    assert_eq!(scheduler.queue_part(id), Some(QueuePart::Backoff));
}

/// Lets pods of these names wait at Permit.
struct Waits<'a>(&'a [&'a str]);

impl Hooks for Waits<'_> {
    fn permit(&mut self, scheduler: &Scheduler, pod: PodId, _: NodeId) -> Permit {
        if self.0.contains(&scheduler.pod_name(pod).1) {
            Permit::Wait(100 * SECOND)
        } else {
            Permit::Allow
        }
    }
}

#[test]
fn an_event_that_a_full_table_cannot_keep_counts_as_heard() {
    let capacities = Capacities {
        in_flight_events: 8,
        ..Capacities::for_size(16, 64)
    };
    let config = berth_core::object::config::KubeSchedulerConfiguration::default();
    let scheduler = Scheduler::new(&config, Options::default(), capacities);
    let mut scheduler = scheduler.expect("a valid configuration");
    scheduler.advance(START);
    let apply = |scheduler: &mut Scheduler, kind: &str, json| {
        let applied = scheduler.apply(Change::Added, &object(kind, &json));
        applied.unwrap_or_else(|error| panic!("{error}"));
    };
    let large = json!({"status": {"allocatable": {"cpu": "40", "pods": "40"}}});
    apply(&mut scheduler, "Node", node("a", large));
    let names: Vec<String> = (0..9).map(|number| format!("p{number}")).collect();
    let all = ["first"]
        .into_iter()
        .chain(names.iter().map(String::as_str));
    for (at, name) in all.chain(["last"]).enumerate() {
        let priority = 20 - i32::try_from(at).expect("a few pods");
        apply(
            &mut scheduler,
            "Pod",
            pod(name, json!({"spec": {"priority": priority}})),
        );
    }
    let turns = |scheduler: &mut Scheduler, count: usize| {
        for _ in 0..count {
            let decision = scheduler.schedule_one_with(START, &mut Waits(&["first", "last"]));
            let outcome = decision.expect("a pod waits").outcome;
            assert_eq!(outcome, Outcome::Scheduled(NodeId(0)));
        }
    };
    // The first one holds the table while eight bindings fail, which fills it.
    turns(&mut scheduler, 10);
    let id = |scheduler: &Scheduler, name: &str| {
        let id = scheduler.find_pod("default", name);
        id.unwrap_or_else(|| panic!("{name} is not there"))
    };
    for name in &names[..8] {
        let id = id(&scheduler, name);
        assert!(scheduler.bound(id, BindOutcome::Failed, START));
    }
    turns(&mut scheduler, 1);
    let ninth = id(&scheduler, &names[8]);
    assert!(scheduler.bound(ninth, BindOutcome::Failed, START));
    let last = id(&scheduler, "last");
    assert!(scheduler.reject(last));
    assert_eq!(scheduler.queue_part(last), Some(QueuePart::Backoff));
}
