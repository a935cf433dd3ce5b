//! Misuse from C: each call says its documented result, under the sanitizers and under valgrind. The
//! programs are `tests/c/*.c`; that they leave nothing out is checked against the header.

#[path = "c/compile.rs"]
mod compile;
#[path = "header/parse.rs"]
mod parse;
#[path = "golden/replay.rs"]
mod replay;

use compile::{Build, compiled, compiled_with, crate_folder, is_library_sanitized, valgrind};
use parse::functions;
use replay::{run, text};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// Runs a program as it is, under the sanitizers, and under valgrind; each must end with 0 in silence.
fn run_everywhere(name: &str) {
    let source = format!("tests/c/{name}.c");
    for build in [Build::Plain, Build::Sanitized] {
        let Some(program) = compiled(name, &source, build) else {
            continue;
        };
        let output = run(&mut Command::new(&program), "");
        let told = text(&output.stderr) + &text(&output.stdout);
        assert!(
            output.status.success() && told.is_empty(),
            "{build:?}: {:?}: {told}",
            output.status
        );
        if build == Build::Plain
            && let Some(mut valgrind) = valgrind()
        {
            let output = run(valgrind.arg(&program), "");
            let told = text(&output.stderr);
            assert!(
                output.status.success() && told.is_empty(),
                "valgrind: {told}"
            );
        }
    }
}

#[test]
fn every_pointer_that_is_null_is_told() {
    run_everywhere("null");
}

#[test]
fn every_size_and_number_that_is_wrong_is_told() {
    run_everywhere("values");
}

#[test]
fn every_handle_that_is_none_is_told() {
    run_everywhere("stale");
}

#[test]
fn plugins_are_asked_and_their_mistakes_are_told() {
    run_everywhere("plugins");
}

/// Many objects: not under valgrind, where this takes a minute.
#[test]
fn full_tables_grow_or_refuse() {
    for build in [Build::Plain, Build::Sanitized] {
        if let Some(program) = compiled("room", "tests/c/room.c", build) {
            let output = run(&mut Command::new(program), "");
            assert!(
                output.status.success(),
                "{build:?}: {}",
                text(&output.stderr)
            );
        }
    }
}

/// What each watcher sees of a bug on purpose; the last one is the library's own write.
#[test]
fn the_watchers_see_planted_bugs() {
    let sanitized = compiled("planted", "tests/c/planted.c", Build::Sanitized);
    let plain = compiled("planted", "tests/c/planted.c", Build::Plain);
    if let Some(program) = sanitized {
        assert!(run(&mut Command::new(&program), "").status.success());
        let mut bugs = vec![
            ("overflow", "heap-buffer-overflow"),
            ("undefined", "signed integer overflow"),
            ("leak", "LeakSanitizer"),
        ];
        if is_library_sanitized() {
            bugs.push(("lie", "heap-buffer-overflow"));
        }
        for (bug, word) in bugs {
            let output = run(Command::new(&program).arg(bug), "");
            let told = text(&output.stderr);
            assert!(
                !output.status.success() && told.contains(word),
                "{bug}: {told}"
            );
        }
    }
    if let (Some(program), Some(_)) = (plain, valgrind()) {
        for (bug, word) in [
            ("overflow", "Invalid read"),
            ("leak", "definitely lost"),
            ("lie", "Invalid write"),
        ] {
            let mut valgrind = valgrind().expect("it was there");
            let output = run(valgrind.arg(&program).arg(bug), "");
            let told = text(&output.stderr);
            assert!(
                output.status.code() == Some(99) && told.contains(word),
                "{bug}: {told}"
            );
        }
    }
}

/// A header of another ABI version, before and after this one.
#[test]
fn a_header_of_another_version_is_refused() {
    let header = parse::kept();
    let ours = format!("#define BERTH_ABI_VERSION {}\n", berth::BERTH_ABI_VERSION);
    assert!(header.contains(&ours));
    for other in [berth::BERTH_ABI_VERSION - 1, berth::BERTH_ABI_VERSION + 1] {
        let name = format!("header-{other}");
        let folder = berth_test_support::command::empty_folder(env!("CARGO_TARGET_TMPDIR"), &name);
        let theirs = format!("#define BERTH_ABI_VERSION {other}\n");
        fs::write(folder.join("berth.h"), header.replace(&ours, &theirs)).expect("is written");
        let name = format!("version-{other}");
        let source = "examples/scheduler_loop.c";
        let Some(program) = compiled_with(&name, source, Build::Plain, &folder) else {
            return;
        };
        let output = run(&mut Command::new(program), "");
        let told = format!(
            "berth_scheduler_create: result 15: the program's header has ABI version {other}, the \
             library {}\n",
            berth::BERTH_ABI_VERSION
        );
        assert_eq!(text(&output.stderr), told);
        assert_eq!(output.status.code(), Some(2));
    }
}

fn source(file: &str) -> String {
    let path = crate_folder().join("tests/c").join(file);
    fs::read_to_string(path).expect("the program is there")
}

#[test]
fn no_function_is_left_out_of_every_call() {
    let calls = source("expect.h");
    for function in functions() {
        let name = function.name().to_owned();
        let has_handle = function
            .parameters()
            .first()
            .is_some_and(|(kind, _)| kind.contains("berth_scheduler_t"));
        if has_handle && name != "berth_last_error" {
            assert!(
                calls.contains(&format!("CALL({name}, (s")),
                "expect.h lacks {name}"
            );
        }
    }
}

#[test]
fn no_pointer_is_left_out_of_the_nulls() {
    let nulls = source("null.c");
    let nulls: String = nulls.split_whitespace().collect();
    let mut missing = BTreeSet::new();
    for function in functions() {
        for (kind, parameter) in function.parameters() {
            let name = function.name();
            let is_handle = kind.contains("berth_scheduler_t") && parameter == "scheduler";
            // Handles are EVERY_CALL's.
            if !kind.contains('*') || is_handle && name != "berth_last_error" {
                continue;
            }
            let told = ["NULL_AT", "NULL_OK"]
                .iter()
                .any(|test| nulls.contains(&format!("{test}({name},{parameter},")));
            if !told {
                missing.insert(format!("{name}: {parameter}"));
            }
        }
    }
    assert!(missing.is_empty(), "null.c lacks {missing:#?}");
}

#[test]
fn no_struct_with_a_size_is_left_out_of_the_wrong_sizes() {
    let values = source("values.c");
    for item in parse::items(&parse::kept()) {
        if item.fields().first().is_some_and(|field| field == "size") {
            let name = item.name();
            assert!(
                values.contains(&format!("WRONG_SIZES({name},")),
                "values.c lacks {name}"
            );
        }
    }
}
