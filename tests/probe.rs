//! Core without std and libc: two freestanding programs link, run and print a decision.
//!
//! `tests/probe` is a package of its own. Its programs bring an entry for Linux on x86-64; elsewhere
//! this is skipped.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "probe/src/workload.rs"]
mod workload;

use berth_core::kernel::{CPU, LANES, MEMORY, NodeBlock, naive};
use std::path::{Path, PathBuf};
use std::process::Command;
use workload::{BLOCKS, NODES, fill, is_cordoned, request};

#[test]
fn the_kernels_run_without_an_allocator() {
    let program = built("kernel", &[]);
    assert_eq!(output(&program), plain_decision());
    let symbols = symbols(&program);
    for foreign in [
        "std::",
        "__rust_alloc",
        "__rg_alloc",
        "malloc",
        "core::panicking",
    ] {
        let found: Vec<_> = symbols
            .lines()
            .filter(|line| line.contains(foreign))
            .collect();
        assert!(found.is_empty(), "{foreign}: {found:#?}");
    }
}

#[test]
fn the_scheduler_runs_without_std_and_allocates_no_more_once_it_is_made() {
    let program = built("scheduler", &["--features", "scheduler"]);
    let expected = "web-1: n2\nweb-2: n1\nhuge: no node\n0 allocations after construction\n";
    assert_eq!(output(&program), expected);
    let symbols = symbols(&program);
    for foreign in [" std::", "malloc"] {
        let found: Vec<_> = symbols
            .lines()
            .filter(|line| line.contains(foreign))
            .collect();
        assert!(found.is_empty(), "{foreign}: {found:#?}");
    }
}

/// What the first program decides, in plain loops.
fn plain_decision() -> String {
    let mut blocks = vec![NodeBlock::EMPTY; BLOCKS];
    fill(&mut blocks);
    let request = request();
    let (mut count, mut best) = (0, None);
    for row in (0..NODES).filter(|row| !is_cordoned(*row)) {
        let (block, lane) = (&blocks[row as usize / LANES], row as usize % LANES);
        let parts = [CPU, MEMORY].map(|resource| {
            (
                block.allocatable[resource][lane],
                block.requested[resource][lane],
                request.spec[resource],
            )
        });
        if parts
            .iter()
            .any(|(allocatable, taken, asked)| naive::exceeds(*asked, *allocatable, *taken))
        {
            continue;
        }
        count += 1;
        let fit = naive::weighted_mean(parts.iter().map(|(allocatable, taken, asked)| {
            let taken = taken + i128::from(*asked);
            (naive::least_allocated(*allocatable, taken), 1)
        }));
        let balance = |with_pod: i128| {
            naive::balance(
                parts
                    .into_iter()
                    .filter_map(move |(allocatable, taken, asked)| {
                        naive::fraction(allocatable, taken + with_pod * i128::from(asked))
                    }),
            )
        };
        let total = fit + naive::balance_score(balance(1), balance(0));
        if best.is_none_or(|(best, _)| total > best) {
            best = Some((total, row));
        }
    }
    let (total, row) = best.expect("a node that fits");
    format!("row {row} of {count} feasible: {total}\n")
}

/// Builds a program of the package, apart from the builds of the workspace.
fn built(name: &str, features: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = root.join("target/probe").join(name);
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--release", "--bin", name, "--manifest-path"])
        .arg(root.join("tests/probe/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .args(features)
        // Flags meant for the workspace would break the build script.
        .env_remove("RUSTFLAGS");
    let built = cargo.output().expect("cargo runs");
    let told = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{told}");
    target.join("release").join(name)
}

fn output(program: &Path) -> String {
    let run = Command::new(program).output().expect("the program runs");
    assert!(run.status.success(), "{:?}", run.status);
    String::from_utf8(run.stdout).expect("text")
}

/// Symbols of the program, demangled by binutils, which a C compiler brings.
fn symbols(program: &Path) -> String {
    let nm = Command::new("nm").arg("-C").arg(program).output();
    let listed = nm.expect("nm of binutils: install `binutils`");
    let symbols = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(symbols.contains("_start"), "no symbols: {symbols}");
    symbols
}
