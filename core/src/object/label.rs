//! Forms of names and values that the API server insists on.
//!
//! Mirrors `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`.

/// Characters of a label value, or of the name part of a qualified name, at most.
const PART_MAX: usize = 63;
/// Characters of a DNS subdomain at most.
const SUBDOMAIN_MAX: usize = 253;

/// A name of at most 63 characters, optionally after a DNS subdomain and a slash.
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        None => is_name_part(text),
        Some((prefix, name)) => is_subdomain(prefix) && is_name_part(name),
    }
}

/// Empty, or at most 63 letters, digits, `-`, `_`, `.`, with a letter or digit at both ends.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// RFC 1123: lower-case labels joined by dots, at most 253 characters.
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_MAX && text.split('.').all(is_dns_label_of_any_length)
}

/// RFC 1123: lower-case letters, digits and `-`, at most 63 characters.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= PART_MAX && is_dns_label_of_any_length(text)
}

fn is_dns_label_of_any_length(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    ends_are(text, plain) && text.bytes().all(|byte| plain(byte) || byte == b'-')
}

fn is_name_part(text: &str) -> bool {
    text.len() <= PART_MAX
        && ends_are(text, |byte| byte.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn ends_are(text: &str, plain: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| plain(*byte)) && bytes.last().is_some_and(|byte| plain(*byte))
}
