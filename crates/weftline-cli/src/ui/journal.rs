//! The system's journal: it reads how important a line is from the line's beginning (sd-daemon(3)).

/// Whether standard error leads to the journal.
pub(super) fn is_reading() -> bool {
    #[cfg(unix)]
    if let Ok(stream) = std::env::var("JOURNAL_STREAM")
        && let Ok(stat) = rustix::fs::fstat(std::io::stderr())
    {
        return stream == format!("{}:{}", stat.st_dev, stat.st_ino);
    }
    false
}

/// The lines of `text`, each with its priority.
pub(super) fn with_priority(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("<{}>{line}", priority(text)))
        .collect();
    lines.join("\n")
}

/// The priority of syslog (RFC 5424, section 6.2.1) for a message.
fn priority(text: &str) -> u8 {
    const ERROR: u8 = 3;
    const WARNING: u8 = 4;
    const NOTICE: u8 = 5;
    const INFORMATION: u8 = 6;
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    match text {
        _ if begins(&["error: "]) => ERROR,
        _ if begins(&["warning: ", "WARNING: "]) => WARNING,
        _ if begins(&["refused "]) => NOTICE,
        _ => INFORMATION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_the_priority_of_its_message() {
        assert_eq!(with_priority("error: no\n  why"), "<3>error: no\n<3>  why");
        assert_eq!(with_priority("warning: hm"), "<4>warning: hm");
        assert_eq!(with_priority("refused abcd at x"), "<5>refused abcd at x");
        assert_eq!(with_priority("stopped"), "<6>stopped");
    }
}
