//! Ports of this machine that nobody uses.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that systems give to connections going out, so that none of those comes between
/// the look and the use, or takes the port of a server that is down for a while.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

static TAKEN: AtomicU16 = AtomicU16::new(0);

/// A port that is free on loopback; each call in one process gives another one, and processes begin
/// far from each other.
pub fn free_port() -> u16 {
    let start = (std::process::id().wrapping_mul(97) % u32::from(COUNT)) as u16;
    for _ in 0..COUNT {
        let step = TAKEN.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = FIRST + (start + step) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no port from {FIRST} to {} is free", FIRST + COUNT - 1);
}
