//! Texts of the peer, for a terminal.

/// `text` with control and bidirectional characters and line separators made visible: a peer must
/// not control the terminal, nor disguise a name.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let misleads = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || misleads {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_not_sent_to_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jü\n"), "a\\u{1b}[2Jü\\n");
    }
}
