//! How the cost of a decision grows with the cluster: the laws of `ARCHITECTURE.md`, over 1,000 to
//! 1,000,000 nodes.
//!
//! `cargo bench --bench growth` prints nanoseconds a decision and how they grow, of which only those of
//! one run compare; names of shapes and `--largest N` narrow it. Without `--bench`, as `cargo test` runs
//! it, every shape is placed on a small cluster and what happened is checked.

#[path = "growth/shape.rs"]
mod shape;

use shape::{Course, SHAPES, Shape};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const SIZES: [u32; 5] = [1_000, 5_000, 20_000, 100_000, 1_000_000];

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
    let largest = arguments
        .iter()
        .position(|argument| argument == "--largest")
        .and_then(|at| arguments.get(at + 1)?.parse().ok())
        .unwrap_or(u32::MAX);
    let named: Vec<&Shape> = SHAPES
        .iter()
        .filter(|shape| arguments.iter().any(|argument| argument == shape.name))
        .collect();
    let chosen = if named.is_empty() {
        SHAPES.iter().collect()
    } else {
        named
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
            let course = Course::of(shape, *size, shape.rounds(*size), ALLOCATOR);
            print!("{:>11.0}", course.mean);
            use std::io::Write;
            let _ = std::io::stdout().flush();
            assert_eq!(course.allocations, 0, "{} at {size}", shape.name);
            means.push((*size, course.mean));
        }
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
