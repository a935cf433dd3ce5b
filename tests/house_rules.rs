//! Rules of the house that no tool knows.

use std::path::Path;

#[test]
fn every_plugin_file_has_a_row_in_the_table() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("core/src/plugins");
    for entry in std::fs::read_dir(folder).expect("core/src/plugins is there") {
        let path = entry.expect("folder entry").path();
        if path.is_dir() {
            continue;
        }
        let file = path
            .file_stem()
            .expect("file name")
            .to_string_lossy()
            .into_owned();
        let row = berth_core::plugins::Plugin::ALL
            .iter()
            .any(|plugin| snake_case(plugin.name()) == file);
        assert!(row, "{file}.rs has no row in plugins.rs");
    }
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
