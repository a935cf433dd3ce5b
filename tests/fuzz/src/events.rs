//! An event stream: objects that come, change and go, and the loop that places pods in between.

use super::twin::small;
use berth_core::object::Object;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::{Decoded, Kind};
use berth_core::{ApplyError, BindOutcome, Change, Options, Outcome, Scheduler};
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;

/// One line an event: `+`, `~` or `-` and an object's JSON; `s` schedules a pod, `b`, `r` and `f` say
/// that the last one placed was bound, rejected or failed, `t` lets ten seconds pass.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let config = KubeSchedulerConfiguration::default();
    let mut scheduler = Scheduler::new(&config, Options::default(), small()).expect("the defaults");
    let empty = scheduler.state_hash();
    let mut stream = Stream {
        scheduler: &mut scheduler,
        there: BTreeMap::new(),
        placed: None,
        now: SECOND,
    };
    for line in text.lines() {
        stream.line(line);
    }
    stream.remove_all();
    assert_eq!(scheduler.state_hash(), empty, "something was left");
}

type Key = (&'static str, String, String);

struct Stream<'a> {
    scheduler: &'a mut Scheduler,
    /// The last of each object that was applied and not deleted.
    there: BTreeMap<Key, Object>,
    placed: Option<berth_core::id::PodId>,
    now: u64,
}

impl Stream<'_> {
    fn line(&mut self, line: &str) {
        let mut letters = line.chars();
        match letters.next() {
            Some('+') => self.object(Change::Added, letters.as_str()),
            Some('~') => self.object(Change::Modified, letters.as_str()),
            Some('-') => self.object(Change::Deleted, letters.as_str()),
            Some('s') => self.schedule(),
            Some('b') => self.bound(BindOutcome::Bound),
            Some('r') => self.bound(BindOutcome::Rejected),
            Some('f') => self.bound(BindOutcome::Failed),
            Some('t') => {
                self.now += 10 * SECOND;
                self.scheduler.advance(self.now);
            }
            _ => {}
        }
    }

    fn object(&mut self, change: Change, json: &str) {
        let Ok(Decoded::Object(mut object)) = serde_json::from_str::<Decoded>(json) else {
            return;
        };
        // A namespace is no part of the name where the kind has none.
        if Kind::named(object.kind()).is_some_and(|kind| !kind.namespaced) {
            object.metadata_mut().namespace.clear();
        }
        self.apply(change, *object);
    }

    fn apply(&mut self, change: Change, object: Object) {
        let before = self.scheduler.state_hash();
        let meta = object.metadata();
        let key = (object.kind(), meta.namespace.clone(), meta.name.clone());
        match self.scheduler.apply(change, &object) {
            Ok(()) => {
                let is_finished = matches!(&object, Object::Pod(pod) if pod.status.is_finished());
                if change == Change::Deleted || is_finished {
                    self.there.remove(&key);
                } else {
                    self.there.insert(key, object);
                }
            }
            Err(error) => {
                assert_eq!(self.scheduler.state_hash(), before, "{error:?}: {object:?}");
                match error {
                    ApplyError::AlreadyExists => assert!(self.there.contains_key(&key)),
                    ApplyError::NotFound => assert!(!self.there.contains_key(&key)),
                    _ => {}
                }
            }
        }
    }

    fn schedule(&mut self) {
        let Some(decision) = self.scheduler.schedule_one(self.now) else {
            return;
        };
        let pod = decision.pod;
        match decision.outcome {
            Outcome::Scheduled(node) => {
                assert_eq!(self.scheduler.node_of(pod), Some(node));
                self.placed = Some(pod);
            }
            _ => assert_eq!(self.scheduler.node_of(pod), None),
        }
        let victims: Vec<_> = self
            .scheduler
            .victims()
            .iter()
            .map(|victim| victim.pod)
            .collect();
        for victim in victims {
            let (namespace, name) = self.scheduler.pod_name(victim);
            let key = ("Pod", namespace.to_owned(), name.to_owned());
            let object = self.there.get(&key).expect("a victim is a pod").clone();
            self.apply(Change::Deleted, object);
        }
    }

    fn bound(&mut self, outcome: BindOutcome) {
        if let Some(pod) = self.placed.take()
            && self.scheduler.has_pod(pod)
        {
            self.scheduler.pre_bound(pod);
            self.scheduler.bound(pod, outcome, self.now);
        }
    }

    /// Pods last, so that nodes leave under them.
    fn remove_all(&mut self) {
        for (_, object) in std::mem::take(&mut self.there) {
            let removed = self.scheduler.apply(Change::Deleted, &object);
            assert_eq!(removed, Ok(()), "{object:?}");
        }
    }
}
