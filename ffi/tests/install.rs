//! What is installed works for whoever links it: by pkg-config, by CMake, statically and shared.

#[path = "c/compile.rs"]
mod compile;
#[path = "header/parse.rs"]
mod parse;
#[path = "golden/replay.rs"]
mod replay;

use berth_test_support::command::{empty_folder, tool};
use compile::{INSTALL, STRICT, crate_folder, libraries};
use replay::{run, text};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const BINUTILS: &str = "apt-get install binutils";

fn done(command: &mut Command) -> String {
    let output = run(command, "");
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    text(&output.stdout)
}

/// A prefix with everything installed, from the libraries of the test build.
fn prefix() -> Option<&'static Path> {
    static PREFIX: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        tool("strip", BINUTILS)?;
        let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "prefix");
        let mut install = Command::new("sh");
        install.arg(crate_folder().join("install.sh"));
        install
            .arg("--prefix")
            .arg(&folder)
            .arg("--from")
            .arg(libraries());
        done(&mut install);
        Some(folder)
    };
    PREFIX.get_or_init(install).as_deref()
}

fn example() -> PathBuf {
    crate_folder().join("examples/scheduler_loop.c")
}

/// The example runs, with the shared library of the prefix or without any.
fn example_runs(program: &Path, prefix: &Path, is_shared: bool) {
    let mut command = Command::new(program);
    if is_shared {
        command.env("LD_LIBRARY_PATH", prefix.join("lib"));
    }
    assert_eq!(done(&mut command), include_str!("c/scheduler_loop.txt"));
    let needed = done(Command::new("readelf").arg("-d").arg(program));
    assert_eq!(needed.contains("libberth.so"), is_shared, "{needed}");
}

#[test]
fn a_program_is_built_by_pkg_config() {
    let (Some(prefix), Some(mut pkg_config)) =
        (prefix(), tool("pkg-config", "apt-get install pkg-config"))
    else {
        return;
    };
    let mut ask = |arguments: &[&str]| {
        pkg_config = Command::new("pkg-config");
        pkg_config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        let told = done(pkg_config.args(arguments).arg("berth"));
        told.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "pkg-config");
    let Some(_) = tool("cc", INSTALL) else {
        return;
    };
    let program = folder.join("shared");
    let mut compiler = Command::new("cc");
    compiler
        .args(STRICT)
        .arg(example())
        .args(ask(&["--cflags", "--libs"]));
    done(compiler.arg("-o").arg(&program));
    example_runs(&program, prefix, true);

    // The archive by its path, as a linker takes the shared library where there are both.
    let program = folder.join("static");
    let system = ask(&["--static", "--libs-only-l"]);
    let system = system.iter().filter(|library| *library != "-lberth");
    let mut compiler = Command::new("cc");
    compiler
        .args(STRICT)
        .arg(example())
        .args(ask(&["--cflags"]));
    compiler
        .args(ask(&["--variable=static_library"]))
        .args(system);
    done(compiler.arg("-o").arg(&program));
    example_runs(&program, prefix, false);
    assert_eq!(ask(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
}

#[test]
fn a_program_is_built_by_cmake() {
    let (Some(prefix), Some(mut cmake)) = (prefix(), tool("cmake", "apt-get install cmake")) else {
        return;
    };
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "cmake");
    let source = crate_folder().join("tests/install");
    cmake.arg("-S").arg(source).arg("-B").arg(&folder);
    cmake.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
    done(cmake.arg(format!("-DEXAMPLE={}", example().display())));
    done(Command::new("cmake").arg("--build").arg(&folder));
    example_runs(&folder.join("consumer-static"), prefix, false);
    example_runs(&folder.join("consumer-shared"), prefix, true);
}

/// Nothing of the system's either.
#[test]
fn a_wholly_static_program_runs() {
    let (Some(prefix), Some(mut compiler)) = (prefix(), tool("cc", INSTALL)) else {
        return;
    };
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "static");
    let program = folder.join("static");
    compiler
        .args(STRICT)
        .arg("-static")
        .arg("-I")
        .arg(prefix.join("include"));
    compiler.arg(example()).arg(prefix.join("lib/libberth.a"));
    compiler.args([
        "-lgcc_eh",
        "-lutil",
        "-lrt",
        "-lpthread",
        "-lm",
        "-ldl",
        "-lc",
    ]);
    done(compiler.arg("-o").arg(&program));
    let headers = done(Command::new("readelf").arg("-l").arg(&program));
    assert!(!headers.contains("INTERP"), "{headers}");
    example_runs(&program, prefix, false);
}

#[test]
fn the_shared_library_exports_what_the_header_has_and_nothing_else() {
    let (Some(prefix), Some(mut nm)) = (prefix(), tool("nm", BINUTILS)) else {
        return;
    };
    let library = prefix.join("lib/libberth.so");
    let told = done(
        nm.args(["-D", "--defined-only", "--format=posix"])
            .arg(&library),
    );
    let names = told
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let mut exported: Vec<&str> = names.collect();
    exported.sort_unstable();
    let functions = parse::functions();
    let mut declared: Vec<&str> = functions.iter().map(parse::Item::name).collect();
    declared.sort_unstable();
    assert_eq!(exported, declared);
    assert!(declared.iter().all(|name| name.starts_with("berth_")));

    let name = format!("libberth.so.{}", berth::BERTH_ABI_VERSION);
    let dynamic = done(Command::new("readelf").arg("-d").arg(&library));
    assert!(dynamic.contains(&format!("soname: [{name}]")), "{dynamic}");
    assert!(prefix.join("lib").join(name).is_file());
}

#[test]
fn a_prefix_without_its_libraries_is_told() {
    let mut install = Command::new("sh");
    install
        .arg(crate_folder().join("install.sh"))
        .arg("--perfix");
    let output = run(&mut install, "");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("write --prefix DIR"));
}
