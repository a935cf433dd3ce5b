//! What to say of names, label keys and label values that do not have their form.

use crate::object::label;

/// Why a text is not of the form asked for, as a sentence to follow it.
pub(super) type Form = Result<(), &'static str>;

const fn form(holds: bool, otherwise: &'static str) -> Form {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// A DNS-1123 label, such as a namespace's name.
pub(super) fn dns_label(text: &str) -> Form {
    form(
        label::is_dns_label(text),
        "must be at most 63 lower case letters, digits or '-', with a letter or digit at both ends",
    )
}

/// A DNS-1123 subdomain, such as the name of a pod or node.
pub(super) fn dns_subdomain(text: &str) -> Form {
    form(
        label::is_subdomain(text),
        "must be at most 253 lower case letters, digits, '-' or '.', with a letter or digit at both ends of each part between dots",
    )
}

/// A label key or another qualified name: `name` or `domain/name`.
pub(super) fn label_key(text: &str) -> Form {
    form(
        label::is_qualified_name(text),
        "must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends, and may have a lower case domain and '/' before it",
    )
}

/// A label value; may be empty.
pub(super) fn label_value(text: &str) -> Form {
    form(
        label::is_label_value(text),
        "must be at most 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b37_names_are_dns_subdomains() {
        for good in ["1", "x.y", "a-b.c", &"a".repeat(253)] {
            assert_eq!(dns_subdomain(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "Node",
            "a_b",
            "..",
            "-a",
            "a-",
            "a..b",
            "n\0",
            &"a".repeat(254),
        ] {
            assert!(dns_subdomain(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn b36_label_keys_and_values_have_their_form() {
        for good in ["a", "A.b_c-d", "example.com/Name", &"k".repeat(63)] {
            assert_eq!(label_key(good), Ok(()), "{good}");
        }
        for bad in ["", "/a", "a/", "a/b/c", "A.com/x", "a b", &"k".repeat(64)] {
            assert!(label_key(bad).is_err(), "{bad}");
        }
        assert_eq!(label_value(""), Ok(()));
        for bad in ["bad key!", "é", "-a", &"v".repeat(64)] {
            assert!(label_value(bad).is_err(), "{bad}");
        }
    }
}
