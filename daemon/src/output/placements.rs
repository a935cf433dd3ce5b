//! The result of `berth simulate`, in every form.

use super::ordered::Ordered;
use super::{NodeRow, Output, Summary, fill};
use crate::args::Form;
use crate::escape::escape;
use crate::world::Attempt;
use berth_core::{DecisionRecord, PodResult};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write};

/// Takes decisions as they are made and writes them in the input's order.
pub struct Placements {
    output: Output,
    form: Form,
    ordered: Ordered<Option<Written>>,
    /// Decisions written so far.
    count: usize,
    summary: Summary,
    tables: fill::Tables,
}

/// A decision on its way out: its text, or itself for the tables.
enum Written {
    Text(String),
    Record(Box<DecisionRecord>),
}

impl Placements {
    /// Writes what stands before the decisions.
    pub fn begin(form: Form, mut output: Output) -> io::Result<Self> {
        match form {
            Form::Json => output.write_all(b"{\"decisions\":[")?,
            Form::Csv => output.write_all(b"pod,result,node,message\n")?,
            Form::Table | Form::Wide | Form::Jsonl | Form::Yaml | Form::Name => {}
        }
        Ok(Self {
            output,
            form,
            ordered: Ordered::new(),
            count: 0,
            summary: Summary::default(),
            tables: fill::Tables::default(),
        })
    }

    /// Takes the decision on the pod that is `place`-th in the input.
    pub fn decision(&mut self, place: usize, record: DecisionRecord) -> io::Result<()> {
        self.count(&record);
        let written = match self.form {
            Form::Table | Form::Wide => Written::Record(Box::new(record)),
            Form::Json | Form::Jsonl => Written::Text(serde_json::to_string(&record)?),
            Form::Yaml => Written::Text(yaml(&[record])?),
            Form::Csv => Written::Text(csv(&record)),
            Form::Name => Written::Text(escape(&record.pod).into_owned()),
        };
        self.put(place, Some(written))
    }

    /// There is no decision on this pod.
    pub fn skip(&mut self, place: usize) -> io::Result<()> {
        self.put(place, None)
    }

    /// Counts a decision that is not written.
    pub fn count(&mut self, record: &DecisionRecord) {
        self.summary.count(record);
    }

    /// Writes an attempt, as a line.
    pub fn attempt(&mut self, attempt: &Attempt) -> io::Result<()> {
        serde_json::to_writer(&mut self.output, attempt)?;
        self.output.write_all(b"\n")
    }

    fn put(&mut self, place: usize, written: Option<Written>) -> io::Result<()> {
        for written in self.ordered.put(place, written).flatten() {
            match written {
                Written::Record(record) => self.tables.add(*record, self.form == Form::Wide),
                Written::Text(text) => {
                    match (self.form, self.count) {
                        (Form::Json, 0) => self.output.write_all(b"\n")?,
                        (Form::Json, _) => self.output.write_all(b",\n")?,
                        (Form::Yaml, 0) => self.output.write_all(b"decisions:\n")?,
                        _ => {}
                    }
                    self.output.write_all(text.as_bytes())?;
                    if matches!(self.form, Form::Jsonl | Form::Csv | Form::Name) {
                        self.output.write_all(b"\n")?;
                    }
                    self.count += 1;
                }
            }
        }
        Ok(())
    }

    /// Writes what stands after the decisions. `complete` fills in what only the caller knows.
    pub fn end(
        mut self,
        nodes: Vec<NodeRow>,
        complete: impl FnOnce(&mut Summary),
    ) -> io::Result<Summary> {
        self.summary.nodes = nodes.len();
        complete(&mut self.summary);
        match self.form {
            Form::Table | Form::Wide => {
                let wide = self.form == Form::Wide;
                self.tables
                    .write(&mut self.output, &self.summary, nodes, wide)?;
            }
            Form::Json => {
                self.output.write_all(b"\n],\n\"nodes\":[")?;
                for (index, node) in nodes.iter().enumerate() {
                    let between: &[u8] = if index == 0 { b"\n" } else { b",\n" };
                    self.output.write_all(between)?;
                    serde_json::to_writer(&mut self.output, node)?;
                }
                self.output.write_all(b"\n],\n\"summary\":")?;
                serde_json::to_writer(&mut self.output, &self.summary)?;
                self.output.write_all(b"}\n")?;
            }
            Form::Yaml => {
                if self.count == 0 {
                    self.output.write_all(b"decisions: []\n")?;
                }
                let rest = Rest {
                    nodes: &nodes,
                    summary: &self.summary,
                };
                self.output.write_all(yaml(&rest)?.as_bytes())?;
            }
            Form::Jsonl | Form::Csv | Form::Name => {}
        }
        self.output.release()?;
        self.output.flush()?;
        Ok(self.summary)
    }
}

/// What follows the decisions of a yaml document.
#[derive(Serialize)]
struct Rest<'a> {
    nodes: &'a [NodeRow],
    summary: &'a Summary,
}

/// A value as YAML, its long texts unbroken.
pub fn yaml<T: Serialize + ?Sized>(value: &T) -> io::Result<String> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(&value, options).map_err(io::Error::other)
}

/// `pod,result,node,message`.
fn csv(record: &DecisionRecord) -> String {
    let fields = [
        record.pod.as_str(),
        result_name(record.result),
        record.node.as_deref().unwrap_or_default(),
        &reason(record).unwrap_or_default(),
    ];
    csv_row(&fields)
}

/// Fields as one line of csv.
pub fn csv_row(fields: &[&str]) -> String {
    let fields: Vec<_> = fields.iter().map(|field| csv_field(field)).collect();
    fields.join(",")
}

/// A field, quoted where RFC 4180 asks for it.
fn csv_field(text: &str) -> String {
    let text = escape(text);
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

/// The record's spelling of a result.
pub fn result_name(result: PodResult) -> &'static str {
    match result {
        PodResult::Scheduled => "scheduled",
        PodResult::Unschedulable => "unschedulable",
        PodResult::Gated => "gated",
        PodResult::Unsupported => "unsupported",
        PodResult::Error => "error",
    }
}

/// Why a pod was not placed; absent when it was.
pub fn reason(record: &DecisionRecord) -> Option<Cow<'_, str>> {
    let detail = |text: &Option<String>| text.clone().unwrap_or_default();
    match record.result {
        PodResult::Scheduled => None,
        PodResult::Unsupported => {
            let field = detail(&record.field);
            Some(format!("{field} is not supported yet").into())
        }
        PodResult::Error => Some(detail(&record.error).into()),
        PodResult::Gated => Some("has scheduling gates".into()),
        PodResult::Unschedulable => {
            let message = record.message.as_deref();
            Some(message.unwrap_or("fits nowhere").into())
        }
    }
}
