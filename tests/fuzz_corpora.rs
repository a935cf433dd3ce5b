//! The stored inputs of the fuzz targets, each through its target: what fuzzing once found, and
//! inputs that together reach what it reached.

#[path = "fuzz/src/lib.rs"]
mod fuzz;

use berth_test_support::tests_folder;
use fuzz::TARGETS;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of a stored input, which a test reads at every run.
const INPUT_BYTES_MAX: u64 = 4096;
/// Stored inputs of a target.
const INPUTS_MAX: usize = 300;

fn folder(name: &str) -> PathBuf {
    tests_folder().join("fuzz").join(name)
}

/// The entries of a folder, by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder's entry").path())
        .collect();
    paths.sort();
    paths
}

fn stems(folder: &Path) -> BTreeSet<String> {
    let stem = |path: &PathBuf| {
        let stem = path.file_stem().expect("a file has a name");
        stem.to_string_lossy().into_owned()
    };
    entries(folder).iter().map(stem).collect()
}

fn run_corpus(target: &str) {
    let run = TARGETS.iter().find(|(name, _)| *name == target);
    let (_, run) = run.unwrap_or_else(|| panic!("no target {target}"));
    let inputs = entries(&folder("corpus").join(target));
    assert!(!inputs.is_empty(), "{target} has no inputs");
    assert!(
        inputs.len() <= INPUTS_MAX,
        "{target}: run cmin, or drop what is alike"
    );
    for path in inputs {
        let bytes = fs::read(&path).expect("a stored input");
        assert!(
            bytes.len() as u64 <= INPUT_BYTES_MAX,
            "{} is too long",
            path.display()
        );
        // Captured, and shown with what fails.
        println!("{}", path.display());
        run(&bytes);
    }
}

#[test]
fn every_target_has_its_program_and_its_corpus() {
    let named: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(named.len(), TARGETS.len());
    assert_eq!(stems(&folder("fuzz_targets")), named);
    assert_eq!(stems(&folder("corpus")), named);
    let manifest = berth_test_support::read("fuzz/Cargo.toml");
    for name in &named {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
    }
}

macro_rules! corpora {
    ($($target:ident)+) => {
        $(#[test] fn $target() { run_corpus(stringify!($target)); })+

        #[test]
        fn every_corpus_has_a_test() {
            let tested: BTreeSet<&str> = [$(stringify!($target)),+].into();
            assert_eq!(tested, TARGETS.iter().map(|(name, _)| *name).collect());
        }
    };
}

corpora! {
    affinity calls cluster config events extender intake json node pod quantity selector state times toleration yaml
}
