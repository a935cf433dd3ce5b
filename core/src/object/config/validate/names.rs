//! What upstream says of label keys and values. Mirrors `apimachinery/pkg/api/validate/content`.

use crate::object::label::{
    PART_BYTES_MAX, SUBDOMAIN_BYTES_MAX, has_name_part_form, has_subdomain_form,
};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const LABEL_KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
    used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
    'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What is wrong with a label key (`name` or `prefix/name`); upstream's `IsLabelKey`.
pub(super) fn label_key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > SUBDOMAIN_BYTES_MAX {
                    problems.push(format!("prefix part {}", too_long(SUBDOMAIN_BYTES_MAX)));
                }
                if !has_subdomain_form(prefix) {
                    problems.push(format!("prefix part {SUBDOMAIN}"));
                }
            }
            *name
        }
        _ => {
            return [format!(
                "a valid label key {LABEL_KEY} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            )]
            .into();
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > PART_BYTES_MAX {
        problems.push(format!("name part {}", too_long(PART_BYTES_MAX)));
    }
    if !has_name_part_form(name) {
        problems.push(format!("name part {LABEL_KEY}"));
    }
    problems
}

/// What is wrong with a label value; upstream's `IsLabelValue`.
pub(super) fn label_value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > PART_BYTES_MAX {
        problems.push(too_long(PART_BYTES_MAX));
    }
    if !value.is_empty() && !has_name_part_form(value) {
        problems.push(LABEL_VALUE.to_owned());
    }
    problems
}

fn too_long(bytes: usize) -> String {
    format!("must be no more than {bytes} bytes")
}
