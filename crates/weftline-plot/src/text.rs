//! Room that texts need, estimated without a font: rather too much than too little.

/// Width of a text in a sans-serif font of this size.
pub(super) fn width(text: &str, font: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.32,
        ' ' | 'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' | '"' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.94,
        'A'..='Z' | '+' | '=' | '<' | '>' | '±' | '—' => 0.74,
        c if c.is_ascii() => 0.6,
        _ => 0.7,
    };
    font * text.chars().map(of).sum::<f64>()
}

/// The text in lines of at most this width, broken between words. A single longer word is broken
/// within.
pub(super) fn wrap(text: &str, most: f64, font: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word = word.to_owned();
        let last = lines.len() - 1;
        let joined = match lines[last].as_str() {
            "" => word.clone(),
            line => format!("{line} {word}"),
        };
        if width(&joined, font) <= most {
            lines[last] = joined;
            continue;
        }
        if !lines[last].is_empty() {
            lines.push(String::new());
        }
        while width(&word, font) > most && word.chars().count() > 1 {
            let mut head = String::new();
            for c in word.chars() {
                if !head.is_empty() && width(&format!("{head}{c}"), font) > most {
                    break;
                }
                head.push(c);
            }
            word = word[head.len()..].to_owned();
            let last = lines.len() - 1;
            lines[last] = head;
            lines.push(String::new());
        }
        let last = lines.len() - 1;
        lines[last] = word;
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_longer_than_asked_and_keep_every_letter() {
        let text =
            "mean in-order delay of the streaming code, milliseconds, antidisestablishmentarianism";
        for most in [60.0, 120.0, 300.0, 5000.0] {
            let lines = wrap(text, most, 13.0);
            assert!(
                lines.iter().all(|line| width(line, 13.0) <= most),
                "{lines:?}"
            );
            let letters = |text: &str| text.replace(' ', "");
            assert_eq!(letters(&lines.concat()), letters(text));
        }
        assert_eq!(wrap("  ", 10.0, 13.0), Vec::<String>::new());
        assert_eq!(wrap("ab", 0.0, 13.0), ["a", "b"]);
    }
}
