//! C programs against the libraries that the test build made, or those of a folder that is named.
#![allow(dead_code, reason = "each suite uses a part of it")]

use berth_test_support::command::{empty_folder, tool};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const INSTALL: &str = "apt-get install gcc libc6-dev";
const CLANG: &str = "apt-get install clang libclang-rt-dev";
/// Libraries that Rust's standard library needs.
pub const SYSTEM: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];
pub const STRICT: [&str; 6] = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-g"];
/// A folder with a library that was itself compiled under AddressSanitizer, as `.ci/gate` makes one.
const ASAN_LIBRARY: &str = "BERTH_ASAN_LIBRARY";
const SANITIZERS: [&str; 3] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
];

pub fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of the libraries: that of `BERTH_LIBRARIES`, such as an installed one, else the one with
/// those that the test build made, beside this test.
pub fn libraries() -> PathBuf {
    let named = env::var_os("BERTH_LIBRARIES").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| {
        let test = env::current_exe().expect("the test's own path");
        test.parent().expect("a program is in a folder").to_owned()
    });
    for name in ["libberth.a", "libberth.so"] {
        let path = folder.join(name);
        assert!(path.is_file(), "{} is not there", path.display());
    }
    folder
}

/// How a program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    Plain,
    /// By clang, under AddressSanitizer and UndefinedBehaviorSanitizer.
    Sanitized,
}

impl Build {
    fn compiler(self) -> Option<Command> {
        match self {
            Self::Plain => tool("cc", INSTALL),
            Self::Sanitized => tool("clang", CLANG),
        }
    }
}

/// Whether sanitized programs link a library that is sanitized too.
pub fn is_library_sanitized() -> bool {
    env::var_os(ASAN_LIBRARY).is_some()
}

/// A program of one or more sources, with the static library; `None`, said aloud, where there is no
/// compiler.
pub fn compiled(name: &str, source: &str, build: Build) -> Option<PathBuf> {
    compiled_with(name, source, build, &crate_folder().join("../include"))
}

/// The same with the header of another folder.
pub fn compiled_with(name: &str, source: &str, build: Build, include: &Path) -> Option<PathBuf> {
    let mut compiler = build.compiler()?;
    let name = format!("{name}-{build:?}").to_lowercase();
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), &name);
    let mut library = libraries().join("libberth.a");
    if build == Build::Sanitized {
        if !has_sanitizers(&folder) {
            println!("skipped: clang has no sanitizers; install them: {CLANG}");
            assert!(env::var_os("CI").is_none(), "clang has no sanitizers");
            return None;
        }
        compiler.args(SANITIZERS);
        if let Some(folder) = env::var_os(ASAN_LIBRARY) {
            library = Path::new(&folder).join("libberth.a");
        }
    }
    let program = folder.join(&name);
    let output = compiler
        .args(STRICT)
        .arg("-I")
        .arg(include)
        .arg(crate_folder().join(source))
        .arg(library)
        .args(SYSTEM)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{source}: {told}");
    Some(program)
}

fn has_sanitizers(folder: &Path) -> bool {
    let source = folder.join("probe.c");
    fs::write(&source, "int main(void) { return 0; }\n").expect("the probe is written");
    let program = folder.join("probe");
    let mut clang = Command::new("clang");
    clang.args(SANITIZERS).arg(&source).arg("-o").arg(&program);
    let compiled = clang.output().is_ok_and(|output| output.status.success());
    let runs = |output: Output| output.status.success();
    compiled && Command::new(program).output().is_ok_and(runs)
}

/// valgrind, told to end with 99 at the first error; `None`, said aloud, where there is none.
pub fn valgrind() -> Option<Command> {
    let mut valgrind = tool("valgrind", "apt-get install valgrind")?;
    valgrind.args([
        "-q",
        "--error-exitcode=99",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
    ]);
    Some(valgrind)
}
