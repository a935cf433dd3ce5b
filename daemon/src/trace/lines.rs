//! JSON lines: one step a line.
//!
//! A line without `op` says how the run goes (`gracefulDeletion`, `featureGates`, `config`) and may
//! hold all its steps, as the golden runs do.

use super::Trace;
use crate::input::{Place, Problem, decode};
use crate::world::{Put, Step};
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::Value;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;

/// The only feature gate that a trace may set.
const BATCHING: &str = "OpportunisticBatching";
/// A time beyond this is a mistake: a hundred years.
const SECONDS_MAX: f64 = 100.0 * 365.0 * 86_400.0;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line<'a> {
    op: Option<Op>,
    kind: Option<String>,
    #[serde(borrow, default)]
    objects: Vec<&'a RawValue>,
    #[serde(default)]
    namespace: String,
    name: Option<String>,
    node: Option<String>,
    seconds: Option<f64>,
    run_seconds: Option<f64>,
    /// Of a run: what it is called.
    scenario: Option<IgnoredAny>,
    family: Option<IgnoredAny>,
    config: Option<Value>,
    #[serde(default)]
    feature_gates: BTreeMap<String, bool>,
    #[serde(default)]
    graceful_deletion: bool,
    #[serde(borrow, default)]
    steps: Vec<&'a RawValue>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Op {
    Add,
    Update,
    Apply,
    Delete,
    Fail,
    Settle,
    Advance,
}

pub(super) fn read(trace: &mut Trace, path: &Path, text: &str) {
    for (line, number) in text.lines().zip(1..) {
        if !line.trim().is_empty() {
            let place = Place::file(path).at_line(number);
            read_line(trace, &place, line, true);
        }
    }
}

fn read_line(trace: &mut Trace, place: &Place, text: &str, may_hold_steps: bool) {
    let line: Line<'_> = match serde_json::from_str(text) {
        Ok(line) => line,
        Err(error) => {
            let message = format!(
                "column {}: {}",
                error.column(),
                decode::json_message(&error)
            );
            return trace.problems.add(place.clone(), message);
        }
    };
    let result = match line.op {
        Some(op) => read_step(trace, place, op, line),
        None if may_hold_steps => read_run(trace, place, line),
        None => Err(wrong("op", "is missing; write for example \"settle\"")),
    };
    if let Err((field, message)) = result {
        trace.problems.push(Problem {
            place: place.clone(),
            object: None,
            field: Some(field),
            message,
        });
    }
}

/// A field and what is wrong with it.
type Wrong = (String, String);

fn wrong(field: &str, message: impl Into<String>) -> Wrong {
    (field.to_owned(), message.into())
}

fn read_run(trace: &mut Trace, place: &Place, line: Line<'_>) -> Result<(), Wrong> {
    if !trace.steps.is_empty() {
        return Err(wrong(
            "op",
            "is missing; how the run goes is said before its first step",
        ));
    }
    trace.graceful_deletion |= line.graceful_deletion;
    for (gate, value) in line.feature_gates {
        if gate != BATCHING {
            let message = format!("{gate} cannot be set here; only {BATCHING} can");
            return Err(wrong("featureGates", message));
        }
        trace.batching = Some(value);
    }
    if let Some(config) = line.config {
        trace.config = Some(read_config(config)?);
    }
    for step in line.steps {
        read_line(trace, place, step.get(), false);
    }
    Ok(())
}

/// A configuration that may leave out which kind it is.
fn read_config(mut config: Value) -> Result<KubeSchedulerConfiguration, Wrong> {
    if let Value::Map(fields) = &mut config {
        let kind = [
            ("apiVersion", "kubescheduler.config.k8s.io/v1"),
            ("kind", "KubeSchedulerConfiguration"),
        ];
        for (field, text) in kind {
            let field = fields.entry(field.to_owned());
            field.or_insert_with(|| Value::String(text.to_owned()));
        }
    }
    let config = KubeSchedulerConfiguration::from_value(config);
    let config = config.and_then(|config| match config.profiles() {
        Ok(_) => Ok(config),
        Err(mut errors) => Err(errors.0.swap_remove(0)),
    });
    config.map_err(|error| wrong(&format!("config.{}", error.field), error.problem))
}

fn read_step(trace: &mut Trace, place: &Place, op: Op, line: Line<'_>) -> Result<(), Wrong> {
    check_fields(op, &line)?;
    let step = match op {
        Op::Add | Op::Update | Op::Apply => {
            let how = match op {
                Op::Add => Put::Add,
                Op::Update => Put::Update,
                _ => Put::Apply,
            };
            let runs = line.run_seconds.map(|seconds| ms("runSeconds", seconds));
            let runs = runs.transpose()?;
            let objects = read_objects(trace, place, line.kind.as_deref(), &line.objects)?;
            Step::Put { how, objects, runs }
        }
        Op::Delete => {
            let kind = line.kind.ok_or_else(|| wrong("kind", "is missing"))?;
            let name = line.name.ok_or_else(|| wrong("name", "is missing"))?;
            let Some(kind) = trace.kind(None, &kind, place) else {
                return Ok(());
            };
            let namespace = match (kind.namespaced, line.namespace) {
                (false, _) => String::new(),
                (true, namespace) if namespace.is_empty() => "default".to_owned(),
                (true, namespace) => namespace,
            };
            Step::Delete((kind.name, namespace, name))
        }
        Op::Fail => Step::Fail(line.node.ok_or_else(|| wrong("node", "is missing"))?),
        Op::Settle => Step::Settle,
        Op::Advance => {
            let seconds = line.seconds.ok_or_else(|| wrong("seconds", "is missing"))?;
            Step::Advance(ms("seconds", seconds)?)
        }
    };
    trace.steps.push(step);
    Ok(())
}

/// Refuses fields that another op has.
fn check_fields(op: Op, line: &Line<'_>) -> Result<(), Wrong> {
    let puts = matches!(op, Op::Add | Op::Update | Op::Apply);
    let deletes = matches!(op, Op::Delete);
    let given = [
        ("kind", line.kind.is_some(), puts || deletes),
        ("objects", !line.objects.is_empty(), puts),
        ("runSeconds", line.run_seconds.is_some(), puts),
        ("namespace", !line.namespace.is_empty(), deletes),
        ("name", line.name.is_some(), deletes),
        ("node", line.node.is_some(), matches!(op, Op::Fail)),
        ("seconds", line.seconds.is_some(), matches!(op, Op::Advance)),
        ("scenario", line.scenario.is_some(), false),
        ("family", line.family.is_some(), false),
        ("config", line.config.is_some(), false),
        ("featureGates", !line.feature_gates.is_empty(), false),
        ("gracefulDeletion", line.graceful_deletion, false),
        ("steps", !line.steps.is_empty(), false),
    ];
    match given.iter().find(|(_, given, wanted)| *given && !wanted) {
        Some((field, ..)) => Err(wrong(field, "does not belong to this op")),
        None => Ok(()),
    }
}

fn ms(field: &str, seconds: f64) -> Result<u64, Wrong> {
    if (0.0..=SECONDS_MAX).contains(&seconds) {
        return Ok((seconds * 1000.0).round() as u64);
    }
    let message = format!("{seconds} is not between 0 and {SECONDS_MAX}");
    Err(wrong(field, message))
}

/// What an object says of itself, where the step does not.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Own {
    api_version: Option<String>,
    kind: Option<String>,
}

fn read_objects(
    trace: &mut Trace,
    place: &Place,
    kind: Option<&str>,
    objects: &[&RawValue],
) -> Result<Vec<(berth_core::object::Object, Place)>, Wrong> {
    let mut read = Vec::new();
    for (raw, item) in objects.iter().zip(1..) {
        let place = Place {
            item: Some(item),
            document: Some(1),
            ..place.clone()
        };
        let own: Own = match serde_json::from_str(raw.get()) {
            Ok(own) => own,
            Err(error) => {
                trace.problems.add(place, decode::json_message(&error));
                continue;
            }
        };
        let kind = match (kind, own.kind.as_deref()) {
            (Some(kind), Some(own)) if kind != own => {
                let message = format!("{own} in a step of kind {kind}");
                trace.problems.add(place, message);
                continue;
            }
            (Some(kind), _) | (None, Some(kind)) => kind,
            (None, None) => return Err(wrong("kind", "is missing, in the step and in its object")),
        };
        if let Some(kind) = trace.kind(own.api_version.as_deref(), kind, &place) {
            let object = decode::text(kind, raw.get());
            trace.check(&mut read, &place, object);
        }
    }
    Ok(read)
}
