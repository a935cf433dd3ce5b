//! What the boundary costs: calls that do nothing from C and from Go, and an evaluation of all nodes
//! from Go beside the same from Rust, and from C with the same shared library, in turns.
//!
//! `cargo bench -p berth-ffi` prints a page; without `--bench`, as `cargo test` runs it, every part is
//! run once on a small cluster and the answers are compared.

#[path = "../tests/c/compile.rs"]
mod compile;
#[path = "calls/evaluation.rs"]
mod evaluation;

use berth_test_support::command::{empty_folder, tool, tool_that_knows};
use compile::{STRICT, SYSTEM, crate_folder, libraries};
use evaluation::{ByAbi, ByCore, Found, Turn, list};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Evaluations of a turn, and those before it that nobody measures: what others have thrown out of the
/// caches comes back, and the monitor of Go's runtime, which looks at a program that has just woken every 20
/// microseconds, comes to rest.
const EVALUATIONS: usize = 48;
const WARMING: usize = 512;
/// Pods that are asked about in turn.
const PODS: usize = 16;

struct Sizes {
    nodes: usize,
    alternations: usize,
    calls_from_c: usize,
    calls_from_go: usize,
}

const MEASURED: Sizes = Sizes {
    nodes: 5000,
    alternations: 200,
    calls_from_c: 1_000_000,
    calls_from_go: 200_000,
};

const CHECKED: Sizes = Sizes {
    nodes: 50,
    alternations: 2,
    calls_from_c: 1000,
    calls_from_go: 1000,
};

fn main() {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let sizes = if is_measured { MEASURED } else { CHECKED };
    from_c(&sizes);
    from_go(&sizes);
}

/// The program of `calls.c`.
fn from_c(sizes: &Sizes) {
    for kind in ["static", "shared"] {
        let Some(program) = c_program("calls", kind) else {
            return;
        };
        let told = done(Command::new(program).arg(sizes.calls_from_c.to_string()));
        for line in told.lines() {
            let (name, nanoseconds) = line.split_once(' ').expect("a name and a number");
            println!("- from C, {kind}: {name} {nanoseconds} ns");
        }
    }
}

/// A program of this folder, with the archive or the shared library.
fn c_program(name: &str, kind: &str) -> Option<PathBuf> {
    let mut compiler = tool("cc", compile::INSTALL)?;
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), &format!("{name}-{kind}"));
    let program = folder.join(name);
    compiler.args(STRICT).arg("-O2").arg("-I");
    compiler.arg(crate_folder().join("../include"));
    compiler.arg(crate_folder().join("benches").join(format!("{name}.c")));
    if kind == "static" {
        compiler.arg(libraries().join("libberth.a")).args(SYSTEM);
    } else {
        let soname = format!("libberth.so.{}", berth::BERTH_ABI_VERSION);
        let shared = libraries().join("libberth.so");
        std::fs::copy(shared, folder.join(soname)).expect("the library is copied");
        compiler.arg("-L").arg(libraries()).arg("-l:libberth.so");
        compiler.arg(format!("-Wl,-rpath,{}", folder.display()));
    }
    done(compiler.arg("-o").arg(&program));
    Some(program)
}

fn done(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn from_go(sizes: &Sizes) {
    let list = list(sizes.nodes, PODS);
    let (Some(program), Some(c_program)) = (go_program(), c_program("evaluations", "shared"))
    else {
        return;
    };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("calls.json");
    std::fs::write(&file, list.to_string()).expect("the list is written");
    let mut go = Program::start(&program, &file);
    let mut c = Program::start(&c_program, &file);
    for call in ["no-op", "node-of-pod"] {
        let rounds = (0..21).map(|_| {
            let (took, _) = go.ask(call, sizes.calls_from_go);
            took.as_nanos() as f64 / sizes.calls_from_go as f64
        });
        println!("- from Go: {call} {:.1} ns", median(rounds.collect()));
    }

    let (mut core, mut abi) = (ByCore::new(&list, PODS), ByAbi::new(&list, PODS));
    let mut turns = [const { Vec::new() }; 4];
    for alternation in 0..sizes.alternations {
        let mut found = Vec::new();
        // Each is the first, the second and the last one as often.
        for place in 0..4 {
            let which = (alternation + place) % 4;
            let mut turn = |count| match which {
                0 => core.turn(count),
                1 => abi.turn(count),
                2 => c.turn(count),
                _ => go.turn(count),
            };
            turn(WARMING);
            let (took, answer) = turn(EVALUATIONS);
            turns[which].push(took.as_nanos() as f64 / EVALUATIONS as f64);
            found.push(answer);
        }
        assert!(found.iter().all(|answer| *answer == found[0]), "{found:?}");
    }
    let medians = turns.clone().map(median);
    println!(
        "- evaluation over {} nodes, median of {} alternations: {:.0} ns from Rust, {:.0} ns from Rust \
         through the C ABI, {:.0} ns from C, {:.0} ns from Go",
        sizes.nodes, sizes.alternations, medians[0], medians[1], medians[2], medians[3]
    );
    for (name, other) in [("Rust", 0), ("Rust through the C ABI", 1), ("C", 2)] {
        let pairs = turns[3].iter().zip(&turns[other]);
        let more = median(pairs.map(|(go, rust)| go - rust).collect());
        println!("- Go beside {name}: {more:+.0} ns an evaluation, median of the differences");
    }
}

/// The Go program of `go/internal/calls`, with the library of this build.
fn go_program() -> Option<PathBuf> {
    tool_that_knows("version", "go", "Go 1.26 from https://go.dev/dl")?;
    tool("cc", compile::INSTALL)?;
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "calls-go");
    let mut install = Command::new("sh");
    install.arg(crate_folder().join("install.sh"));
    install.arg("--prefix").arg(&folder);
    done(install.arg("--from").arg(libraries()));
    let program = folder.join("calls");
    let mut go = Command::new("go");
    go.current_dir(crate_folder().join("go"));
    go.env(
        "CGO_CFLAGS",
        format!("-I{}", folder.join("include").display()),
    );
    go.env("PKG_CONFIG_PATH", folder.join("lib/pkgconfig"));
    let rpath = format!("-Wl,-rpath,{}", folder.join("lib").display());
    go.env("CGO_LDFLAGS", rpath);
    go.args(["build", "-tags", "berth_pkgconfig", "-o"]);
    done(go.arg(&program).arg("./internal/calls"));
    Some(program)
}

/// A program, waiting for commands.
struct Program {
    child: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Program {
    fn start(program: &Path, list: &Path) -> Self {
        let mut child = Command::new(program)
            .arg(list)
            .arg(PODS.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let commands = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        Self {
            child,
            commands,
            answers,
        }
    }

    fn ask(&mut self, command: &str, count: usize) -> (Duration, Found) {
        let commands = self.commands.as_mut().expect("it is piped");
        writeln!(commands, "{command} {count}").expect("the program reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        let numbers: Vec<i64> = line
            .split_whitespace()
            .map(|number| number.parse().expect("a number"))
            .collect();
        let [took, fits, sum] = numbers[..] else {
            panic!("{command}: {line:?}");
        };
        (Duration::from_nanos(took as u64), (fits as usize, sum))
    }
}

impl Turn for Program {
    fn turn(&mut self, count: usize) -> (Duration, Found) {
        self.ask("evaluate", count)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.commands = None;
        self.child.wait().expect("the program ends");
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
