//! Forms of names and values that the API server insists on.
//!
//! Mirrors `staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go`. What is said of a
//! name that does not have its form stands in `validate/name.rs` for objects and, in upstream's
//! words, in `config/validate/names.rs`.

/// Bytes of a label value, or of the name part of a qualified name, at most.
pub const PART_BYTES_MAX: usize = 63;
/// Bytes of a DNS subdomain at most.
pub const SUBDOMAIN_BYTES_MAX: usize = 253;
/// Anywhere in a name, this makes the resource Kubernetes' own.
const NATIVE_PART: &str = "kubernetes.io/";
/// Quotas put this before a resource's name, which must still have its form then.
const QUOTA_PREFIX: &str = "requests.";

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
    text.len() <= SUBDOMAIN_BYTES_MAX && has_subdomain_form(text)
}

/// RFC 1123: lower-case letters, digits and `-`, at most 63 characters.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= PART_BYTES_MAX && is_dns_label_of_any_length(text)
}

/// Whether the name is that of an extended resource, which is counted in whole units: it has a
/// domain that is not Kubernetes' own, and a quota could be set on it. Mirrors
/// `IsExtendedResourceName` of `pkg/apis/core/v1/helper/helpers.go`.
pub fn is_extended_resource(name: &str) -> bool {
    name.split_once('/').is_some_and(|(domain, _)| {
        !name.contains(NATIVE_PART)
            && !name.starts_with(QUOTA_PREFIX)
            && QUOTA_PREFIX.len().saturating_add(domain.len()) <= SUBDOMAIN_BYTES_MAX
            && is_qualified_name(name)
    })
}

/// A DNS subdomain, however long.
pub(super) fn has_subdomain_form(text: &str) -> bool {
    text.split('.').all(is_dns_label_of_any_length)
}

/// The name part of a qualified name, however long; never empty.
pub(super) fn has_name_part_form(text: &str) -> bool {
    ends_are(text, |byte| byte.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_dns_label_of_any_length(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    ends_are(text, plain) && text.bytes().all(|byte| plain(byte) || byte == b'-')
}

fn is_name_part(text: &str) -> bool {
    text.len() <= PART_BYTES_MAX && has_name_part_form(text)
}

fn ends_are(text: &str, plain: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| plain(*byte)) && bytes.last().is_some_and(|byte| plain(*byte))
}
