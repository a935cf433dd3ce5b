//! kube-scheduler itself: the Go program of `tests/kube`, asked line by line.

use crate::go;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// The program, running.
#[derive(Debug)]
pub struct Kube {
    program: Child,
    /// `None` once it was told that nothing follows.
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

/// The built program. The tests of one suite run side by side; it is built once for them all.
static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();

impl Kube {
    /// Builds the program into `folder` and starts it. `None`, said aloud, where there is no Go;
    /// that fails in CI.
    pub fn start(folder: &str) -> Option<Self> {
        let path = PROGRAM
            .get_or_init(|| go::program("kube", ".", folder))
            .as_ref()?;
        let mut program = Command::new(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let to = program.stdin.take();
        let from = program.stdout.take().expect("its output is piped");
        Some(Self {
            program,
            to,
            from: BufReader::new(from),
        })
    }

    /// The answer to a scenario's line, as `tests/kube/README.md` says.
    pub fn ask(&mut self, line: &Value) -> Value {
        let to = self.to.as_mut().expect("the program is running");
        writeln!(to, "{line}").expect("the program reads");
        to.flush().expect("the program reads");
        let mut answer = String::new();
        self.from
            .read_line(&mut answer)
            .expect("the program answers");
        serde_json::from_str(&answer).unwrap_or_else(|error| {
            panic!("tests/kube ended or wrote no JSON ({error}): {answer:?}, asked {line}")
        })
    }
}

impl Drop for Kube {
    fn drop(&mut self) {
        self.to = None;
        // It ends with its input; nothing is to be done if it does not.
        let _ = self.program.wait();
    }
}
