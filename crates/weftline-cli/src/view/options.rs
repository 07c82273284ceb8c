//! Values of options.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use weftline_apps::view::{MOST_VIEWERS, Source};

use crate::listen::local;
use crate::options::{DAY, within};

/// Most links at the start; there is room for further ones.
const MOST_TOKENS: u32 = 1000;
const MONTH: Duration = Duration::from_secs(30 * 86_400);
/// The port of the page if none is given.
const PORT: u16 = 8443;

/// Where the page is: a port alone is one of this host only.
pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    let addr = local(text).or_else(|error| match text.trim_matches(['[', ']']).parse() {
        Ok(ip) => Ok(SocketAddr::new(ip, PORT)),
        Err(_) if text == "localhost" => Ok((Ipv4Addr::LOCALHOST, PORT).into()),
        Err(_) => Err(error),
    })?;
    // One socket for IPv6 and IPv4 is not to be had everywhere, and viewers come by IPv4 too.
    match addr.ip().is_unspecified() && text.starts_with(':') {
        true => Ok((Ipv4Addr::UNSPECIFIED, addr.port()).into()),
        false => Ok(addr),
    }
}

/// Sound by RTP.
pub(super) fn sound(text: &str) -> Result<SocketAddr, String> {
    match text.parse() {
        Ok(Source::Rtp(addr)) => Ok(addr),
        _ => Err("give rtp://IP:PORT, or rtp://:PORT for this host only".into()),
    }
}

/// How long a link admits viewers.
pub(super) fn life(text: &str) -> Result<Duration, String> {
    let minutes = |number: &str, seconds: u64| {
        let number: Option<u64> = number.parse().ok();
        number.and_then(|number| number.checked_mul(seconds))
    };
    let seconds = match text.split_at_checked(text.len().saturating_sub(1)) {
        Some((number, "d")) => minutes(number, DAY.as_secs()),
        Some((number, "h")) => minutes(number, 3600),
        Some((number, "m")) => minutes(number, 60),
        _ => return within(text, Duration::from_secs(1)..=MONTH),
    };
    let life = seconds.map(Duration::from_secs);
    let life = life.filter(|life| (Duration::from_secs(1)..=MONTH).contains(life));
    life.ok_or_else(|| "give 1s to 30d".to_owned())
}

pub(super) fn tokens(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|n| (1..=MOST_TOKENS).contains(n));
    number.ok_or_else(|| format!("give 1 to {MOST_TOKENS}"))
}

pub(super) fn viewers(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=MOST_VIEWERS).contains(n));
    number.ok_or_else(|| format!("give 1 to {MOST_VIEWERS}"))
}

/// The delay that pages begin with.
pub(super) fn delay(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_millis(50)..=Duration::from_secs(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_alone_has_the_usual_port() {
        for (text, address) in [
            ("localhost", "127.0.0.1:8443"),
            ("localhost:8443", "127.0.0.1:8443"),
            ("9000", "127.0.0.1:9000"),
            (":9000", "0.0.0.0:9000"),
            ("192.0.2.7", "192.0.2.7:8443"),
            ("[::1]", "[::1]:8443"),
            ("[::]:9000", "[::]:9000"),
        ] {
            assert_eq!(listen(text), Ok(address.parse().unwrap()), "{text}");
        }
        assert!(listen("host:1").is_err() && listen("").is_err());
    }

    #[test]
    fn a_link_may_last_for_seconds_or_days() {
        let hours = |hours: u64| Ok(Duration::from_secs(hours * 3600));
        assert_eq!(life("12h"), hours(12));
        assert_eq!(life("30d"), hours(30 * 24));
        assert_eq!(life("90s"), Ok(Duration::from_secs(90)));
        assert!(life("500ms").is_err());
        for text in ["31d", "0h", "h", "x", "", "99999999999999999999h", "1w"] {
            assert!(life(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sound_comes_by_rtp() {
        assert_eq!(sound("rtp://:5006"), Ok("127.0.0.1:5006".parse().unwrap()));
        assert!(sound("udp://:5006").is_err() && sound(":5006").is_err());
    }
}
