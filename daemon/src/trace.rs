//! What happens to a cluster over time, from a file.
//!
//! Either JSON lines, one step a line, or a `SimKube` trace. Everything is decoded and checked
//! before the first step is done.

mod lines;
mod simkube;

use crate::failure::Failure;
use crate::input::{Place, Problem, Problems, decode, read_bytes};
use crate::world::{Put, Step};
use berth_core::object::Object;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::{Identity, Kind, identify};
use berth_core::object::validate::validate;
use std::collections::BTreeMap;
use std::path::Path;

/// Steps, and what the file says of the scheduler beside them.
#[derive(Debug, Default)]
pub struct Trace {
    pub steps: Vec<Step>,
    pub config: Option<KubeSchedulerConfiguration>,
    /// Evicted pods stay, marked, until a step deletes them.
    pub graceful_deletion: bool,
    /// Upstream's gate `OpportunisticBatching`, if it is said.
    pub batching: Option<bool>,
    /// How often a kind that Berth does not take in occurs.
    pub other_kinds: BTreeMap<String, usize>,
    pub notes: Vec<String>,
    problems: Problems,
}

impl Trace {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = read_bytes(path)?;
        let mut trace = Self::default();
        if simkube::is_packed(&bytes) {
            simkube::read_packed(&mut trace, path, &bytes)?;
        } else {
            let text = String::from_utf8(bytes).map_err(|_| {
                let message = "neither UTF-8 text nor a SimKube trace in MessagePack";
                Problem::of_place(Place::file(path), message)
            })?;
            if simkube::is_json(&text) {
                simkube::read_json(&mut trace, path, &text)?;
            } else {
                lines::read(&mut trace, path, &text);
            }
        }
        if trace.problems.is_empty() && trace.steps.is_empty() {
            let place = Place::file(path);
            trace
                .problems
                .add(place, "no steps; write for example {\"op\":\"settle\"}");
        }
        if !trace.problems.is_empty() {
            return Err(Failure::Input(trace.problems));
        }
        Ok(trace)
    }

    /// All objects that come, as often as they do.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        let put = self.steps.iter().filter_map(|step| match step {
            Step::Put { how, objects, .. } if *how != Put::Update => Some(objects),
            _ => None,
        });
        put.flatten().map(|(object, _)| object)
    }

    /// The kind that a step or its object says; `None` if it is none that is read, which is counted
    /// or told.
    fn kind(
        &mut self,
        api_version: Option<&str>,
        kind: &str,
        place: &Place,
    ) -> Option<&'static Kind> {
        let known = Kind::named(kind);
        let identity = match api_version {
            Some(api_version) => identify(api_version, kind),
            None => known.map_or(Identity::Foreign, Identity::Known),
        };
        match identity {
            Identity::Known(kind) => return Some(kind),
            Identity::WrongVersion(expected) => {
                let message = format!("apiVersion of {kind}: is not read; write {expected}");
                self.problems.add(place.clone(), message);
            }
            Identity::List(_) => {
                let message = format!("{kind}: write its items as objects of the step");
                self.problems.add(place.clone(), message);
            }
            Identity::Foreign => *self.other_kinds.entry(kind.to_owned()).or_default() += 1,
        }
        None
    }

    /// Takes a decoded object, or says everything that is wrong with it.
    fn check(
        &mut self,
        objects: &mut Vec<(Object, Place)>,
        place: &Place,
        object: Result<Option<Object>, decode::DecodeError>,
    ) {
        match object {
            Ok(Some(object)) => {
                let metadata = object.metadata();
                let subject = format!("{} {}/{}", object.kind(), metadata.namespace, metadata.name);
                let subject = subject.replace(" /", " ");
                let problems = validate(&object);
                if problems.is_empty() {
                    objects.push((object, place.clone()));
                }
                for invalid in problems {
                    self.problems.push(Problem {
                        place: place.clone(),
                        object: Some(subject.clone()),
                        field: Some(invalid.field),
                        message: invalid.problem,
                    });
                }
            }
            Ok(None) => {}
            Err(error) => self.problems.push(Problem {
                place: place.clone(),
                object: None,
                field: error.field().map(str::to_owned),
                message: error.message().to_owned(),
            }),
        }
    }
}
