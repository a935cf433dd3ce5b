//! Files to objects.
//!
//! Bytes come from `bytes` (limits, folders, stdin), are cut into documents and objects by `json`
//! and `yaml`, and decoded by the core. Every object keeps its [`Place`]; everything that is
//! wrong is collected, so that one bad object does not hide the next one's error.

mod bytes;
pub mod decode;
mod duplicate;
mod header;
mod json;
mod place;
mod tree;
mod yaml;

pub use place::{Place, Problem, Problems};
pub use yaml::Whole;

use berth_core::object::Object;
use berth_core::object::decode::{Identity, Kind, identify};
use header::Header;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bytes of an input file. Its text is held whole while its objects are read; this is what a dump
/// of 150,000 pods takes.
const INPUT_BYTES_MAX: u64 = 2 << 30;
/// Bytes of a configuration; real ones have a few thousand.
const CONFIG_BYTES_MAX: u64 = 16 << 20;

/// What the files hold.
#[derive(Debug, Default)]
pub struct Input {
    /// Objects of the kinds that Berth takes in, in the input's order.
    pub objects: Vec<Object>,
    /// Where each of `objects` stands.
    pub places: Vec<Place>,
    /// How often a kind that Berth does not take in occurs.
    pub other_kinds: BTreeMap<String, usize>,
    /// What is wrong with them.
    pub problems: Problems,
    /// Documents that hold something, if only an empty List.
    documents: usize,
}

/// Reads a configuration's file.
///
/// # Errors
/// A file that cannot be read, is too large, or is neither YAML nor JSON.
pub fn read_config(file: &Path) -> Result<Whole, Problem> {
    let text = bytes::read_file(file, CONFIG_BYTES_MAX)?;
    Whole::read(Place::file(file), text)
}

/// Reads a whole file as it is.
///
/// # Errors
/// One that cannot be read, or is too large.
pub fn read_bytes(file: &Path) -> Result<Vec<u8>, Problem> {
    bytes::read_raw(file, INPUT_BYTES_MAX)
}

impl Input {
    /// Reads all files, folders and, for `-`, stdin.
    pub fn read(names: &[PathBuf]) -> Self {
        let mut input = Self::default();
        let mut stdin_read = false;
        for name in names {
            if name == Path::new("-") {
                if stdin_read {
                    let place = Place::file(name);
                    input.problems.add(place, "stdin can be read only once");
                } else {
                    stdin_read = true;
                    let text = bytes::read_stdin(INPUT_BYTES_MAX);
                    input.read_text(name, text);
                }
            } else {
                match bytes::list(name) {
                    Ok(files) => {
                        for file in files {
                            let text = bytes::read_file(&file, INPUT_BYTES_MAX);
                            input.read_text(&file, text);
                        }
                    }
                    Err(problem) => input.problems.push(problem),
                }
            }
        }
        if input.documents == 0 && input.problems.is_empty() {
            let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
            let place = Place::default();
            input
                .problems
                .add(place, format!("no objects in {}", names.join(", ")));
        }
        input
    }

    fn read_text(&mut self, name: &Path, text: Result<String, Problem>) {
        match text {
            Ok(text) => self.add_text(name, &text),
            Err(problem) => self.problems.push(problem),
        }
    }

    /// Reads a text as if it stood in the file `name`: JSON if it looks like it, else YAML.
    pub fn add_text(&mut self, name: &Path, text: &str) {
        let name = Rc::from(name);
        if json::is_json(text) {
            json::read(self, &name, text);
        } else {
            yaml::read(self, &name, text);
        }
    }

    /// What a header says the object is; `None` if that is nothing that is read, which is counted
    /// or told. `entry_kind` is what the List around the object says of it.
    fn identify(
        &mut self,
        place: &Place,
        header: &Header,
        entry_kind: Option<&'static Kind>,
    ) -> Option<Identity> {
        if let Some((field, given, expected)) = entry_kind.and_then(|kind| header.clash(kind)) {
            let message =
                format!("{given:?} in a list of {expected}; write {expected} or leave it out");
            self.problems.push(Problem {
                place: place.clone(),
                object: header.describe(),
                field: Some(field.to_owned()),
                message,
            });
            return None;
        }
        let (field, message) = match (&header.api_version, &header.kind) {
            (Some(api_version), Some(kind)) => match identify(api_version, kind) {
                Identity::Foreign => {
                    *self.other_kinds.entry(kind.clone()).or_default() += 1;
                    return None;
                }
                Identity::WrongVersion(expected) => (
                    "apiVersion",
                    format!("{api_version:?} of {kind} is not read; write {expected}"),
                ),
                identity => return Some(identity),
            },
            (_, None) => ("kind", "is missing; write for example Pod".to_owned()),
            (None, _) => ("apiVersion", "is missing; write for example v1".to_owned()),
        };
        self.problems.push(Problem {
            place: place.clone(),
            object: header.describe(),
            field: Some(field.to_owned()),
            message,
        });
        None
    }

    /// Takes in one object or its error.
    fn take(&mut self, place: &Place, object: Result<Option<Object>, Problem>) {
        match object {
            Ok(Some(object)) => {
                self.objects.push(object);
                self.places.push(place.clone());
            }
            Ok(None) => {}
            Err(problem) => self.problems.push(problem),
        }
    }
}
