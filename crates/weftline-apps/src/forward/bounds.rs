//! What bounds the connections of a session.

use std::ops::RangeInclusive;
use std::time::Duration;

use weftline::EndpointConfig;

/// Most addresses of one kind of one client.
pub const MOST_RULES: usize = 64;
/// Streams beside those of connections: questions and listeners.
const OTHER_STREAMS: u32 = 2 * MOST_RULES as u32;
/// Bytes of all of a session's connections that wait to be read, at most.
const MOST_WAITING: u64 = 256_000_000;

/// What bounds the connections of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    connections: u32,
    buffer: usize,
    drain: Duration,
}

/// A bound is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {got}: give {} to {}", .allowed.start(), .allowed.end())]
pub struct OutOfRange {
    /// Which.
    pub field: &'static str,
    /// What it was.
    pub got: u64,
    /// What it may be.
    pub allowed: RangeInclusive<u64>,
}

impl Default for Bounds {
    /// 256 connections, 1 MB each, 10 s to end.
    fn default() -> Self {
        Bounds {
            connections: 256,
            buffer: 1_000_000,
            drain: Duration::from_secs(10),
        }
    }
}

impl Bounds {
    /// How many connections there may be at once.
    pub const CONNECTIONS: RangeInclusive<u32> = 1..=10_000;
    /// How many bytes may wait of each.
    pub const BUFFER: RangeInclusive<usize> = 300_000..=64_000_000;

    /// At most `connections` of a session at once; further ones are refused. Of each, `buffer` bytes
    /// may wait for a slow reader, which also is the most that a connection gets in a round trip.
    /// When the end is stopped, connections go on for `drain` before they are cut.
    ///
    /// # Errors
    /// Connections or buffer are out of range.
    pub fn new(connections: u32, buffer: usize, drain: Duration) -> Result<Self, OutOfRange> {
        let within = |field, got: u64, allowed: RangeInclusive<u64>| match allowed.contains(&got) {
            true => Ok(()),
            false => Err(OutOfRange {
                field,
                got,
                allowed,
            }),
        };
        let (least, most) = Self::CONNECTIONS.into_inner();
        within(
            "connections",
            connections.into(),
            least.into()..=most.into(),
        )?;
        let (least, most) = Self::BUFFER.into_inner();
        within("buffer", buffer as u64, least as u64..=most as u64)?;
        Ok(Bounds {
            connections,
            buffer,
            drain,
        })
    }

    /// Connections at once of each session.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// How long connections go on when the end is stopped.
    pub fn drain(&self) -> Duration {
        self.drain
    }

    /// Sets the limits of sessions so that these bounds hold. Both ends need it.
    pub fn apply(&self, config: &mut EndpointConfig) {
        let limits = &mut config.session.limits;
        limits.streams = self.connections + OTHER_STREAMS;
        limits.stream_data = self.buffer as u64;
        // As long as this is enough for all, a connection that nobody reads holds up no other.
        let all = limits.stream_data * u64::from(self.connections);
        limits.session_data = all.clamp(limits.stream_data, MOST_WAITING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_refused_with_the_range() {
        let of = |connections, buffer| Bounds::new(connections, buffer, Duration::ZERO);
        assert_eq!(of(0, 1_000_000).unwrap_err().field, "connections");
        let text = of(1, 299_999).unwrap_err().to_string();
        assert_eq!(text, "buffer is 299999: give 300000 to 64000000");
        assert!(of(10_000, 64_000_000).is_ok() && of(10_001, 64_000_000).is_err());
    }

    #[test]
    fn all_connections_together_have_a_bound_too() {
        let mut config = EndpointConfig::default();
        let bounds = Bounds::new(10_000, 1_000_000, Duration::ZERO).unwrap();
        bounds.apply(&mut config);
        let limits = &config.session.limits;
        assert_eq!((limits.streams, limits.stream_data), (10_128, 1_000_000));
        assert_eq!(limits.session_data, MOST_WAITING);
    }
}
