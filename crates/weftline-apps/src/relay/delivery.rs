//! How the datagrams of a flow are delivered.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::duration;

/// The longest deadline; traffic that may be later needs none.
const LONGEST: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_millis(1);

/// How the datagrams of a flow are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Each datagram as soon as it arrives or is recovered; none is given up.
    #[default]
    Unordered,
    /// In the order of sending; none is given up, and datagrams behind a missing one wait for it.
    InOrder,
    /// Each datagram as soon as it arrives, but only within this time of being sent.
    Deadline(Duration),
}

impl Delivery {
    /// The time after sending in which a datagram is still useful.
    pub fn deadline(self) -> Option<Duration> {
        match self {
            Delivery::Deadline(time) => Some(time),
            Delivery::Unordered | Delivery::InOrder => None,
        }
    }
}

/// The text is not a delivery.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a delivery: give unordered, in-order or deadline=TIME (1ms to 60s)")]
pub struct BadDelivery(String);

impl FromStr for Delivery {
    type Err = BadDelivery;

    fn from_str(text: &str) -> Result<Self, BadDelivery> {
        let bad = || BadDelivery(text.to_owned());
        match text.strip_prefix("deadline=") {
            Some(time) => duration::parse(time)
                .filter(|t| (SHORTEST..=LONGEST).contains(t))
                .map(Delivery::Deadline)
                .ok_or_else(bad),
            None if text == "unordered" => Ok(Delivery::Unordered),
            None if text == "in-order" => Ok(Delivery::InOrder),
            None => Err(bad()),
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delivery::Unordered => f.write_str("unordered"),
            Delivery::InOrder => f.write_str("in-order"),
            Delivery::Deadline(time) => write!(f, "deadline={}", duration::show(*time)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displayed_deliveries_parse_back() {
        let all = [
            Delivery::Unordered,
            Delivery::InOrder,
            Delivery::Deadline(Duration::from_micros(1500)),
            Delivery::Deadline(LONGEST),
        ];
        for delivery in all {
            assert_eq!(delivery.to_string().parse(), Ok(delivery));
        }
        let typed: Delivery = "deadline=80ms".parse().unwrap();
        assert_eq!(typed.deadline(), Some(Duration::from_millis(80)));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "ordered",
            "deadline=",
            "deadline=0s",
            "deadline=61s",
            "80ms",
        ] {
            assert!(text.parse::<Delivery>().is_err(), "{text}");
        }
    }
}
