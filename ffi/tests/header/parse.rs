//! `include/berth.h` as its functions, structs and comments.
#![allow(dead_code, reason = "each suite uses a part of it")]

use std::fs;
use std::path::Path;

/// The header, as it is kept.
pub fn kept() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/berth.h");
    fs::read_to_string(path).expect("include/berth.h is there")
}

/// A comment, and what it stands before, in one line each.
#[derive(Clone, Debug, Default)]
pub struct Item {
    pub comment: Vec<String>,
    /// A declaration, up to its `;`, or a `#define` with its value.
    pub code: String,
    /// Lines of a struct or enumeration, each with its comment.
    pub notes: Vec<(String, String)>,
}

impl Item {
    /// Name of the function, type or macro.
    pub fn name(&self) -> &str {
        let code = self.code.as_str();
        let end = if let Some(rest) = code.strip_prefix("#define ") {
            return rest.split_whitespace().next().unwrap_or_default();
        } else if let Some((_, rest)) = code.split_once("(*") {
            return rest.split(')').next().unwrap_or_default();
        } else if code.starts_with("typedef") {
            code.trim_end_matches(';')
        } else {
            code.split('(').next().unwrap_or_default()
        };
        end.rsplit([' ', '*']).next().unwrap_or_default()
    }

    pub fn is_function(&self) -> bool {
        self.code.starts_with("berth_result_t ") || self.code.starts_with("uint32_t ")
    }

    /// Type and name of each parameter of a function.
    pub fn parameters(&self) -> Vec<(String, String)> {
        let inside = self.code.split_once('(').map_or("", |(_, rest)| rest);
        let inside = inside.trim_end_matches(");");
        let each = inside.split(',').map(str::trim);
        each.filter(|parameter| *parameter != "void")
            .map(|parameter| {
                let at = parameter.rfind([' ', '*']).map_or(0, |at| at + 1);
                let (kind, name) = parameter.split_at(at);
                (kind.trim().to_owned(), name.to_owned())
            })
            .collect()
    }

    /// Names of a struct's fields.
    pub fn fields(&self) -> Vec<String> {
        let Some((_, inside)) = self.code.split_once("typedef struct {") else {
            return Vec::new();
        };
        let inside = inside.rsplit_once('}').map_or("", |(inside, _)| inside);
        let fields = inside.split(';').map(str::trim);
        fields
            .filter(|field| !field.is_empty())
            .filter_map(|field| field.rsplit([' ', '*']).next().map(str::to_owned))
            .collect()
    }
}

/// Everything that has a comment, in the header's order.
pub fn items(header: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut open = Item::default();
    // The comment of a field of the struct or enumeration that is open.
    let mut note = Vec::new();
    let mut in_comment = false;
    for line in header.lines() {
        let text = line.trim();
        let is_inside = !open.code.is_empty();
        if text == "/**" {
            in_comment = true;
            if !is_inside {
                open.comment.clear();
            }
        } else if in_comment {
            if text == "*/" {
                in_comment = false;
                continue;
            }
            let line = text.trim_start_matches('*');
            let line = line.strip_prefix(' ').unwrap_or(line).to_owned();
            if is_inside {
                note.push(line);
            } else {
                open.comment.push(line);
            }
        } else if text.is_empty() || text.starts_with("//") {
            // Nothing.
        } else if text.starts_with("#define ") && !open.comment.is_empty() && !is_inside {
            text.clone_into(&mut open.code);
            items.push(std::mem::take(&mut open));
        } else if !text.starts_with('#') && (!open.comment.is_empty() || is_inside) {
            if is_inside {
                open.code.push(' ');
            }
            if !note.is_empty() {
                open.notes.push((text.to_owned(), note.join(" ")));
                note.clear();
            }
            open.code.push_str(text);
            let braces = |brace| open.code.matches(brace).count();
            if text.ends_with(';') && braces('{') == braces('}') {
                items.push(std::mem::take(&mut open));
            }
        }
    }
    items
}

/// The functions that the library exports.
pub fn functions() -> Vec<Item> {
    let functions: Vec<Item> = items(&kept())
        .into_iter()
        .filter(Item::is_function)
        .collect();
    assert!(functions.len() > 30, "the header was not understood");
    functions
}
