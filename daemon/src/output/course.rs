//! What a trace came to over time, for people.

use super::Output;
use super::table::Columns;
use crate::world::{Course, Sample, Waits};
use std::io::{self, Write};

/// Rows of the table unless it is wide.
const ROWS_SHOWN_MAX: usize = 20;

/// A line on the time, one on the waits, and the use of the cluster over time.
pub fn write(output: &mut Output, course: &Course, wide: bool) -> io::Result<()> {
    write!(output, "virtual time {}", duration(course.seconds))?;
    if course.finished > 0 {
        write!(output, "; {} pods ran to their end", course.finished)?;
    }
    writeln!(output)?;
    if let Some(waits) = &course.waits {
        writeln!(output, "{}", waits_line(waits))?;
    }
    writeln!(output)?;
    let headers = ["TIME", "NODES", "RUNNING", "PENDING", "CPU", "MEMORY"];
    let mut columns = Columns::new(output.width(), headers);
    for sample in shown(&course.timeline, wide) {
        columns.row([
            duration(sample.ms as f64 / 1000.0),
            sample.nodes.to_string(),
            sample.running.to_string(),
            sample.pending.to_string(),
            percent(sample.cpu),
            percent(sample.memory),
        ]);
    }
    (0..headers.len()).for_each(|column| columns.align_right(column));
    columns.write(output)
}

/// Samples at even distances, with the first and the last.
fn shown(timeline: &[Sample], wide: bool) -> impl Iterator<Item = &Sample> {
    let last = timeline.len().saturating_sub(1);
    let step = if wide {
        1
    } else {
        last.div_ceil(ROWS_SHOWN_MAX - 1).max(1)
    };
    let even = timeline.iter().step_by(step);
    even.chain(timeline.last().filter(move |_| !last.is_multiple_of(step)))
}

fn waits_line(waits: &Waits) -> String {
    let Waits {
        pods,
        mean,
        p50,
        p90,
        p99,
        max,
    } = waits;
    let [mean, p50, p90, p99, max] = [mean, p50, p90, p99, max].map(|own| duration(*own));
    format!("{pods} pods bound; wait {mean} mean, {p50} p50, {p90} p90, {p99} p99, {max} max")
}

fn percent(permille: u64) -> String {
    format!("{}%", permille / 10)
}

/// `1h02m`, `21m05s`, `7.2s`.
fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        3600.. => format!("{}h{:02}m", whole / 3600, whole % 3600 / 60),
        60.. => format!("{}m{:02}s", whole / 60, whole % 60),
        _ if seconds == 0.0 => "0s".to_owned(),
        _ if seconds < 10.0 => format!("{seconds:.3}s"),
        _ => format!("{seconds:.1}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::{ROWS_SHOWN_MAX, Sample, duration, shown};

    #[test]
    fn durations_have_two_units_at_most() {
        let texts = [0.0, 0.004, 59.44, 60.0, 1265.0, 7322.0].map(duration);
        assert_eq!(texts, ["0s", "0.004s", "59.4s", "1m00s", "21m05s", "2h02m"]);
    }

    #[test]
    fn the_table_has_the_first_and_the_last_sample() {
        for count in 0..200 {
            let samples = (0..count).map(|ms| Sample {
                ms,
                ..Sample::default()
            });
            let samples: Vec<Sample> = samples.collect();
            let shown: Vec<u64> = shown(&samples, false).map(|sample| sample.ms).collect();
            assert!(shown.len() <= ROWS_SHOWN_MAX + 1, "{count}");
            assert_eq!(shown.first(), samples.first().map(|sample| &sample.ms));
            assert_eq!(shown.last(), samples.last().map(|sample| &sample.ms));
            assert!(shown.is_sorted_by(|one, two| one < two), "{shown:?}");
        }
    }
}
