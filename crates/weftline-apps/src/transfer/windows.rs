//! Names that mean something else on Windows than a file of that name.
//!
//! "Naming Files, Paths, and Namespaces" in Microsoft's documentation of Win32.

/// Why Windows would not make a file of exactly this name. None if it would.
///
/// `name` is one component of a path, without the characters that no name may have there.
pub(super) fn problem(name: &str) -> Option<&'static str> {
    if name.ends_with(['.', ' ']) {
        Some("it drops dots and spaces at the end")
    } else if is_device(name) {
        Some("it is a device")
    } else if is_short(name) {
        Some("it may be the short name of another file")
    } else {
        None
    }
}

/// Whether the name opens a device in every folder, whatever follows the first dot.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let stem = stem.trim_end_matches(' ').to_ascii_uppercase();
    match stem.as_str() {
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" | "CLOCK$" => true,
        stem => {
            let port = stem.strip_prefix("COM").or(stem.strip_prefix("LPT"));
            let mut number = port.unwrap_or_default().chars();
            // Superscript digits are digits of Latin-1.
            let first = number.next();
            first.is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c))
                && number.next().is_none()
        }
    }
}

/// Whether the name has the form of those that the file system makes for long ones, such as
/// `SSH~1` for `.ssh`: a peer could reach a hidden file with it.
fn is_short(name: &str) -> bool {
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    let number = stem.rsplit_once('~').map_or("", |(_, number)| number);
    !number.is_empty()
        && number.bytes().all(|c| c.is_ascii_digit())
        && stem.chars().count() <= 8
        && ending.chars().count() <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_known_in_every_spelling() {
        for name in [
            "CON",
            "con",
            "Nul",
            "nul.txt",
            "NUL.tar.gz",
            "AUX .c",
            "prn",
            "COM1",
            "com9.log",
            "COM0",
            "LPT3",
            "COM¹",
            "lpt².x",
            "CONIN$",
            "conout$",
        ] {
            assert!(is_device(name), "{name}");
        }
        for name in [
            "CONSOLE", "CO", "COM", "COM10", "COMA", "LPT", "null", "a.con", "xnul", "com-1", "",
        ] {
            assert!(!is_device(name), "{name}");
        }
    }

    #[test]
    fn ends_that_windows_drops_are_refused() {
        for name in ["a.", "a ", "...", ". .", "a. .", "NUL "] {
            assert!(problem(name).is_some(), "{name:?}");
        }
        for name in [" a", ".a", "a.b", "a b"] {
            assert_eq!(problem(name), None, "{name:?}");
        }
    }

    #[test]
    fn short_names_are_refused() {
        for name in [
            "SSH~1",
            "weftli~1",
            "PROGRA~2",
            "A~12.TXT",
            "LONGFI~1.C",
            "~1",
        ] {
            assert!(is_short(name), "{name}");
        }
        for name in [
            "~",
            "a~",
            "a~b",
            "~backup",
            "file~",
            "report~1.docx",
            "long-name~1",
            "a~1b",
            "x.c~1",
        ] {
            assert!(!is_short(name), "{name}");
        }
    }
}
