//! Option values that both ends share.

use std::net::SocketAddr;
use std::time::Duration;

use weftline_apps::cast::{EncodingId, LONGEST_LINEAR_SYSTEM};
use weftline_netem::units;

use crate::options::within;

/// Longest latency that is useful in real time.
const LONGEST_LATENCY: Duration = Duration::from_secs(60);

/// A flow of local programs: `udp://HOST:PORT`.
pub(super) fn local_flow(text: &str) -> Result<SocketAddr, String> {
    let flow = text.strip_prefix("udp://");
    flow.and_then(weftline_apps::local_flow).ok_or_else(|| {
        format!(
            "`{text}` is not a UDP address: give udp://IP:PORT, or udp://:PORT for this host only"
        )
    })
}

/// The FEC Encoding ID of a scheme.
pub(super) fn encoding_id(text: &str) -> Result<EncodingId, String> {
    let id = text.parse().ok().and_then(EncodingId::from_number);
    id.ok_or_else(|| {
        "give 10 (sliding window over GF(2^8)), 9 (the same over GF(2)) or 8 (Reed-Solomon blocks)"
            .into()
    })
}

/// A delay that erasure coding may add.
pub(super) fn latency(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_millis(1)..=LONGEST_LATENCY)
}

/// Symbols that a receiver's equations may contain.
pub(super) fn linear_system(text: &str) -> Result<u32, String> {
    let symbols = text.parse().ok();
    let symbols = symbols.filter(|symbols| (1..=LONGEST_LINEAR_SYSTEM).contains(symbols));
    symbols.ok_or_else(|| format!("give 1 to {LONGEST_LINEAR_SYSTEM} symbols"))
}

/// The bit rate of all flows together, which is not 0.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let rate = units::parse_rate(text).map_err(|e| e.to_string())?;
    match rate {
        0 => Err("give the flows' bit rate, for example 5mbit".into()),
        rate => Ok(rate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_flows_accept_the_forms_of_media_programs() {
        for (text, address) in [
            ("udp://:5004", "127.0.0.1:5004"),
            ("udp://@:5004", "127.0.0.1:5004"),
            ("udp://0.0.0.0:5004", "0.0.0.0:5004"),
            ("udp://@239.0.0.1:5004/", "239.0.0.1:5004"),
            ("udp://[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(local_flow(text), Ok(address.parse().unwrap()), "{text}");
        }
        for text in [
            "",
            "5004",
            "udp://",
            "udp://:",
            "udp://host:1",
            "rtp://:1",
            "udp://:99999",
        ] {
            assert!(local_flow(text).is_err(), "{text}");
        }
    }

    #[test]
    fn schemes_and_latencies_out_of_range_are_refused() {
        assert_eq!(encoding_id("9"), Ok(EncodingId::RlcGf2));
        assert!(encoding_id("7").is_err() && encoding_id("x").is_err());
        assert!(latency("0").is_err() && latency("61s").is_err());
        assert_eq!(latency("200ms"), Ok(Duration::from_millis(200)));
        assert!(rate("0bit").is_err());
        assert_eq!(linear_system("400"), Ok(400));
        assert!(
            ["0", "65537", "x"]
                .iter()
                .all(|text| linear_system(text).is_err())
        );
    }
}
