//! Text from the input as it may reach a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with control characters, and those that turn or hide text, written as `\u{..}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if is_unsafe(letter) {
            // Writing to a String does not fail.
            let _ = write!(escaped, "{}", letter.escape_unicode());
        } else {
            escaped.push(letter);
        }
    }
    Cow::Owned(escaped)
}

fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn terminal_escapes_and_turned_text_become_visible() {
        assert_eq!(escape("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\u{a}");
        assert_eq!(escape("a\u{202e}b"), "a\\u{202e}b");
    }

    #[test]
    fn plain_text_of_any_script_stays() {
        assert_eq!(escape("knoten-\u{e4}\u{4e16}"), "knoten-\u{e4}\u{4e16}");
    }
}
