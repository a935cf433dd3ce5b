//! The queue against its naive twin: the same parts as plain lists that are searched whole.

use super::event::{Event, PodSide, Resource, Side, action};
use super::{Durations, Item, Place, PluginSet, Queue, Rules};
use crate::id::{ClassId, PodId};
use crate::intern::{Texts, Word};
use crate::plugins::Plugin;
use alloc::vec::Vec;
use core::cmp::Reverse;
use proptest::prelude::*;

const PODS: u32 = 24;
const CLASSES: u32 = 5;
const SECOND: u64 = 1_000_000_000;
const DURATIONS: Durations = Durations {
    initial: SECOND,
    longest: 4 * SECOND,
    longest_wait: 20 * SECOND,
};

/// Answers of plugins that are made up from what is asked.
#[derive(Clone, Default)]
struct Made {
    gated: [bool; CLASSES as usize],
    class: Vec<u32>,
}

impl Rules for Made {
    fn gate(&self, pod: PodId, _: &Item, is_preempting: bool) -> Option<Plugin> {
        let class = self.class.get(pod.index()).copied().unwrap_or(0);
        if self.gated[class as usize] {
            return Some(Plugin::SchedulingGates);
        }
        is_preempting.then_some(Plugin::DefaultPreemption)
    }

    fn hint(&self, plugin: Plugin, class: ClassId, _: Word, event: &Event<'_>) -> bool {
        let salt = event.pods().1.map_or(0, |pod| pod.class.0);
        let mixed = plugin as u32 * 7 + class.0 * 3 + salt * 5 + u32::from(event.action);
        !mixed.is_multiple_of(3)
    }
}

/// The naive twin.
#[derive(Default)]
struct Naive {
    pods: Vec<Option<Entry>>,
    events: Vec<(Resource, u16, u32)>,
    now: u64,
}

#[derive(Clone)]
struct Entry {
    place: Place,
    class: u32,
    priority: i32,
    timestamp: u64,
    attempts: u32,
    rejections: u32,
    errors: u32,
    expiry: u64,
    flushed: u64,
    rejectors: PluginSet,
    gating: Option<Plugin>,
    since: usize,
}

fn event(resource: Resource, action: u16, salt: u32) -> Event<'static> {
    Event {
        resource,
        action,
        old: Side::None,
        new: Side::Pod(PodSide {
            pod: PodId(u32::MAX),
            class: ClassId(salt),
            is_placed: true,
        }),
    }
}

impl Naive {
    fn at(&mut self, pod: u32) -> &mut Entry {
        self.pods[pod as usize].as_mut().expect("a known pod")
    }

    fn worth(rules: &Made, entry: &Entry, (resource, action, salt): (Resource, u16, u32)) -> bool {
        let event = event(resource, action, salt);
        entry.rejectors.is_empty()
            || entry.rejectors.iter().any(|plugin| {
                event.readers().contains(plugin)
                    && rules.hint(plugin, ClassId(entry.class), 0, &event)
            })
    }

    /// To the active part, or to backoff, or held.
    fn requeue(&mut self, rules: &Made, pod: u32, at_once: bool) {
        let now = self.now;
        let entry = self.at(pod);
        let window = now / SECOND * SECOND;
        entry.gating = None;
        if rules.gated[entry.class as usize] {
            entry.gating = Some(Plugin::SchedulingGates);
            entry.rejectors.insert(Plugin::SchedulingGates);
            entry.place = Place::Waiting;
        } else if !at_once && entry.expiry > 0 && entry.expiry >= window {
            entry.place = if entry.rejectors.is_empty() {
                Place::Errors
            } else {
                Place::Backoff
            };
        } else {
            entry.place = Place::Active;
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let in_place = |place: Place| {
            let pods = self.pods.iter().enumerate();
            pods.filter_map(move |(at, pod)| Some((at as u32, pod.as_ref()?)))
                .filter(move |(_, pod)| pod.place == place)
        };
        let order = |pod: &Entry| (Reverse(pod.priority), pod.timestamp);
        let active = in_place(Place::Active).min_by_key(|(_, pod)| order(pod));
        let next = active
            .or_else(|| in_place(Place::Backoff).min_by_key(|(_, pod)| (pod.expiry, order(pod))))?;
        let pod = next.0;
        let since = self.events.len();
        let entry = self.at(pod);
        entry.place = Place::InFlight;
        entry.attempts += 1;
        entry.since = since;
        Some(pod)
    }

    fn fail(&mut self, rules: &Made, pod: u32, rejectors: PluginSet) {
        let (now, events) = (self.now, self.events.clone());
        let entry = self.at(pod);
        entry.rejectors = rejectors;
        if rejectors.is_empty() {
            entry.errors += 1;
        } else {
            entry.rejections += 1;
            entry.errors = 0;
        }
        entry.timestamp = now;
        entry.flushed = 0;
        let count = if entry.errors > 0 {
            entry.errors
        } else {
            entry.rejections
        };
        let backoff = (SECOND << (count - 1).min(10)).min(DURATIONS.longest);
        entry.expiry = (now + backoff) / SECOND * SECOND;
        let entry = entry.clone();
        let mut since = events[entry.since..].iter();
        if rejectors.is_empty() || since.any(|event| Self::worth(rules, &entry, *event)) {
            self.requeue(rules, pod, false);
        } else {
            self.at(pod).place = Place::Waiting;
        }
    }

    fn wake(&mut self, rules: &Made, event: (Resource, u16, u32), highest: Option<i32>) {
        for pod in 0..PODS {
            let Some(entry) = self.pods[pod as usize].clone() else {
                continue;
            };
            let readers = super::event::readers(event.0, event.1);
            let held = entry.gating.is_some_and(|plugin| !readers.contains(plugin));
            if entry.place == Place::Waiting
                && highest.is_none_or(|highest| entry.priority <= highest)
                && !held
                && Self::worth(rules, &entry, event)
            {
                self.requeue(rules, pod, false);
            }
        }
        self.events.push(event);
    }

    fn flush(&mut self, rules: &Made) {
        let now = self.now;
        for pod in 0..PODS {
            let Some(entry) = self.pods[pod as usize].clone() else {
                continue;
            };
            let backs_off = matches!(entry.place, Place::Backoff | Place::Errors);
            if backs_off && entry.expiry < now / SECOND * SECOND {
                self.at(pod).place = Place::Active;
            }
        }
        for pod in 0..PODS {
            let Some(entry) = self.pods[pod as usize].clone() else {
                continue;
            };
            let waited = now - entry.timestamp.max(entry.flushed);
            if entry.place == Place::Waiting && waited > DURATIONS.longest_wait {
                self.at(pod).flushed = now;
                self.requeue(rules, pod, false);
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Add {
        pod: u32,
        class: u32,
        priority: i32,
    },
    Remove {
        pod: u32,
    },
    Change {
        pod: u32,
        class: u32,
        priority: i32,
    },
    Pop,
    Fail {
        rejectors: Vec<usize>,
    },
    Wake {
        event: usize,
        salt: u32,
        highest: Option<i32>,
    },
    Activate {
        pod: u32,
    },
    Gate {
        class: u32,
        gated: bool,
    },
    Wait {
        millis: u64,
    },
}

const EVENTS: [(Resource, u16); 8] = [
    (Resource::Node, action::ADD),
    (Resource::Node, action::NODE_LABEL),
    (Resource::Node, action::NODE_TAINT),
    (Resource::Node, action::NODE_ALLOCATABLE),
    (Resource::AssignedPod, action::DELETE),
    (Resource::AssignedPod, action::ADD),
    (Resource::AssignedPod, action::POD_LABEL),
    (Resource::AssignedPod, action::UPDATE),
];

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let pod = || 0..PODS;
    let kind = || (0..CLASSES, -2..3_i32);
    let op = prop_oneof![
        4 => (pod(), kind()).prop_map(|(pod, (class, priority))| Op::Add { pod, class, priority }),
        1 => pod().prop_map(|pod| Op::Remove { pod }),
        1 => (pod(), kind())
            .prop_map(|(pod, (class, priority))| Op::Change { pod, class, priority }),
        5 => Just(Op::Pop),
        5 => prop::collection::vec(0..Plugin::COUNT, 0..3)
            .prop_map(|rejectors| Op::Fail { rejectors }),
        4 => (0..EVENTS.len(), 0..4_u32, prop::option::of(-2..3_i32))
            .prop_map(|(event, salt, highest)| Op::Wake { event, salt, highest }),
        1 => pod().prop_map(|pod| Op::Activate { pod }),
        1 => (0..CLASSES, any::<bool>()).prop_map(|(class, gated)| Op::Gate { class, gated }),
        3 => (1..4000_u64).prop_map(|millis| Op::Wait { millis }),
    ];
    prop::collection::vec(op, 1..160)
}

/// Both, driven side by side.
struct Pair {
    queue: Queue,
    naive: Naive,
    rules: Made,
    texts: Texts,
    in_flight: Vec<u32>,
    /// Classes that kept events hold.
    held: i64,
}

impl Pair {
    fn new() -> Self {
        Self {
            queue: Queue::new(PODS, 256, 16, DURATIONS),
            naive: Naive {
                pods: (0..PODS).map(|_| None).collect(),
                now: SECOND,
                ..Naive::default()
            },
            rules: Made {
                class: (0..PODS).map(|_| 0).collect(),
                ..Made::default()
            },
            texts: Texts::new(4, 64),
            in_flight: Vec::new(),
            held: 0,
        }
    }

    fn release(&mut self) {
        let held = &mut self.held;
        self.queue.drop_events(|classes, _| {
            *held -= classes.iter().flatten().count() as i64;
        });
    }

    fn take(&mut self, op: &Op) {
        // No two times are equal: of equal pods the heap's shape would decide.
        self.naive.now += 1;
        self.queue.now = self.naive.now;
        let is_known = |pod: u32| self.naive.pods[pod as usize].is_some();
        match *op {
            Op::Add {
                pod,
                class,
                priority,
            } if !is_known(pod) => {
                self.rules.class[pod as usize] = class;
                self.queue.changed(PodId(pod), priority, ClassId(class), 0);
                self.queue.add(&self.rules, PodId(pod));
                self.naive.pods[pod as usize] = Some(Entry {
                    place: Place::Nowhere,
                    class,
                    priority,
                    timestamp: self.naive.now,
                    attempts: 0,
                    rejections: 0,
                    errors: 0,
                    expiry: 0,
                    flushed: 0,
                    rejectors: PluginSet::EMPTY,
                    gating: None,
                    since: 0,
                });
                self.naive.requeue(&self.rules, pod, true);
            }
            Op::Remove { pod } if is_known(pod) && !self.in_flight.contains(&pod) => {
                self.queue.forget(&mut self.texts, PodId(pod));
                self.naive.pods[pod as usize] = None;
            }
            Op::Change {
                pod,
                class,
                priority,
            } if is_known(pod) && !self.in_flight.contains(&pod) => {
                self.rules.class[pod as usize] = class;
                self.queue.changed(PodId(pod), priority, ClassId(class), 0);
                let entry = self.naive.at(pod);
                entry.class = class;
                entry.priority = priority;
            }
            Op::Pop => {
                let pod = self.queue.pop();
                assert_eq!(pod.map(|pod| pod.0), self.naive.pop());
                self.in_flight.extend(pod.map(|pod| pod.0));
            }
            Op::Fail { ref rejectors } if !self.in_flight.is_empty() => {
                let pod = self
                    .in_flight
                    .remove(rejectors.len() % self.in_flight.len());
                let mut set = PluginSet::EMPTY;
                for plugin in rejectors {
                    set.insert(Plugin::ALL[*plugin]);
                }
                let class = ClassId(self.naive.at(pod).class);
                let pending = PluginSet::EMPTY;
                self.queue
                    .fail(&self.rules, PodId(pod), (class, 0), set, pending);
                self.release();
                self.naive.fail(&self.rules, pod, set);
            }
            Op::Wake {
                event: at,
                salt,
                highest,
            } => {
                let (resource, action) = EVENTS[at];
                let event = event(resource, action, salt);
                self.queue.wake(&self.rules, &event, highest, None);
                self.held += i64::from(self.queue.keep(&event, [&[], &[]]));
                self.naive
                    .wake(&self.rules, (resource, action, salt), highest);
            }
            Op::Activate { pod } if is_known(pod) => {
                let place = self.naive.at(pod).place;
                let expected = matches!(place, Place::Waiting | Place::Backoff | Place::Errors);
                assert_eq!(self.queue.activate(&self.rules, PodId(pod)), expected);
                if place == Place::Waiting {
                    self.naive.requeue(&self.rules, pod, true);
                } else if expected {
                    self.naive.at(pod).place = Place::Active;
                }
            }
            Op::Gate { class, gated } => self.rules.gated[class as usize] = gated,
            Op::Wait { millis } => {
                self.naive.now += millis * 1_000_000;
                self.queue.now = self.naive.now;
                self.queue.flush_backoff(&self.rules);
                self.queue.flush_waiting(&self.rules);
                self.naive.flush(&self.rules);
            }
            _ => {}
        }
    }

    fn compare(&self) {
        for pod in 0..PODS {
            let item = self.queue.item(PodId(pod));
            match &self.naive.pods[pod as usize] {
                None => assert_eq!(item.place, Place::Nowhere, "pod {pod}"),
                Some(entry) => {
                    let ours = (item.place, item.priority, item.timestamp, item.attempts);
                    let twin = (entry.place, entry.priority, entry.timestamp, entry.attempts);
                    assert_eq!(ours, twin, "pod {pod}");
                    let ours = (item.expiry, item.rejectors, item.gating);
                    let twin = (entry.expiry, entry.rejectors, entry.gating);
                    assert_eq!(ours, twin, "pod {pod}");
                }
            }
        }
        let counts = self.queue.counts();
        let of = |place: Place| {
            let pods = self.naive.pods.iter().flatten();
            pods.filter(|pod| pod.place == place).count() as u32
        };
        assert_eq!(counts.active, of(Place::Active));
        assert_eq!(counts.backoff, of(Place::Backoff) + of(Place::Errors));
        assert_eq!(counts.unschedulable + counts.gated, of(Place::Waiting));
        assert_eq!(counts.in_flight, of(Place::InFlight));
        assert!(self.held >= 0);
        if self.in_flight.is_empty() {
            assert_eq!(
                self.held, 0,
                "events outlive the pods that they are kept for"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_queue_is_its_naive_twin(ops in ops()) {
        let mut pair = Pair::new();
        for op in &ops {
            pair.take(op);
            pair.compare();
        }
    }
}

#[test]
fn kept_nodes_survive_the_end_of_the_ring() {
    use super::flight::Flight;
    let mut items = alloc::vec![Item::VACANT; 4];
    // A node takes 18 of the 20 words, so that every further one begins anew at the start.
    let mut flight = Flight::new(16, 20);
    let mut words = [0; 18];
    for round in 0..40_u32 {
        words[0] = round;
        let node = super::event::NodeSide::read(&words).expect("a whole node");
        flight.push(&mut items, 0);
        let event = Event {
            resource: Resource::Node,
            action: action::ADD,
            old: Side::None,
            new: Side::Node(node),
        };
        assert!(flight.keep(&event, [&[], &words]), "round {round}");
        let kept: Vec<u32> = flight
            .events_of(&items[0])
            .filter_map(|event| Some(event.nodes().1?.name))
            .collect();
        assert_eq!(kept, [round]);
        flight.remove(&mut items, 0);
        flight.drop_events(&items, |_, _| {});
    }
    flight.push(&mut items, 0);
    let full = flight.check_room(3).map_err(|full| full.which);
    assert_eq!(full, Err("event_words"));
}

/// Counts how often a hint is asked for.
struct Counting(core::cell::Cell<u32>);

impl Rules for Counting {
    fn gate(&self, _: PodId, _: &Item, _: bool) -> Option<Plugin> {
        None
    }

    fn hint(&self, _: Plugin, class: ClassId, _: Word, _: &Event<'_>) -> bool {
        self.0.set(self.0.get() + 1);
        class.0 == 1
    }
}

#[test]
fn an_event_asks_once_for_all_pods_that_are_alike_and_not_for_those_it_cannot_help() {
    let pods = 3000;
    let mut queue = Queue::new(pods, 8, 8, DURATIONS);
    let rules = Counting(core::cell::Cell::new(0));
    queue.now = SECOND;
    for pod in 0..pods {
        let pod = PodId(pod);
        let class = ClassId(pod.0 % 3);
        queue.changed(pod, 0, class, 0);
        queue.add(&rules, pod);
        assert_eq!(queue.pop(), Some(pod));
        // Two classes fail by what reads the event, one by what does not.
        let plugin = if class.0 < 2 {
            Plugin::NodeResourcesFit
        } else {
            Plugin::SchedulingGates
        };
        let rejectors = PluginSet::of(plugin);
        queue.fail(&rules, pod, (class, 0), rejectors, PluginSet::EMPTY);
    }
    queue.wake(&rules, &event(Resource::Node, action::ADD, 0), None, None);
    assert_eq!(rules.0.get(), 2);
    assert_eq!(queue.counts().backoff, pods / 3);
}
