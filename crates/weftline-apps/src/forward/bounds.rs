//! Limits of the connections of a session.

use std::ops::RangeInclusive;
use std::time::Duration;

use weftline::EndpointConfig;

/// Most addresses of one kind of one client.
pub const MOST_RULES: usize = 64;
/// Streams in addition to those of connections: requests and listeners.
const OTHER_STREAMS: u32 = 2 * MOST_RULES as u32;
/// Bytes of a connection that may wait while it does not need more.
const FIRST_BUFFER: usize = 1_000_000;
/// Most bytes of all connections of a session that may wait to be read: it may grow by this much
/// before the server counts again.
const MOST_WAITING: u64 = 64_000_000;

/// Bytes of messages that every session must take.
const LEAST_MESSAGES: u64 = 128 << 10;

/// Limits of the connections of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    connections: u32,
    buffer: usize,
    drain: Duration,
}

/// A limit is out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {got}: give {} to {}", .allowed.start(), .allowed.end())]
pub struct OutOfRange {
    /// The limit.
    pub field: &'static str,
    /// The given value.
    pub got: u64,
    /// The allowed values.
    pub allowed: RangeInclusive<u64>,
}

impl Default for Bounds {
    /// The defaults: 256 connections, 4 MB each, 10 s to finish.
    fn default() -> Self {
        Bounds {
            connections: 256,
            buffer: 4_000_000,
            drain: Duration::from_secs(10),
        }
    }
}

impl Bounds {
    /// The allowed numbers of connections at once.
    pub const CONNECTIONS: RangeInclusive<u32> = 1..=10_000;
    /// The allowed numbers of bytes that may wait for each connection.
    pub const BUFFER: RangeInclusive<usize> = 300_000..=64_000_000;

    /// A client has at most `connections` at once; further ones are refused. Of each connection,
    /// `buffer` bytes may wait for a reader, 1 MB until it shows that it reads fast enough for more; it is
    /// also the most that a connection can send in a round trip. A stopping end waits up to `drain` for connections to finish, then resets
    /// them.
    ///
    /// # Errors
    /// `connections` or `buffer` is out of range.
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

    /// Most connections of each client at once.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// How long a stopping end waits for connections to finish.
    pub fn drain(&self) -> Duration {
        self.drain
    }

    /// Sets the limits of `forward`'s sessions so that these limits hold. Both ends must do it.
    pub fn apply(&self, config: &mut EndpointConfig) {
        self.apply_beside_messages(config);
        // There are no messages.
        config.session.limits.message_data = LEAST_MESSAGES;
    }

    /// As [`apply`](Self::apply), for sessions that carry messages too.
    pub fn apply_beside_messages(&self, config: &mut EndpointConfig) {
        let limits = &mut config.session.limits;
        limits.streams = self.connections + OTHER_STREAMS;
        limits.stream_data = self.buffer.min(FIRST_BUFFER) as u64;
        limits.stream_data_most = self.buffer as u32;
        // While this is enough for all connections, one that is not read delays no other.
        let all = self.buffer as u64 * u64::from(self.connections);
        limits.session_data = all.clamp(self.buffer as u64, MOST_WAITING);
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
        let bounds = Bounds::new(2, 3_000_000, Duration::ZERO).unwrap();
        bounds.apply(&mut config);
        let limits = &config.session.limits;
        let window = (limits.stream_data, limits.stream_data_most);
        assert_eq!(
            (window, limits.session_data),
            ((1_000_000, 3_000_000), 6_000_000)
        );
    }
}
