//! Gives the shared library its soname: a program that was linked against another ABI version finds no
//! library of the name that it asks for.

use std::{env, fs};

/// Where the ABI version is written.
const SOURCE: &str = "src/scheduler.rs";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let source = fs::read_to_string(SOURCE).expect("the crate's own source");
    let after = source.split("pub const BERTH_ABI_VERSION: u32 = ").nth(1);
    let version = after.and_then(|text| text.split(';').next());
    let version = version.expect("the source names its ABI version");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libberth.so.{version}");
    }
}
