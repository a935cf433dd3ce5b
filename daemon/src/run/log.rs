//! Log lines as klog writes them, in text or JSON.
//!
//! Verbosity is kube-scheduler's `-v`: what it logs at 0 and above 0 are `info` here, at 4 and more
//! `debug`. Control characters of names and messages are escaped, so that a line stays one.

use std::fmt::{self, Write};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;

/// Sets up logging to stderr.
pub fn start(verbosity: i32, is_json: bool) {
    let level = match verbosity {
        ..4 => Level::INFO,
        4..8 => Level::DEBUG,
        8.. => Level::TRACE,
    };
    // Libraries' own lines may hold what is none of ours to log.
    let own = [
        "lease", "loop", "bind", "status", "preempt", "model", "watch", "events", "serve", "run",
        "extender",
    ];
    let targets = own.iter().map(|target| (*target, level));
    let filter = Targets::new().with_targets(targets);
    let format = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .event_format(Klog { is_json });
    // A second start, as in a test, keeps the first.
    let _ = tracing_subscriber::registry()
        .with(format.with_filter(filter))
        .try_init();
}

struct Klog {
    is_json: bool,
}

/// A line's message and fields, in order.
#[derive(Default)]
struct Fields {
    message: String,
    pairs: Vec<(&'static str, serde_json::Value)>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        if field.name() == "message" {
            self.message = text;
        } else {
            self.pairs.push((field.name(), text.into()));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.pairs.push((field.name(), value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.pairs.push((field.name(), value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.pairs.push((field.name(), value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.pairs.push((field.name(), value.into()));
    }
}

impl<S, N> FormatEvent<S, N> for Klog
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let now = jiff::Zoned::now();
        let level = *event.metadata().level();
        let target = event.metadata().target();
        if self.is_json {
            let mut line = serde_json::Map::new();
            let millis = now.timestamp().as_microsecond() as f64 / 1000.0;
            line.insert("ts".to_owned(), millis.into());
            line.insert("caller".to_owned(), target.into());
            line.insert("msg".to_owned(), fields.message.into());
            if level == Level::ERROR {
                line.insert("err".to_owned(), serde_json::Value::Null);
            } else {
                line.insert("v".to_owned(), u64::from(level > Level::INFO).into());
            }
            for (key, value) in fields.pairs {
                line.insert(key.to_owned(), value);
            }
            return writeln!(writer, "{}", serde_json::Value::from(line));
        }
        let letter = match level {
            Level::ERROR => 'E',
            Level::WARN => 'W',
            _ => 'I',
        };
        let time = now.strftime("%m%d %H:%M:%S%.6f");
        let process = std::process::id();
        let mut line = format!("{letter}{time} {process:>7} {target}] {:?}", fields.message);
        for (key, value) in fields.pairs {
            // Numbers stand bare, texts quoted and escaped.
            let _ = write!(line, " {key}={value}");
        }
        writeln!(writer, "{line}")
    }
}
