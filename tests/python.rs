//! The Python package, built as a wheel and tried by pytest, the golden verdicts included.
//!
//! `BERTH_PYTHON` names an interpreter that has what `python/tests/requirements.txt` lists;
//! without it that is `python3`.

#[path = "../python/src/guard.rs"]
mod guard;

use berth_test_support::cluster_list::cluster_list;
use berth_test_support::command::{berth, empty_folder};
use berth_test_support::golden::{CLUSTERS, RANDOM, Verdict, scenarios};
use berth_test_support::tests_folder;
use guard::{Guard, Refused};
use serde_json::{Value, json};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const INSTALL: &str = "python3 -m venv target/venv && \
    target/venv/bin/pip install -r python/tests/requirements.txt, \
    then set BERTH_PYTHON=$PWD/target/venv/bin/python";

fn root() -> PathBuf {
    let tests = tests_folder();
    tests
        .parent()
        .expect("tests lies in the root")
        .to_path_buf()
}

/// The interpreter, if it has all that is needed. Else the test is skipped aloud, and fails in CI.
fn interpreter() -> Option<OsString> {
    let python = env::var_os("BERTH_PYTHON").unwrap_or_else(|| "python3".into());
    let modules = "import gymnasium, hypothesis, kubernetes, matplotlib, maturin, mypy, numpy, pandas, \
                   polars, pyarrow, pytest";
    let found = Command::new(&python).args(["-c", modules]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    let text = format!(
        "{} cannot `{modules}`; install them: {INSTALL}",
        python.display()
    );
    assert!(env::var_os("CI").is_none(), "{text}");
    println!("skipped: {text}");
    None
}

fn run(what: &str, command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let (told, errors) = (&output.stdout, &output.stderr);
    let (told, errors) = (
        String::from_utf8_lossy(told),
        String::from_utf8_lossy(errors),
    );
    assert!(output.status.success(), "{what}: {told}{errors}");
    println!("{told}");
}

/// Builds the wheel and unpacks it; returns the wheel, and what goes into `PYTHONPATH`.
fn install(python: &OsString) -> [PathBuf; 2] {
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "wheel");
    let root = root();
    run(
        "maturin",
        Command::new(python)
            .args(["-m", "maturin", "build", "--profile", "dev", "--locked"])
            .arg("--manifest-path")
            .arg(root.join("python/Cargo.toml"))
            // Apart from cargo's own, where pyo3 is set up for no interpreter in particular.
            .arg("--target-dir")
            .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("maturin"))
            .arg("--out")
            .arg(&folder),
    );
    let wheel = fs::read_dir(&folder)
        .expect("maturin made the folder")
        .next();
    let wheel = wheel
        .expect("maturin made a wheel")
        .expect("it can be looked at")
        .path();
    let package = folder.join("unpacked");
    let mut unzip = Command::new(python);
    unzip
        .args(["-m", "zipfile", "-e"])
        .arg(&wheel)
        .arg(&package);
    run("zipfile", &mut unzip);
    [wheel, package]
}

/// Writes the golden sets as an API server would list them, one file a set, one line a scenario.
fn write_golden(folder: &Path) {
    for set in CLUSTERS.iter().chain(&RANDOM) {
        let lines = scenarios(set).into_iter().map(|scenario| {
            let list = cluster_list(&scenario);
            let verdicts: Vec<Value> = scenario.verdicts.iter().map(verdict).collect();
            let line = json!({
                "name": scenario.name,
                "config": scenario.config,
                "list": list.json,
                "replaced": list.replaced,
                "verdicts": verdicts,
            });
            line.to_string() + "\n"
        });
        let text: String = lines.collect();
        fs::write(folder.join(format!("{set}.jsonl")), text).expect("the set is written");
    }
}

fn verdict(verdict: &Verdict) -> Value {
    let mut json = serde_json::to_value(verdict).expect("a verdict is JSON");
    json["brief"] = json!(verdict.brief);
    json
}

/// What the module's classes lie behind, tried here, as an extension has no tests of its own.
#[test]
fn a_panic_ends_the_use_of_what_it_left_half_done() {
    let guard = Guard::new(1);
    assert_eq!(guard.call(|value| *value + 1), Ok(2));
    let within = guard.call(|_| guard.call(|value| *value));
    assert_eq!(within, Ok(Err(Refused::Within)));
    let panics = guard.call(|value| {
        *value = 7;
        assert_eq!(*value, 0, "on purpose");
    });
    assert_eq!(panics, Err(Refused::Panicked));
    assert_eq!(guard.call(|value| *value), Err(Refused::Panicked));
}

#[test]
fn the_package_passes_its_tests() {
    let Some(python) = interpreter() else {
        return;
    };
    let [wheel, package] = install(&python);
    let golden = empty_folder(env!("CARGO_TARGET_TMPDIR"), "golden");
    write_golden(&golden);
    run(
        "pytest",
        Command::new(&python)
            .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
            .current_dir(root().join("python"))
            .env("PYTHONPATH", package)
            .env("BERTH_WHEEL", wheel)
            .env("BERTH_COMMAND", berth().get_program())
            // The pure package beside the tests has no extension: the wheel is what is tested.
            .env("PYTHONSAFEPATH", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("BERTH_GOLDEN", golden),
    );
}
