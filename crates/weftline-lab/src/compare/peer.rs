//! The compared transports and their text form.

use std::fmt;
use std::str::FromStr;

/// A transport of [`load`](crate::load) with its settings, in the text form
/// `TRANSPORT[/NAME=VALUE[,NAME=VALUE...]]`.
///
/// A value without a name is the transport's main setting: the preset of `weftline`, `cc=` of the
/// others. So `weftline/streaming,l=5` is `weftline/preset=streaming,l=5`, and `tcp/bbr` is
/// `tcp/cc=bbr`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The name of a transport or of an external program.
    pub transport: String,
    /// Its settings, in the form of `load`.
    pub settings: Vec<String>,
}

/// The text is not a peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a peer ({problem}): write TRANSPORT or TRANSPORT/NAME=VALUE,..., for example \
     weftline/streaming,l=5 or tcp/bbr"
)]
pub struct NotAPeer {
    text: String,
    problem: &'static str,
}

impl Peer {
    /// Parses a list separated by commas. An item that has a `=` and no `/` before it is another
    /// setting of the peer before it.
    ///
    /// # Errors
    /// An item is not a peer, the list is empty, or it has the same peer twice.
    pub fn list(text: &str) -> Result<Vec<Peer>, NotAPeer> {
        let mut texts: Vec<String> = Vec::new();
        for piece in text.split(',').map(str::trim) {
            let is_setting = match (piece.find('='), piece.find('/')) {
                (Some(equals), slash) => slash.is_none_or(|slash| equals < slash),
                (None, _) => false,
            };
            match texts.last_mut() {
                Some(last) if is_setting => {
                    last.push(if last.contains('/') { ',' } else { '/' });
                    last.push_str(piece);
                }
                _ => texts.push(piece.to_owned()),
            }
        }
        let mut peers: Vec<Peer> = Vec::new();
        for text in texts {
            let peer: Peer = text.parse()?;
            if peers.contains(&peer) {
                let problem = "it is given twice";
                return Err(NotAPeer { text, problem });
            }
            peers.push(peer);
        }
        Ok(peers)
    }

    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let pairs = self.settings.iter().filter_map(|s| s.split_once('='));
        let mut found = pairs.filter(|(n, _)| *n == name);
        found.next().map(|(_, value)| value)
    }

    /// The same peer without one of its settings: peers on a curve over that setting share this.
    pub fn without(&self, name: &str) -> Peer {
        let keep = |s: &&String| s.split_once('=').is_none_or(|(n, _)| n != name);
        Peer {
            transport: self.transport.clone(),
            settings: self.settings.iter().filter(keep).cloned().collect(),
        }
    }

    /// The setting of a value without a name.
    fn main_setting(transport: &str) -> &'static str {
        match transport {
            "weftline" => "preset",
            _ => "cc",
        }
    }
}

impl FromStr for Peer {
    type Err = NotAPeer;

    fn from_str(text: &str) -> Result<Self, NotAPeer> {
        let wrong = |problem| NotAPeer {
            text: text.to_owned(),
            problem,
        };
        let (transport, rest) = match text.split_once('/') {
            Some((transport, rest)) => (transport, Some(rest)),
            None => (text, None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if transport.is_empty() || !transport.chars().all(is_name) {
            return Err(wrong("a transport's name may have letters, digits, - _ ."));
        }
        let mut settings = Vec::new();
        for (index, piece) in rest.into_iter().flat_map(|r| r.split(',')).enumerate() {
            settings.push(match piece.split_once('=') {
                Some((name, value)) if !name.is_empty() && !value.is_empty() => piece.to_owned(),
                None if index == 0 && !piece.is_empty() => {
                    format!("{}={piece}", Peer::main_setting(transport))
                }
                _ => return Err(wrong("a setting has the form NAME=VALUE")),
            });
        }
        Ok(Peer {
            transport: transport.to_owned(),
            settings,
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.transport)?;
        let main = format!("{}=", Peer::main_setting(&self.transport));
        for (index, setting) in self.settings.iter().enumerate() {
            let short = match index {
                0 => setting.strip_prefix(&main).unwrap_or(setting),
                _ => setting,
            };
            write!(f, "{}{short}", if index == 0 { '/' } else { ',' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> Peer {
        text.parse().unwrap()
    }

    #[test]
    fn short_and_long_forms_are_the_same_peer() {
        for (short, long) in [
            ("weftline/streaming,l=5", "weftline/preset=streaming,l=5"),
            ("tcp/bbr", "tcp/cc=bbr"),
            ("kcp", "kcp"),
        ] {
            assert_eq!(peer(short), peer(long));
            assert_eq!(peer(long).to_string(), short);
        }
        assert_eq!(peer("kcp/window=64").settings, ["window=64"]);
    }

    #[test]
    fn in_a_list_settings_belong_to_the_peer_before_them() {
        let list = Peer::list("weftline/streaming,l=5,share=/a,tcp/bbr, kcp,window=64,srt");
        let texts: Vec<String> = list.unwrap().iter().map(Peer::to_string).collect();
        let expected = ["weftline/streaming,l=5,share=/a", "tcp/bbr"];
        assert_eq!(texts[..2], expected);
        assert_eq!(texts[2..], ["kcp/window=64", "srt"]);
    }

    #[test]
    fn invalid_peers_are_refused_with_an_example() {
        for bad in ["", "a b", "tcp/", "tcp/cc=", "tcp/=x", "x/a=1,b", "l=5"] {
            let error = bad.parse::<Peer>().unwrap_err().to_string();
            assert!(error.contains("weftline/streaming,l=5"), "{bad}: {error}");
        }
        for bad in ["", "tcp,tcp", "l=5", "tcp,,kcp"] {
            assert!(Peer::list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_curve_is_of_peers_that_differ_in_one_setting() {
        let (a, b) = (
            peer("weftline/streaming,l=5"),
            peer("weftline/streaming,l=9"),
        );
        assert_eq!(a.without("l"), b.without("l"));
        assert_eq!((a.setting("l"), a.setting("k")), (Some("5"), None));
    }
}
