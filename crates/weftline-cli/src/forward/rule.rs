//! What is forwarded, in the words of ssh: `[BIND:]PORT:HOST:HOSTPORT`.

use std::net::SocketAddr;
use std::str::FromStr;

use weftline_apps::Target;

use crate::listen::local;

/// Connections to `at` on one host go to `to`, as the other host reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) at: SocketAddr,
    pub(super) to: Target,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad =
            || format!("`{text}` is not [BIND:]PORT:HOST:HOSTPORT, for example 8080:web.lan:80");
        let mut colons = outer_colons(text);
        // The target is what follows the last colon but one.
        let split = colons.by_ref().rev().nth(1).ok_or_else(bad)?;
        let (at, to) = (&text[..split], &text[split + 1..]);
        let to = to.parse::<Target>().map_err(|error| error.to_string())?;
        Ok(Rule { at: local(at)?, to })
    }
}

/// Where the colons outside of brackets are.
fn outer_colons(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    let mut inside = false;
    let colons = text.char_indices().filter(|&(_, c)| {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            _ => {}
        }
        c == ':' && !inside
    });
    colons.map(|(i, _)| i).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String), String> {
        let rule = text.parse::<Rule>()?;
        Ok((rule.at.to_string(), rule.to.to_string()))
    }

    #[test]
    fn the_forms_of_ssh_are_read() {
        for (text, at, to) in [
            ("8080:web.lan:80", "127.0.0.1:8080", "web.lan:80"),
            ("localhost:8080:web.lan:80", "127.0.0.1:8080", "web.lan:80"),
            ("192.0.2.7:8080:[::1]:80", "192.0.2.7:8080", "[::1]:80"),
            ("[::1]:8080:10.0.0.7:80", "[::1]:8080", "10.0.0.7:80"),
            (":8080:web.lan:80", "[::]:8080", "web.lan:80"),
            ("*:8080:web.lan:80", "[::]:8080", "web.lan:80"),
        ] {
            assert_eq!(read(text), Ok((at.to_owned(), to.to_owned())));
        }
    }

    #[test]
    fn nonsense_names_the_wrong_part() {
        for (text, why) in [
            ("", "`` is not [BIND:]PORT:HOST:HOSTPORT"),
            ("8080:web.lan", "`8080:web.lan` is not [BIND:]PORT"),
            ("8080:web.lan:x", "`web.lan:x` is not a target"),
            ("x:web.lan:80", "`x` is not an address to listen on"),
            (
                "web.lan:8080:web.lan:80",
                "`web.lan:8080` is not an address",
            ),
            ("::1:8080:web.lan:80", "`::1:8080` is not an address"),
            ("192.0.2.7:web.lan:80", "`192.0.2.7` is not an address"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
