//! No start files, no libc: the programs bring their own entry.

fn main() {
    for argument in ["-nostartfiles", "-nostdlib", "-static", "-no-pie"] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
