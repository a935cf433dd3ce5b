//! `include/berth.h` is what cbindgen makes of this crate. `BERTH_BLESS=1` writes it anew.

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};
use std::env;
use std::fs;
use std::path::Path;

const ABOUT: &str = "\
/* Berth: kube-scheduler's decision as a library.
 *
 * - Every function but berth_abi_version returns a berth_result_t; nothing unwinds, aborts or
 *   prints.
 * - Where the result is not BERTH_RESULT_OK, nothing was changed, and nothing written but the size
 *   that BERTH_RESULT_SMALL_BUFFER asks for; berth_last_error has the reason in words.
 * - Pointers are checked for NULL, and must else be valid for what their function says. Results
 *   are written through pointers that come last.
 * - Strings are a pointer and a length in bytes, UTF-8, without a terminator.
 * - Structs begin with their size, which the caller sets, also of those that are written.
 * - A handle may be used by any thread, by one at a time: a second one gets BERTH_RESULT_BUSY.
 */";

fn header(folder: &Path) -> String {
    let mut config = Config {
        language: Language::C,
        cpp_compat: true,
        documentation_style: DocumentationStyle::C,
        style: Style::Type,
        header: Some(ABOUT.to_owned()),
        include_guard: Some("BERTH_H".to_owned()),
        autogen_warning: Some(
            "/* Written by ffi/tests/header.rs from the crate berth-ffi; not to be edited. */"
                .into(),
        ),
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
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
    let safety = " *\n * # Safety\n * Pointers are NULL or valid as described.\n";
    text.replace(safety, "")
}

#[test]
fn the_header_is_what_the_crate_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = folder.join("../include/berth.h");
    let made = header(folder);
    if env::var_os("BERTH_BLESS").is_some() {
        fs::write(&path, &made).expect("the header is written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "include/berth.h is not fresh: run `BERTH_BLESS=1 cargo test -p berth-ffi --test header`"
    );
}
