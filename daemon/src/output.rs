//! What commands write to stdout.
//!
//! Never `println!`: it panics when the reader has closed the pipe. Errors of [`Output`] end the
//! command, and a closed pipe ends it quietly (see `failure`).

mod amount;
mod camel;
mod cluster;
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
}

impl Output {
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
        }
    }

    pub fn width(&self) -> Option<u16> {
        self.width
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
