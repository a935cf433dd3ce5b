//! Rules of the house that no tool knows.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a Rust file at most, tests included.
const LINES_MAX: usize = 600;

/// Folders with code of ours.
const CODE: [&str; 5] = ["core", "daemon", "ffi", "python", "tests"];

/// The binary that README's first command names is one that cargo finds from the root.
#[test]
fn the_readme_s_first_command_names_a_binary_of_the_default_members() {
    let readme = read(&root().join("README.md"));
    let after = readme.split("cargo run --release --bin ").nth(1);
    let binary = after.and_then(|text| text.split_whitespace().next());
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args([
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ]);
    let output = cargo.current_dir(root()).output().expect("cargo runs");
    let told = String::from_utf8_lossy(&output.stderr);
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect(&told);
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let default = list(&metadata["workspace_default_members"]);
    let packages = list(&metadata["packages"]).into_iter();
    let mut targets = packages
        .filter(|package| default.contains(&package["id"]))
        .flat_map(|package| list(&package["targets"]));
    let is_it = |target: serde_json::Value| {
        target["name"].as_str() == binary && list(&target["kind"]).contains(&"bin".into())
    };
    assert!(binary.is_some() && targets.any(is_it), "{binary:?}");
}

/// Words that say nothing about what is in a file.
const EMPTY_WORDS: [&str; 3] = ["util", "common", "misc"];

#[test]
fn every_plugin_file_has_a_row_in_the_table() {
    for path in entries(&root().join("core/src/plugins")) {
        if path.is_dir() {
            continue;
        }
        let file = stem(&path);
        let row = berth_core::plugins::Plugin::ALL
            .iter()
            .any(|plugin| snake_case(plugin.name()) == file);
        assert!(row, "{file}.rs has no row in plugins.rs");
    }
}

#[test]
fn no_rust_file_is_too_long_to_be_read_at_once() {
    for path in code_files() {
        let lines = read(&path).lines().count();
        assert!(
            lines <= LINES_MAX,
            "{} has {lines} lines, {LINES_MAX} are allowed: split it by stage or noun",
            path.display()
        );
    }
}

#[test]
fn file_names_say_what_is_in_the_file() {
    for path in code_files() {
        let name = stem(&path);
        let empty = name
            .split('_')
            .find(|word| EMPTY_WORDS.contains(&word.trim_end_matches('s')));
        assert_eq!(empty, None, "{}", path.display());
    }
}

#[test]
fn every_path_that_architecture_md_names_exists() {
    let page = root().join("ARCHITECTURE.md");
    let mut named = 0;
    for word in code_spans(&read(&page)) {
        let is_path = word.contains('/') || Path::new(&word).extension().is_some();
        if !is_path || word.contains([' ', '*', '<', '{', ':']) {
            continue;
        }
        named += 1;
        let exists = ["", "core/src"]
            .iter()
            .any(|folder| root().join(folder).join(&word).exists());
        assert!(exists, "ARCHITECTURE.md names {word}, which is not there");
    }
    assert!(named > 0, "ARCHITECTURE.md names no path");
}

#[test]
fn every_row_of_differences_md_and_of_faults_names_a_test_that_exists() {
    let code: String = code_files().iter().map(|path| read(path)).collect();
    for page in ["DIFFERENCES.md", "tests/faults.md"] {
        let text = read(&root().join(page));
        let rows = text
            .lines()
            .filter(|line| line.starts_with('|') && !line.starts_with("|-"))
            .filter(|line| !line.starts_with("| -") && !line.contains("| test |"));
        let mut count = 0;
        for row in rows {
            count += 1;
            let cells = row.trim_matches('|');
            let last = cells.rsplit('|').next().unwrap_or_default();
            let tests = code_spans(last);
            assert!(!tests.is_empty(), "names no test in its last cell: {row}");
            for test in tests {
                let name = test.rsplit("::").next().unwrap_or(&test);
                assert!(
                    code.contains(&format!("fn {name}(")),
                    "there is no test {name}: {row}"
                );
            }
        }
        assert!(count > 0, "{page} has no rows");
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().expect("a file has a name");
    stem.to_string_lossy().into_owned()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries
        .map(|entry| entry.expect("a folder's entry").path())
        .collect()
}

/// The Rust files of [`CODE`].
fn code_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = CODE.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 20, "the code was not found");
    files
}

/// What stands between single backticks, outside of fenced blocks.
fn code_spans(text: &str) -> Vec<String> {
    let outside = text.split("```").step_by(2);
    outside
        .flat_map(|part| part.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
