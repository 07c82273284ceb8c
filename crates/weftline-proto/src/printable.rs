//! Texts of the peer, for a terminal.

/// `text` with control characters, bidirectional ones, invisible ones and line separators made visible: a
/// peer must not control the terminal, nor disguise a name.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || misleads(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a terminal shows nothing for the character, or other characters elsewhere because of it.
fn misleads(c: char) -> bool {
    matches!(
        c,
        // Soft hyphen, combining grapheme joiner, Arabic letter mark, Hangul and Khmer fillers.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        // Mongolian vowel separator; zero-width characters and marks of direction.
        | '\u{180e}' | '\u{200b}'..='\u{200f}'
        // Line and paragraph separator, embeddings and overrides of direction.
        | '\u{2028}'..='\u{202e}'
        // Word joiner, invisible operators, isolates of direction, deprecated format characters.
        | '\u{2060}'..='\u{206f}'
        // Hangul fillers, zero-width no-break space, annotations, tags.
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_not_sent_to_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jü\n"), "a\\u{1b}[2Jü\\n");
    }

    #[test]
    fn characters_that_disguise_a_name_are_shown() {
        let direction = ['\u{61c}', '\u{200e}', '\u{200f}'];
        let direction = direction.into_iter().chain('\u{202a}'..='\u{202e}');
        let direction = direction.chain('\u{2066}'..='\u{2069}');
        let separators = ['\u{2028}', '\u{2029}', '\u{85}'].into_iter();
        let invisible = ('\u{200b}'..='\u{200d}').chain(['\u{2060}', '\u{feff}', '\u{ad}']);
        let more = ['\u{180e}', '\u{2063}', '\u{3164}', '\u{e0041}'].into_iter();
        for c in direction.chain(separators).chain(invisible).chain(more) {
            let shown = printable(&format!("a{c}b"));
            assert_eq!(shown, format!("a\\u{{{:x}}}b", u32::from(c)));
        }
        // What languages need is left as it is: combining marks, ideographic space, emoji.
        for plain in [
            "e\u{301}",
            "a\u{3000}b",
            "\u{1f600}",
            "\u{2764}\u{fe0f}",
            "한글",
        ] {
            assert_eq!(printable(plain), plain);
        }
    }
}
