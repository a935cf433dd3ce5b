//! `include/berth.h` is what cbindgen makes of this crate, and `ffi/docs/reference.md` what stands in
//! it. `BERTH_BLESS=1` writes both anew.

#[path = "header/parse.rs"]
mod parse;

use berth::*;
use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};
use parse::{Item, items};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const ABOUT: &str = "\
/* Berth: kube-scheduler's decision as a library.
 *
 * - Every function but berth_abi_version returns a berth_result_t; nothing unwinds, aborts or
 *   prints.
 * - Where the result is not BERTH_RESULT_OK, nothing was changed, and nothing written but the size
 *   that BERTH_RESULT_SMALL_BUFFER asks for; berth_last_error has the reason in words.
 * - Pointers are checked for NULL, and must else be valid for what their function says, until it
 *   returns; none is kept but the context and the functions of plugins. Results are written through
 *   pointers that come last.
 * - Strings are a pointer and a length in bytes, UTF-8, without a terminator.
 * - Structs begin with their size, which the caller sets, also of those that are written. Elements
 *   of arrays have none: they never change under one BERTH_ABI_VERSION.
 * - Numbers of enumerations are int32_t, flags are 0 or 1; others are BERTH_RESULT_BAD_VALUE.
 * - A handle may be used by any thread, by one at a time: a second one gets BERTH_RESULT_BUSY.
 */";

/// Sizes that a compiler of C or C++ checks too, on machines of 64 bits.
fn assertions() -> String {
    let mut text = String::from("#if UINTPTR_MAX == UINT64_MAX\n");
    text += "/* The structs are as the library has them. */\n";
    let mut assert = |name: &str, size: usize| {
        let name = name.rsplit("::").next().unwrap_or(name);
        writeln!(
            text,
            "typedef char {name}_has_its_size[sizeof({name}) == {size} ? 1 : -1];"
        )
        .expect("write to text");
    };
    macro_rules! assert_all {
        ($($name:ident)+) => { $(assert(stringify!($name), size_of::<$name>());)+ };
    }
    assert_all!(
        berth_string_t berth_label_t berth_amount_t berth_taint_t berth_image_t berth_node_t
        berth_toleration_t berth_requirement_t berth_node_term_t berth_pod_term_t berth_spread_t
        berth_port_t berth_class_t berth_pod_t berth_capacities_t berth_options_t berth_loaded_t
        berth_counts_t berth_decision_t berth_victim_t berth_filter_t berth_score_t berth_reserve_t
    );
    text + "#endif"
}

fn header(folder: &Path) -> String {
    let mut config = Config {
        language: Language::C,
        cpp_compat: true,
        documentation_style: DocumentationStyle::Doxy,
        style: Style::Type,
        header: Some(ABOUT.to_owned()),
        include_guard: Some("BERTH_H".to_owned()),
        autogen_warning: Some(
            "/* Written by ffi/tests/header.rs from the crate berth-ffi; not to be edited. */"
                .into(),
        ),
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        trailer: Some(assertions()),
        usize_is_size_t: true,
        line_length: 100,
        tab_width: 4,
        ..Config::default()
    };
    config.function.sort_by = None;
    let bindings = Builder::new()
        .with_config(config)
        .with_crate(folder)
        .generate();
    let mut text = Vec::new();
    bindings.expect("the crate has a C face").write(&mut text);
    let text = String::from_utf8(text).expect("a header is text");
    // Rust's heading for the caller's duties: here they are everywhere, and said at the top.
    let duties = [
        "Pointers are NULL or valid as described.",
        "None is asked for: a handle that is none is found out.",
    ];
    duties.iter().fold(text, |text, duty| {
        text.replace(&format!(" *\n * # Safety\n * {duty}\n"), "")
    })
}

/// The groups of the reference, each by functions of it.
const GROUPS: [(&str, &[&str]); 10] = [
    (
        "A handle's life",
        &["abi", "capacities", "memory", "scheduler", "last"],
    ),
    ("Objects as JSON", &["apply", "load", "notes", "find"]),
    ("Objects as structs", &["node", "class", "pod"]),
    ("Decide", &["evaluate", "schedule"]),
    ("The loop", &["bound", "advance", "victims", "preemption"]),
    ("Volumes", &["volumes", "bind"]),
    ("Why", &["explain"]),
    ("What-if", &["fork", "rollback", "commit"]),
    ("State", &["state"]),
    ("Plugins", &["register"]),
];

/// The page, from the header's comments.
fn reference(header: &str) -> String {
    let all = items(header);
    let mut page = String::from(
        "# Reference of the C ABI\n\n\
         Written by `ffi/tests/header.rs` from `include/berth.h`; not to be edited. A newcomer begins\n\
         with [getting started in C](c.md) or [in Go](go.md).\n\n## Conventions\n\n",
    );
    let about = ABOUT.lines().filter_map(|line| line.strip_prefix(" * "));
    for line in about {
        writeln!(page, "{line}").expect("write to text");
    }
    let mut written = 0;
    for (group, first_words) in GROUPS {
        writeln!(page, "\n## {group}").expect("write to text");
        for first in first_words {
            for item in all.iter().filter(|item| item.is_function()) {
                let words = item.name().trim_start_matches("berth_");
                if words.split('_').next() == Some(first) {
                    section(&mut page, item);
                    written += 1;
                }
            }
        }
    }
    let functions = all.iter().filter(|item| item.is_function()).count();
    assert_eq!(written, functions, "GROUPS lacks a function");
    page += "\n## Types\n";
    for item in all.iter().filter(|item| item.code.starts_with("typedef")) {
        section(&mut page, item);
    }
    page += "\n## Numbers\n\n| name | value | means |\n| --- | --- | --- |\n";
    for item in all.iter().filter(|item| item.code.starts_with("#define")) {
        let value = item.code.split_whitespace().nth(2).unwrap_or_default();
        let means = item.comment.join(" ");
        writeln!(page, "| `{}` | {value} | {} |", item.name(), means.trim())
            .expect("write to text");
    }
    page
}

fn section(page: &mut String, item: &Item) {
    writeln!(page, "\n### `{}`\n", item.name()).expect("write to text");
    if item.notes.is_empty() {
        // What has fields is told field by field.
        writeln!(page, "```c\n{}\n```\n", item.code).expect("write to text");
    }
    for line in &item.comment {
        if let Some(line) = line.strip_prefix("@param ") {
            let (name, text) = line.split_once(' ').unwrap_or((line, ""));
            writeln!(page, "- `{name}`: {}", text.trim()).expect("write to text");
        } else if line.starts_with("  ") {
            writeln!(page, "  {}", line.trim()).expect("write to text");
        } else {
            writeln!(page, "{line}").expect("write to text");
        }
    }
    if item.notes.is_empty() {
        return;
    }
    page.push_str("\n| | means |\n| --- | --- |\n");
    for (line, note) in &item.notes {
        let line = line.trim_end_matches([';', ',']);
        writeln!(page, "| `{line}` | {} |", note.trim()).expect("write to text");
    }
}

/// Compares a file with what it should be, or writes it.
fn compare(path: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if env::var_os("BERTH_BLESS").is_some() {
        fs::write(&path, made).expect("the file is written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "{} is not fresh: run `BERTH_BLESS=1 cargo test -p berth-ffi --test header`",
        path.display()
    );
}

#[test]
fn header_and_reference_are_what_the_crate_says() {
    let made = header(Path::new(env!("CARGO_MANIFEST_DIR")));
    compare("../include/berth.h", &made);
    compare("docs/reference.md", &reference(&made));
}

#[test]
fn each_function_says_whose_thread_it_is_and_what_it_returns() {
    for function in parse::functions() {
        let comment = function.comment.join(" ");
        let name = function.name();
        assert!(
            comment.to_lowercase().contains("thread"),
            "{name}: {comment}"
        );
        if name == "berth_abi_version" {
            continue;
        }
        assert!(comment.contains("BERTH_RESULT_"), "{name}: {comment}");
        for (kind, parameter) in function.parameters() {
            let is_out = parameter.starts_with("out");
            let told = comment.contains(&format!("@param {parameter} "));
            assert!(
                told || !is_out,
                "{name} does not tell of {kind} {parameter}"
            );
        }
    }
}
