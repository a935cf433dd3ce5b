//! The scheduler on an allocator of ours, which counts: objects are decoded, the scheduler is made,
//! and from then on nothing is allocated.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::boxed::Box;
use alloc::vec::Vec;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Node, Object, Pod};
use berth_core::{Capacities, Change, Options, Outcome, Scheduler};
use berth_probe::Output;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SIZE: usize = 64 << 20;

/// Hands out one block after another and takes none back.
#[repr(align(64))]
struct Arena(UnsafeCell<[u8; SIZE]>);

// SAFETY: one thread, and every byte is handed out once.
unsafe impl Sync for Arena {}

static USED: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: blocks lie inside the arena, aligned and apart.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        let start = USED.load(Relaxed).next_multiple_of(layout.align());
        let end = start.saturating_add(layout.size());
        if end > SIZE {
            return core::ptr::null_mut();
        }
        USED.store(end, Relaxed);
        // SAFETY: `start` is below SIZE.
        unsafe { self.0.get().cast::<u8>().add(start) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ARENA: Arena = Arena(UnsafeCell::new([0; SIZE]));

const NODES: [&str; 2] = [
    r#"{"metadata": {"name": "n1", "labels": {"zone": "a"}},
        "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "10"}}}"#,
    r#"{"metadata": {"name": "n2", "labels": {"zone": "b"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}"#,
];

const PODS: [&str; 3] = [
    r#"{"metadata": {"name": "web-1", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}"#,
    r#"{"metadata": {"name": "web-2", "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]}}"#,
    r#"{"metadata": {"name": "huge", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "50E"}}}]}}"#,
];

#[unsafe(no_mangle)]
extern "Rust" fn probe() -> fmt::Result {
    let config = KubeSchedulerConfiguration::default();
    let mut objects = Vec::new();
    for text in NODES {
        let node: Node = serde_json::from_str(text).map_err(|_| fmt::Error)?;
        objects.push(Object::Node(Box::new(node)));
    }
    for text in PODS {
        let pod: Pod = serde_json::from_str(text).map_err(|_| fmt::Error)?;
        objects.push(Object::Pod(Box::new(pod)));
    }
    let capacities = Capacities::for_size(8, 32);
    let scheduler = Scheduler::new(&config, Options::default(), capacities);
    let mut scheduler = scheduler.map_err(|_| fmt::Error)?;
    let before = COUNT.load(Relaxed);
    for object in &objects {
        scheduler
            .apply(Change::Added, object)
            .map_err(|_| fmt::Error)?;
    }
    for name in ["web-1", "web-2", "huge"] {
        let pod = scheduler.find_pod("default", name).ok_or(fmt::Error)?;
        match scheduler.schedule(pod).outcome {
            Outcome::Scheduled(node) => {
                writeln!(Output, "{name}: {}", scheduler.node(node).name)?;
            }
            _ => writeln!(Output, "{name}: no node")?,
        }
    }
    let allocated = COUNT.load(Relaxed) - before;
    writeln!(Output, "{allocated} allocations after construction")
}
