//! The rules of a relay.

use std::net::SocketAddr;
use std::str::FromStr;

use super::delivery::{BadDelivery, Delivery};
use crate::listen::{BadListen, Listen};
use crate::target::{BadTarget, Target};

/// Datagrams that arrive at `listen` on this host go to `target`, as the peer reaches it. As text:
/// `LISTEN=TARGET[,DELIVERY]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The local UDP address that programs send to.
    pub listen: SocketAddr,
    /// The target to which the far end sends the datagrams.
    pub target: Target,
    /// How datagrams are delivered, in both directions.
    pub delivery: Delivery,
}

/// The text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// The text has no `=`.
    #[error("`{0}` has no target: give LISTEN=HOST:PORT, for example 5004=10.0.0.7:5004")]
    NoTarget(String),
    /// The part before the `=` is not a local address.
    #[error(transparent)]
    Listen(#[from] BadListen),
    /// The part after the `=` is not a target.
    #[error(transparent)]
    Target(#[from] BadTarget),
    /// The part after the comma is not a delivery.
    #[error(transparent)]
    Delivery(#[from] BadDelivery),
}

impl FromStr for Rule {
    type Err = BadRule;

    fn from_str(text: &str) -> Result<Self, BadRule> {
        let (ends, delivery) = match text.split_once(',') {
            Some((ends, delivery)) => (ends, delivery.parse()?),
            None => (text, Delivery::default()),
        };
        let (listen, target) = ends
            .split_once('=')
            .ok_or_else(|| BadRule::NoTarget(text.to_owned()))?;
        let listen = Listen::read_for_programs(listen)?;
        let target = target.parse()?;
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
            (
                "nohost:5=host:1",
                "`nohost:5` is not an address to listen on",
            ),
            ("5=host:1,fast", "`fast` is not a delivery"),
        ] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
