//! How far a long run is: on stderr, if that is a terminal and nothing else is written to one meanwhile.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of the input and pods of a run that is worth a look.
const BYTES_MIN: u64 = 16 << 20;
const PODS_MIN: usize = 20_000;
/// How often a second it is drawn at most.
const HERTZ: u8 = 5;

/// Says what is going on while `work` reads these files or makes something of them.
pub fn during<T>(what: &'static str, files: &[PathBuf], work: impl FnOnce() -> T) -> T {
    let sizes = files.iter().filter_map(|file| file.metadata().ok());
    let bytes: u64 = sizes.map(|data| data.len()).sum();
    let bar = bar(bytes >= BYTES_MIN, None, "{spinner} {msg}, {elapsed}").with_message(what);
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(1000 / u64::from(HERTZ)));
    }
    let done = work();
    bar.finish_and_clear();
    done
}

/// Counts pods as they are decided on.
pub fn pods(count: usize) -> ProgressBar {
    let template = "{bar:30} {human_pos} of {human_len} pods, {elapsed}, {eta} left";
    // What is written to the terminal on the way shows the same.
    let is_shown = count >= PODS_MIN && !io::stdout().is_terminal();
    bar(is_shown, Some(count as u64), template)
}

fn bar(is_shown: bool, length: Option<u64>, template: &str) -> ProgressBar {
    let target = if is_shown && io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(HERTZ)
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(length, target).with_style(style)
}
