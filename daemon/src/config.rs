//! `berth config`, and the configuration of the other commands.

use crate::args::{ConfigArgs, ConfigCommand, ConfigForm};
use crate::failure::{Failure, Outcome};
use crate::input::{Problems, read_config};
use crate::output::{Output, yaml};
use berth_core::object::config::KubeSchedulerConfiguration;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub fn run(args: &ConfigArgs) -> Outcome {
    match &args.command {
        ConfigCommand::Print { config, output } => print(config.as_deref(), *output),
        ConfigCommand::Check { config } => check(config.as_deref()),
    }
}

fn print(file: Option<&Path>, form: ConfigForm) -> Outcome {
    let config = load(file, true)?.defaulted();
    let mut output = Output::stdout();
    match form {
        ConfigForm::Yaml => output.write_all(yaml(&config)?.as_bytes())?,
        ConfigForm::Json => {
            serde_json::to_writer_pretty(&mut output, &config).map_err(std::io::Error::from)?;
            writeln!(output)?;
        }
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn check(file: Option<&Path>) -> Outcome {
    load(file, true)?;
    let mut output = Output::stdout();
    match file {
        Some(file) => writeln!(output, "{} is valid", file.display())?,
        None => writeln!(output, "the defaults are valid")?,
    }
    output.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The configuration of a file, or the defaults; fails with everything that is wrong with it, and
/// without `asks_extenders` if there are some.
pub fn load(
    file: Option<&Path>,
    asks_extenders: bool,
) -> Result<KubeSchedulerConfiguration, Failure> {
    let Some(file) = file else {
        return Ok(KubeSchedulerConfiguration::default());
    };
    let whole = read_config(file)?;
    let errors = match KubeSchedulerConfiguration::from_value(whole.value()) {
        // What `profiles` refuses beyond the fields is told too.
        Ok(config) => {
            let profiles = if asks_extenders {
                config.profiles_beside_extenders()
            } else {
                config.profiles()
            };
            match profiles {
                Ok(_) => return Ok(config),
                Err(errors) => errors.0,
            }
        }
        Err(error) => vec![error],
    };
    let mut problems = Problems::default();
    for error in errors {
        problems.push(whole.problem(error.field, error.problem));
    }
    Err(Failure::Input(problems))
}
