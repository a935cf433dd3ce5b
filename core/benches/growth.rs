//! How the cost of a decision grows with the cluster: the laws of `ARCHITECTURE.md`, over 1,000 to
//! 1,000,000 nodes.
//!
//! `cargo bench -p berth-core --bench growth` prints nanoseconds a decision and how they grow, of which only those of
//! one run compare; names of shapes and `--largest N` narrow it, and `--fill N` places N pods of 16 kinds
//! on N nodes instead and tells the memory that this takes. Without `--bench`, as `cargo test` runs
//! it, every shape is placed on a small cluster and what happened is checked.

#[path = "growth/shape.rs"]
mod shape;

use berth_core::Change;
use berth_core::object::Object;
use shape::{Cluster, Course, SHAPES, Shape, best, node, rounds};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::io::Write;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const SIZES: [u32; 5] = [1_000, 5_000, 20_000, 100_000, 1_000_000];
const EVENTS: u32 = 2_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        for shape in &SHAPES {
            let course = Course::of(shape, 200, 1, ALLOCATOR);
            assert_eq!(course.placed, shape.places(200), "{}", shape.name);
            assert_eq!(course.allocations, 0, "{}", shape.name);
        }
        println!("growth: {} shapes placed as expected", SHAPES.len());
        return;
    }
    let number = |flag: &str| -> Option<u32> {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1)?.parse().ok()
    };
    if let Some(count) = number("--fill") {
        fill(count);
        return;
    }
    let largest = number("--largest").unwrap_or(u32::MAX);
    let named: Vec<&'static Shape> = SHAPES
        .iter()
        .filter(|shape| arguments.iter().any(|argument| argument == shape.name))
        .collect();
    let chosen = if named.is_empty() {
        SHAPES.iter().collect()
    } else {
        named.clone()
    };
    let sizes: Vec<u32> = SIZES.into_iter().filter(|size| *size <= largest).collect();
    print!("{:<26}", "ns a decision, nodes:");
    for size in &sizes {
        print!("{size:>11}");
    }
    println!("  growth from 5,000");
    for shape in chosen {
        print!("{:<26}", shape.name);
        let mut means = Vec::new();
        for size in &sizes {
            let course = Course::of(shape, *size, rounds(*size), ALLOCATOR);
            print!("{:>11.0}", course.mean);
            let _ = std::io::stdout().flush();
            assert_eq!(course.allocations, 0, "{} at {size}", shape.name);
            means.push((*size, course.mean));
        }
        println!("  {}", fit(&means));
    }
    if named.is_empty() {
        print_events(&sizes);
    }
}

/// Nanoseconds that bound pods take to come and to go, and nodes to change, an event.
fn events(nodes: u32) -> [f64; 3] {
    let plain = &SHAPES[0];
    let mut cluster = Cluster::new(plain, nodes, EVENTS, best());
    cluster.warm_up();
    let pods: Vec<Object> = (0..EVENTS)
        .map(|number| plain.object(number, Some(number * 7 % nodes)))
        .collect();
    let changed: Vec<Object> = (0..EVENTS).map(|number| node(number % nodes)).collect();
    [
        (Change::Added, &pods),
        (Change::Deleted, &pods),
        (Change::Modified, &changed),
    ]
    .map(|(change, objects)| {
        let begin = Instant::now();
        for object in objects {
            cluster.apply(change, object);
        }
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(EVENTS)
    })
}

/// As many pods as nodes, of 16 kinds in turn.
fn fill(count: u32) {
    let shape = SHAPES.iter().find(|shape| shape.name == "16 classes");
    let mebibytes = |bytes: u64| bytes >> 20;
    let begin = Instant::now();
    let mut cluster = Cluster::new(shape.expect("the shape"), count, count, best());
    let built = begin.elapsed();
    let stated = cluster.scheduler.capacities().bytes();
    let region = Region::new(ALLOCATOR);
    let begin = Instant::now();
    let placed = cluster.decide(count);
    let decided = begin.elapsed();
    let allocations = region.change().allocations;
    println!(
        "{placed} of {count} pods placed on {count} nodes in {:.2} s ({:.0} ns a pod, {allocations} \
         allocations); {:.2} s to read nodes and pods; {} MiB stated, {} MiB resident at most",
        decided.as_secs_f64(),
        decided.as_secs_f64() * 1e9 / f64::from(count),
        built.as_secs_f64(),
        mebibytes(stated),
        mebibytes(peak()),
    );
    assert_eq!(placed, count);
}

/// Bytes that were resident at most, where the system says so.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

fn print_events(sizes: &[u32]) {
    let all: Vec<[f64; 3]> = sizes.iter().map(|size| events(*size)).collect();
    println!("{:<26}", "ns an event:");
    for (at, name) in ["a bound pod comes", "it goes", "a node is told anew"]
        .into_iter()
        .enumerate()
    {
        print!("{name:<26}");
        for events in &all {
            print!("{:>11.0}", events[at]);
        }
        let means: Vec<(u32, f64)> = sizes
            .iter()
            .copied()
            .zip(all.iter().map(|own| own[at]))
            .collect();
        println!("  {}", fit(&means));
    }
}

/// Exponent of nodes between 5,000 and the largest size.
fn fit(means: &[(u32, f64)]) -> String {
    let from = means.iter().find(|(size, _)| *size >= 5_000);
    match (from, means.last()) {
        (Some((low, first)), Some((high, last))) if low < high => {
            let grown = last / first;
            let exponent = grown.ln() / (f64::from(*high) / f64::from(*low)).ln();
            format!("x{grown:.2}, n^{exponent:.2}")
        }
        _ => String::new(),
    }
}
