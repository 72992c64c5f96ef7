//! How messages show what was found in a file: in one line, and no more of it than is needed.

use std::borrow::Cow;

/// Most characters of what was found that a message shows.
const LONGEST: usize = 80;

/// Whether a character could change how a terminal shows the text after it: a control character, a line
/// separator, or a character that changes the direction of writing.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text with escapes in the place of characters that a terminal would not show.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if is_unsafe(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// What was found in a file, for a message: its beginning where it is long.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => Cow::Owned(format!("{}…", escaped(&text[..end]))),
        None => escaped(text),
    }
}

/// The names that there are, for a message.
pub(crate) fn list(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_shown_is_one_short_line(text in "\\PC*|(?s).{0,200}") {
            let text = shown(&text);
            prop_assert!(!text.contains(is_unsafe));
            // An escape is ten characters at most.
            prop_assert!(text.chars().count() <= 10 * LONGEST + 1);
        }
    }

    #[test]
    fn what_is_short_and_printable_stays() {
        assert_eq!(shown("Kugel ⌀ 5 cm"), "Kugel ⌀ 5 cm");
        assert_eq!(shown("a\nb\u{202e}"), "a\\nb\\u{202e}");
        assert_eq!(shown(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
    }
}
