//! Every struct has the same layout for C and for Rust: each field's place and size, as a C compiler has
//! them from the header, against the crate's. And no layout, declaration or number changes under one ABI
//! version: `ffi/abi` has those of each.

#[path = "c/compile.rs"]
mod compile;
#[path = "header/parse.rs"]
mod parse;
#[path = "golden/replay.rs"]
mod replay;

use berth::*;
use berth_test_support::command::{empty_folder, tool};
use parse::Item;
use replay::text;
use std::fmt::Write;
use std::fs;
use std::mem::offset_of;
use std::process::Command;

fn size_of_field<S, F>(_: impl Fn(&S) -> &F) -> usize {
    size_of::<F>()
}

/// `struct.field offset size` of every field, and `struct size`.
fn of_rust() -> Vec<String> {
    let mut lines = Vec::new();
    macro_rules! layout {
        ($($struct:ident { $($field:ident)+ })+) => { $(
            lines.push(format!("{} {}", stringify!($struct), size_of::<$struct>()));
            $(
                let size = size_of_field(|value: &$struct| &value.$field);
                let offset = offset_of!($struct, $field);
                let name = stringify!($field);
                lines.push(format!("{}.{name} {offset} {size}", stringify!($struct)));
            )+
        )+ };
    }
    layout! {
        berth_string_t { text length }
        berth_label_t { key value }
        berth_amount_t { resource amount }
        berth_taint_t { key value effect }
        berth_image_t { name bytes }
        berth_node_t {
            size name allocatable allocatable_length labels labels_length taints taints_length
            images images_length declared_features declared_features_length unschedulable
        }
        berth_toleration_t { key value op effect }
        berth_requirement_t { key op values values_length }
        berth_node_term_t { requirements requirements_length weight }
        berth_pod_term_t {
            labels labels_length requirements requirements_length namespaces namespaces_length
            topology_key weight is_anti
        }
        berth_spread_t {
            labels labels_length topology_key max_skew min_domains when_unsatisfiable
        }
        berth_port_t { port protocol host_ip }
        berth_class_t {
            size namespace_name scheduler_name requests requests_length labels labels_length
            node_selector node_selector_length node_terms node_terms_length tolerations
            tolerations_length pod_terms pod_terms_length spread spread_length ports ports_length
            image
        }
        berth_pod_t { size class_id priority name uid node_name never_preempts }
        berth_capacities_t {
            size nodes pods classes live_classes class_words live_words texts text_bytes node_words
            record_words resources topology_keys domains terms term_counts term_words links images
            image_words image_counts ports port_counts objects object_words in_flight_events
            event_words
        }
        berth_options_t {
            size abi_version fidelity ties node_search preemption seed capacities
        }
        berth_loaded_t { size pending skipped }
        berth_counts_t { size outcome rows feasible evaluated scored }
        berth_decision_t {
            size outcome pod node nominated_node victims attempt feasible evaluated
        }
        berth_victim_t { pod kind }
        berth_filter_t { size name reason callback context }
        berth_score_t { size name weight callback context }
        berth_reserve_t { size reserve unreserve context }
    }
    lines.sort();
    lines
}

#[test]
fn every_field_is_where_c_has_it() {
    let Some(mut compiler) = tool("cc", compile::INSTALL) else {
        return;
    };
    let mut body = String::new();
    for item in parse::items(&parse::kept()) {
        let (name, fields) = (item.name().to_owned(), item.fields());
        if fields.is_empty() {
            continue;
        }
        writeln!(body, "    printf(\"{name} %zu\\n\", sizeof({name}));").expect("write to text");
        for field in fields {
            writeln!(
                body,
                "    printf(\"{name}.{field} %zu %zu\\n\", offsetof({name}, {field}), \
                 sizeof((({name} *)0)->{field}));"
            )
            .expect("write to text");
        }
    }
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "layout");
    let source = folder.join("layout.c");
    let program = folder.join("layout");
    let whole = format!(
        "#include <stdio.h>\n#include \"berth.h\"\nint main(void) {{\n{body}    return 0;\n}}\n"
    );
    fs::write(&source, whole).expect("the program is written");
    let output = compiler
        .args(compile::STRICT)
        .arg("-I")
        .arg(compile::crate_folder().join("../include"))
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("cc runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = replay::run(&mut Command::new(program), "");
    let told = text(&output.stdout);
    let mut of_c: Vec<String> = told.lines().map(str::to_owned).collect();
    of_c.sort();
    assert_eq!(of_c, of_rust());
}

/// Everything that a compiled program relies on, a line each.
fn abi() -> Vec<String> {
    let items = parse::items(&parse::kept());
    let told = items.into_iter().filter(|item| item.fields().is_empty());
    let told = told.filter(|item| item.name() != "BERTH_ABI_VERSION");
    // Opaque types and aliases too.
    let mut lines = Vec::new();
    for Item { code, .. } in told {
        match code.strip_prefix("typedef enum {") {
            // Each by itself, as others may join it.
            Some(rest) => {
                let (numbers, _) = rest.split_once('}').expect("an enumeration ends");
                let numbers = numbers.split(',').map(str::trim);
                lines.extend(
                    numbers
                        .filter(|number| !number.is_empty())
                        .map(str::to_owned),
                );
            }
            None => lines.push(code),
        }
    }
    lines.extend(of_rust());
    lines.sort();
    lines
}

#[test]
fn nothing_that_a_compiled_program_relies_on_has_changed() {
    let name = format!("abi/{BERTH_ABI_VERSION}.txt");
    let path = compile::crate_folder().join(&name);
    let before = fs::read_to_string(&path).unwrap_or_default();
    let now = abi();
    let gone: Vec<&str> = before
        .lines()
        .filter(|line| !now.iter().any(|own| own == line))
        .collect();
    assert!(
        gone.is_empty(),
        "ffi/{name} has what is gone or has changed: raise BERTH_ABI_VERSION, and make the next \
         file by BERTH_BLESS=1\n{gone:#?}"
    );
    let whole: String = now.iter().map(|line| line.clone() + "\n").collect();
    // What is new changes nothing for programs that do not use it.
    if std::env::var_os("BERTH_BLESS").is_some() {
        fs::write(&path, &whole).expect("the file is written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == whole,
        "ffi/{name} lacks what is new: run `BERTH_BLESS=1 cargo test -p berth-ffi --test layout`"
    );
}
