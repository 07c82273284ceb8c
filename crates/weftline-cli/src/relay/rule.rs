//! A rule of `--udp`.

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use super::delivery::Delivery;
use super::target::Target;

/// Datagrams that arrive at `listen` on this host go to `target`, as the peer reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// The local UDP address that programs send to.
    pub(super) listen: SocketAddr,
    /// The target to which the far end sends the datagrams.
    pub(super) target: Target,
    /// How datagrams are delivered, in both directions.
    pub(super) delivery: Delivery,
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (ends, delivery) = match text.split_once(',') {
            Some((ends, delivery)) => (ends, delivery.parse().map_err(|e| format!("{e}"))?),
            None => (text, Delivery::default()),
        };
        let (listen, target) = ends.split_once('=').ok_or_else(|| {
            format!("`{text}` has no target: give LISTEN=HOST:PORT, for example 5004=10.0.0.7:5004")
        })?;
        let listen = match listen.parse::<u16>() {
            Ok(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            Err(_) => listen.parse().map_err(|_| {
                format!("`{listen}` is not a local address: give PORT, IPv4:PORT or [IPv6]:PORT")
            })?,
        };
        let target = target.parse().map_err(|e| format!("{e}"))?;
        Ok(Rule {
            listen,
            target,
            delivery,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_valid_form_is_read() {
        let rule: Rule = "51820=127.0.0.1:51820".parse().unwrap();
        assert_eq!(rule.listen, "127.0.0.1:51820".parse().unwrap());
        assert_eq!(rule.delivery, Delivery::Unordered);
        let rule: Rule = "[::]:5004=media.example:6000,deadline=80ms"
            .parse()
            .unwrap();
        assert_eq!(rule.listen, "[::]:5004".parse().unwrap());
        assert_eq!(rule.target.to_string(), "media.example:6000");
        assert_eq!(rule.delivery, Delivery::Deadline(Duration::from_millis(80)));
    }

    #[test]
    fn errors_name_the_invalid_part() {
        for (text, named) in [
            ("51820", "has no target"),
            ("51820=host", "`host` is not a target"),
            ("localhost:5=host:1", "`localhost:5` is not a local address"),
            ("5=host:1,fast", "`fast` is not a delivery"),
        ] {
            let error = text.parse::<Rule>().unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
