//! What commands write to stdout.
//!
//! Never `println!`: it panics when the reader has closed the pipe. Errors of [`Output`] end the
//! command, and a closed pipe ends it quietly (see `failure`).

mod amount;
mod camel;
mod cluster;
mod course;
mod fill;
mod ordered;
mod placements;
mod table;
mod verdicts;

pub use cluster::{NodeRow, Summary, Timing};
pub use placements::{Placements, yaml};
pub use verdicts::Verdicts;

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

/// Buffered stdout. Ends with [`Write::flush`], as errors at its drop would be lost.
pub struct Output {
    writer: BufWriter<StdoutLock<'static>>,
    /// Columns of the terminal; absent when stdout is none, so that no line is broken.
    width: Option<u16>,
    /// What is not on its way yet, so that it can be dropped.
    held: Option<Vec<u8>>,
}

impl Output {
    /// Stdout, to which nothing goes before [`release`](Self::release).
    pub fn held() -> Self {
        Self {
            held: Some(Vec::new()),
            ..Self::stdout()
        }
    }

    /// Lets go of what is held.
    pub fn release(&mut self) -> io::Result<()> {
        let held = self.held.take().unwrap_or_default();
        self.writer.write_all(&held)
    }

    pub fn stdout() -> Self {
        let stdout = io::stdout().lock();
        let width = stdout
            .is_terminal()
            .then(|| terminal_size::terminal_size_of(&stdout))
            .flatten()
            .map(|(width, _)| width.0);
        Self {
            writer: BufWriter::with_capacity(1 << 16, stdout),
            width,
            held: None,
        }
    }

    pub fn width(&self) -> Option<u16> {
        self.width
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(held) = &mut self.held {
            return held.write(bytes);
        }
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
