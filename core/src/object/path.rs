//! Where in an object something stands: `spec.containers[0].resources.requests.cpu`.

use core::fmt::{self, Display, Formatter};

/// A field's path, kept on the stack: nothing is allocated until a problem is written down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    segment: Segment<'a>,
}

/// One step down.
#[derive(Clone, Copy, Debug)]
pub(super) enum Segment<'a> {
    /// A field of a struct or a key of a map.
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// A field at the top of the object.
    pub(super) const fn root(field: &'a str) -> Self {
        Self {
            parent: None,
            segment: Segment::Key(field),
        }
    }

    /// A field or map entry below this one.
    pub(super) const fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            segment: Segment::Key(key),
        }
    }

    /// An element of this list.
    pub(super) const fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            segment: Segment::Index(index),
        }
    }
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        self.segment.write(f, self.parent.is_none())
    }
}

impl Segment<'_> {
    /// Writes the step; keys that are no identifiers stand in brackets, so that the dots and
    /// slashes of a label or resource name are not taken for steps.
    pub(super) fn write(self, f: &mut impl fmt::Write, first: bool) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(key) if !is_plain(key) => write!(f, "[{}]", Escaped(key)),
            Self::Key(key) if first => f.write_str(key),
            Self::Key(key) => write!(f, ".{key}"),
        }
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= QUOTED_CHARS_MAX
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Longest piece of an object's text that a message repeats, in characters.
const QUOTED_CHARS_MAX: usize = 80;

/// Text of an object, in quotes, cut and with control characters escaped.
pub(super) struct Quoted<'a>(pub(super) &'a str);

/// The same without the quotes.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", Escaped(self.0))
    }
}

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (position, letter) in self.0.chars().enumerate() {
            if position == QUOTED_CHARS_MAX {
                return f.write_str("...");
            }
            write!(f, "{}", letter.escape_debug())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn resource_names_do_not_look_like_steps() {
        let spec = Path::root("spec");
        let containers = spec.key("containers");
        let first = containers.index(0);
        let requests = first.key("requests");
        assert_eq!(
            requests.key("cpu").to_string(),
            "spec.containers[0].requests.cpu"
        );
        assert_eq!(
            requests.key("nvidia.com/gpu").to_string(),
            "spec.containers[0].requests[nvidia.com/gpu]"
        );
    }

    #[test]
    fn quoted_text_is_cut_and_cannot_steer_a_terminal() {
        assert_eq!(Quoted("a\u{1b}[2J").to_string(), "\"a\\u{1b}[2J\"");
        let long = "x".repeat(1000);
        assert_eq!(Quoted(&long).to_string().len(), 85);
    }
}
