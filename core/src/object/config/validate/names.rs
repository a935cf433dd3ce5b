//! Names of labels. Mirrors `apimachinery/pkg/api/validate/content`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Longest name part of a label key, and longest label value.
const LABEL_BYTES_MAX: usize = 63;
/// Longest prefix of a label key.
const SUBDOMAIN_BYTES_MAX: usize = 253;

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
                if !is_subdomain(prefix) {
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
    } else if name.len() > LABEL_BYTES_MAX {
        problems.push(format!("name part {}", too_long(LABEL_BYTES_MAX)));
    }
    if !is_label_name(name) {
        problems.push(format!("name part {LABEL_KEY}"));
    }
    problems
}

/// What is wrong with a label value; upstream's `IsLabelValue`.
pub(super) fn label_value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > LABEL_BYTES_MAX {
        problems.push(too_long(LABEL_BYTES_MAX));
    }
    if !value.is_empty() && !is_label_name(value) {
        problems.push(LABEL_VALUE.to_owned());
    }
    problems
}

/// Whether the name is that of an extended resource; upstream's `IsExtendedResourceName`.
pub(super) fn is_extended_resource(name: &str) -> bool {
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    !native
        && !name.starts_with("requests.")
        && label_key_problems(&format!("requests.{name}")).is_empty()
}

fn too_long(bytes: usize) -> String {
    format!("must be no more than {bytes} bytes")
}

fn is_label_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && name.ends_with(|letter: char| letter.is_ascii_alphanumeric())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_subdomain(name: &str) -> bool {
    let lower = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    name.split('.').all(|label| {
        label.starts_with(lower)
            && label.ends_with(lower)
            && label.chars().all(|letter| lower(letter) || letter == '-')
    })
}
