//! State files: read by `-f FILE.berth`, written by `--save`.

use crate::failure::Failure;
use crate::input::{Place, Problem, read_bytes};
use crate::room::too_large;
use berth_core::intake::Intake;
use berth_core::object::Object;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::{Capacities, Options, StateError};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Ending of a state file's name.
const ENDING: &str = "berth";

/// A state that a run starts from.
pub struct State {
    file: PathBuf,
    bytes: Vec<u8>,
    /// Made once, to see that it can be: what is in it, and how large it is.
    pub intake: Intake,
}

impl State {
    /// The state among the files, if there is one, and the other files.
    ///
    /// # Errors
    /// More than one, or one that cannot be read.
    pub fn among(
        files: &[PathBuf],
        config: &KubeSchedulerConfiguration,
    ) -> Result<(Option<Self>, Vec<PathBuf>), Failure> {
        let (states, others): (Vec<_>, Vec<_>) =
            files.iter().cloned().partition(|file| is_state(file));
        match states.as_slice() {
            [] => Ok((None, others)),
            [file] => Ok((Some(Self::read(file, config)?), others)),
            [_, second, ..] => {
                let message = "a run starts from one state; leave out the others";
                Err(Problem::of_place(Place::file(second), message).into())
            }
        }
    }

    fn read(file: &Path, config: &KubeSchedulerConfiguration) -> Result<Self, Failure> {
        let bytes = read_bytes(file)?;
        let intake = Intake::restore_state(config.clone(), Options::default(), None, &bytes);
        let intake = intake.map_err(|error| {
            Failure::from(Problem::of_place(Place::file(file), error.to_string()))
        })?;
        Ok(Self {
            file: file.to_owned(),
            bytes,
            intake,
        })
    }

    /// Objects of the state by which pods are completed, unless the input has them too.
    pub fn completing(&self, input: &[Object]) -> Vec<Object> {
        let is_same = |one: &Object, other: &Object| {
            let (first, second) = (one.metadata(), other.metadata());
            one.kind() == other.kind()
                && (&first.namespace, &first.name) == (&second.namespace, &second.name)
        };
        let objects = self.intake.completing();
        let objects = objects.filter(|own| !input.iter().any(|other| is_same(own, other)));
        objects.cloned().collect()
    }
}

/// An intake that holds the state, or nothing, in tables of this size or as much larger ones as it
/// takes.
pub fn intake(
    state: Option<&State>,
    config: &KubeSchedulerConfiguration,
    options: Options,
    mut capacities: Capacities,
) -> Result<Intake, Failure> {
    loop {
        capacities.check().map_err(too_large)?;
        let made = match state {
            None => Intake::with_capacities(config.clone(), options, capacities)
                .map_err(StateError::from),
            Some(state) => {
                let given = Some(capacities);
                Intake::restore_state(config.clone(), options, given, &state.bytes)
            }
        };
        match (made, state) {
            (Ok(mut intake), _) => {
                intake.set_growing(true);
                return Ok(intake);
            }
            (Err(StateError::Capacity(full)), _) => capacities = capacities.grown(full.which),
            (Err(error), Some(state)) => {
                let place = Place::file(&state.file);
                return Err(Problem::of_place(place, error.to_string()).into());
            }
            (Err(error), None) => {
                return Err(Failure::Usage(format!("configuration: {error}")));
            }
        }
    }
}

/// Refuses a name by which `-f` would not know a state.
pub fn check_name(file: &Path) -> Result<(), Failure> {
    if is_state(file) {
        return Ok(());
    }
    let message = format!(
        "--save {}: end the name in .{ENDING}, by which -f knows a state file",
        file.display()
    );
    Err(Failure::Usage(message))
}

/// Writes a state, whole or not at all.
pub fn save(file: &Path, intake: &Intake) -> Result<(), Failure> {
    let part = file.with_extension("berth.part");
    let written = fs::write(&part, intake.save_state()).and_then(|()| fs::rename(&part, file));
    written.map_err(|error: io::Error| {
        let _ = fs::remove_file(&part);
        Failure::Usage(format!("--save {}: {error}", file.display()))
    })
}

fn is_state(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == ENDING)
}
