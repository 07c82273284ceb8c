//! The configuration of a session.

use core::time::Duration;

use crate::check::{ConfigError, within};
use crate::feedback::Feedback;
use crate::limits::{Limits, USUAL_SYMBOL};
use crate::preset::Preset;
use crate::sender::BYTES_AHEAD;
use crate::sender::scheme::{Arq, Auto, Block, Rateless, Rest, Scheme, Streaming};

/// How fast the engine itself may send.
///
/// A carrier with its own congestion controller may be slower; the engine never exceeds either limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RateControl {
    /// As fast as the path allows with a short queue, at any loss rate and on any carrier.
    #[default]
    Adaptive,
    /// As fast as the carrier takes datagrams: the carrier's congestion controller decides.
    Carrier,
    /// A fixed rate and, if given, a fixed window: for private links, and for experiments
    /// (Karzand et al. kept one bandwidth-delay product in flight).
    Fixed {
        /// Bits per second on the wire, [`Config::datagram_overhead`] included, at least 1; `None` is
        /// unlimited.
        rate: Option<u64>,
        /// Bytes in flight (sent, not acknowledged and not known to be lost), at least 1; `None` is
        /// unlimited.
        window: Option<u64>,
    },
}

/// The shortest fragment of a message must fit.
pub(crate) const SMALLEST_SYMBOL: u16 = 128;
/// Frames have two-byte lengths, which hold 14 bits.
const LARGEST_SYMBOL: u16 = 1 << 14;
/// No round trip is longer.
const DAY: Duration = Duration::from_secs(86_400);
/// For an application that means "never": 136 years.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// Configuration of a session. Start from the scheme, and change fields:
///
/// ```
/// use std::time::Duration;
/// use weftline_proto::Config;
///
/// let mut config = Config::from(Config::auto().delay(Duration::from_millis(20)).overhead(0.3));
/// config.idle_timeout = Duration::from_secs(5);
/// config.keep_alive = Some(Duration::from_secs(1));
/// ```
///
/// The peer learns only [`Limits`] and [`Feedback`]; the two ends need not agree on the other fields.
/// [`Config::check`] refuses what cannot be used.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Config {
    /// How this end repairs losses.
    pub scheme: Scheme,
    /// When the peer is asked to report.
    pub feedback: Feedback,
    /// How fast this end sends.
    pub rate: RateControl,
    /// Most payload bytes in one source symbol, 128 to 16,384. A repair symbol and its header are
    /// 21 bytes longer. Symbols are shorter while the path takes only shorter datagrams, as set with
    /// [`Session::set_largest_datagram`](crate::Session::set_largest_datagram).
    pub symbol_size: u16,
    /// Most payload bytes in one source symbol where the path is known to take datagrams of more than
    /// 1500 bytes, and data arrives so fast that such a symbol adds hardly any delay; up to 16,384.
    /// Nothing changes on other paths, or with a value of at most 1500.
    pub long_symbol_size: u16,
    /// Bytes that the carrier, UDP and IP add to each datagram, for rate control and for the price of
    /// a repair in a datagram of its own (scheme `auto`).
    pub datagram_overhead: u16,
    /// What this end accepts from its peer.
    pub limits: Limits,
    /// Bytes accepted from the application and not yet sent, on each stream and in messages, at
    /// least 1.
    pub send_buffer: usize,
    /// The session is lost when nothing arrives for this long, 1 ms to 2^32 - 1 s.
    pub idle_timeout: Duration,
    /// Send a probe when nothing was sent for this long, or for a third of `idle_timeout` if that is
    /// less; 1 ms to 2^32 - 1 s. The peer answers, so one end is enough. `None` lets an idle session
    /// time out.
    pub keep_alive: Option<Duration>,
    /// Round-trip time assumed until one is measured, at most a day.
    pub initial_rtt: Duration,
    /// Deliver messages even if their deadline has passed.
    pub deliver_late_messages: bool,
}

impl Config {
    /// The defaults, with this scheme and the reports that suit it.
    pub fn new(scheme: impl Into<Scheme>) -> Self {
        let scheme = scheme.into();
        Config {
            feedback: scheme.feedback(),
            scheme,
            rate: RateControl::Adaptive,
            symbol_size: 1400,
            long_symbol_size: 9000,
            datagram_overhead: 28 + 36,
            limits: Limits::default(),
            send_buffer: 256 << 10,
            idle_timeout: Duration::from_secs(30),
            keep_alive: Some(Duration::from_secs(10)),
            initial_rtt: Duration::from_millis(100),
            deliver_late_messages: false,
        }
    }

    /// The defaults, with the scheme of `preset`.
    pub fn preset(preset: Preset) -> Self {
        Config::new(preset.scheme())
    }

    /// Options of scheme `auto`, the default: a repair symbol when it is worth its price. They
    /// convert into a configuration.
    pub fn auto() -> Auto {
        Auto::new()
    }

    /// Scheme `arq`, which sends lost symbols again and has no options.
    pub fn arq() -> Arq {
        Arq::new()
    }

    /// Options of scheme `block`: systematic blocks with a safety net.
    pub fn block() -> Block {
        Block::new()
    }

    /// Options of scheme `streaming` (Karzand et al.): evenly spaced repairs.
    pub fn streaming() -> Streaming {
        Streaming::new()
    }

    /// Options of scheme `rest` (Brulatout et al.): as many repairs as the measured losses require.
    pub fn rest() -> Rest {
        Rest::new()
    }

    /// Options of scheme `rateless` as in UDP-RC (Chong et al.).
    pub fn udp_rc() -> Rateless {
        Rateless::udp_rc()
    }

    /// Options of scheme `rateless` as in low-overhead RLC over UDP (Garrido et al.).
    pub fn rlc_block() -> Rateless {
        Rateless::rlc_block()
    }

    /// Refuses a configuration that cannot be used; [`Session::new`](crate::Session::new) calls it.
    ///
    /// # Errors
    /// The first field that is out of range, with its value and the allowed range; or two fields that
    /// contradict each other.
    pub fn check(&self) -> Result<(), ConfigError> {
        let milli = Duration::from_millis(1);
        self.scheme.check()?;
        self.feedback.check()?;
        let has_blocks = self.scheme.has_blocks_to_report();
        if matches!(self.feedback, Feedback::Block { .. }) && !has_blocks {
            return Err(ConfigError::Contradiction(
                "feedback = Block is for the blocks of scheme rateless: choose another feedback",
            ));
        }
        if let RateControl::Fixed { rate, window } = self.rate {
            within("rate.rate", rate.unwrap_or(1), 1..=u64::MAX)?;
            within("rate.window", window.unwrap_or(1), 1..=u64::MAX)?;
        }
        within(
            "symbol_size",
            self.symbol_size,
            SMALLEST_SYMBOL..=LARGEST_SYMBOL,
        )?;
        within(
            "long_symbol_size",
            self.long_symbol_size,
            0..=LARGEST_SYMBOL,
        )?;
        self.limits.check()?;
        within("send_buffer", self.send_buffer, 1..=usize::MAX)?;
        within("idle_timeout", self.idle_timeout, milli..=LONGEST)?;
        within(
            "keep_alive",
            self.keep_alive.unwrap_or(milli),
            milli..=LONGEST,
        )?;
        within("initial_rtt", self.initial_rtt, Duration::ZERO..=DAY)
    }

    /// Bytes of the longest symbol that this end sends.
    pub(crate) fn longest_symbol(&self) -> u16 {
        match self.long_symbol_size > USUAL_SYMBOL {
            true => self.long_symbol_size.max(self.symbol_size),
            false => self.symbol_size,
        }
    }

    /// Bytes that a peer can make a session with this configuration hold at most, apart from what
    /// waits to be sent ([`Config::send_buffer`]).
    pub fn memory(&self) -> u64 {
        let limits = &self.limits;
        let [symbols, unknowns, window] = [
            u64::from(limits.symbols),
            limits.unknowns.into(),
            limits.window.into(),
        ];
        // Fewer longer ones are held.
        let all = |most: u64, usual: u16, longest: u16| {
            let [usual, longest] = [usual.min(USUAL_SYMBOL), longest].map(u64::from);
            most * (usual + 320) + 2 * (longest + 320)
        };
        // The documented bound of a decoder over twice the credit.
        let decoder = all(2 * symbols, limits.symbol_size, limits.symbol_size)
            + unknowns * (unknowns + 512)
            + 2 * window
            + 1024;
        let unacknowledged = all(symbols, self.symbol_size, self.longest_symbol());
        let unread = limits.session_data.saturating_add(limits.message_data);
        let ahead = BYTES_AHEAD as u64;
        unread.saturating_add(decoder + unacknowledged + ahead)
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::new(Auto::new())
    }
}

macro_rules! into_config {
    ($($scheme:ty)*) => {
        $(impl From<$scheme> for Config {
            fn from(scheme: $scheme) -> Self {
                Config::new(scheme)
            }
        })*
    };
}
into_config!(Scheme Arq Auto Block Rateless Rest Streaming);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_accepted() {
        for preset in Preset::ALL {
            assert_eq!(Config::preset(preset).check(), Ok(()), "{preset}");
        }
    }

    #[test]
    fn an_invalid_configuration_is_refused_with_field_value_and_range() {
        let refused = |change: &dyn Fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        let zero = Duration::ZERO;
        for (change, words) in [
            (&|c: &mut Config| c.send_buffer = 0, "send_buffer = 0"),
            (
                &|c: &mut Config| c.idle_timeout = Duration::ZERO,
                "idle_timeout = 0ns",
            ),
            (&|c: &mut Config| c.symbol_size = 100, "symbol_size = 100"),
            (
                &|c: &mut Config| c.limits.symbols = 1 << 20,
                "limits.symbols = 1048576",
            ),
            (
                &|c: &mut Config| c.scheme = Streaming::new().share(5.0).into(),
                "streaming.share = 5.0 is out of range: give 0.0 to 4.0",
            ),
            (
                &|c: &mut Config| c.scheme = Streaming::new().spacing(1).into(),
                "streaming.share = inf",
            ),
            (
                &|c: &mut Config| c.scheme = Rateless::udp_rc().field(9).into(),
                "rateless.bits = 9 is out of range: give 1 to 8",
            ),
            (
                &|c: &mut Config| c.scheme = Auto::new().overhead(f64::NAN).into(),
                "auto.overhead = NaN",
            ),
        ] as [(&dyn Fn(&mut Config), &str); 8]
        {
            let said = refused(change);
            assert!(said.contains(words), "{said}");
        }
        let said = refused(&|c| c.feedback = Feedback::Block { interval: zero });
        assert!(said.contains("feedback.interval"), "{said}");
        let interval = Duration::from_millis(5);
        let said = refused(&|c| c.feedback = Feedback::Block { interval });
        assert!(said.contains("rateless"), "{said}");
    }

    #[test]
    #[cfg(feature = "serde")]
    fn a_configuration_survives_serde() {
        for preset in Preset::ALL {
            let mut config = Config::preset(preset);
            config.keep_alive = None;
            let text = serde_json::to_string(&config).unwrap();
            let read: Config = serde_json::from_str(&text).unwrap();
            assert_eq!(read, config, "{text}");
        }
    }

    #[test]
    fn the_memory_of_a_session_is_what_its_parts_may_hold() {
        let mut config = Config::default();
        config.limits.symbols = 300;
        config.limits.symbol_size = 1200;
        config.limits.unknowns = 200;
        config.limits.window = 100;
        config.limits.session_data = 1_000_000;
        config.limits.message_data = 500_000;
        config.symbol_size = 1000;
        config.long_symbol_size = 1000;
        let decoder = 602 * 1520 + 200 * 712 + 2 * 100 + 1024;
        let encoder = 302 * 1320 + (16 << 10);
        assert_eq!(config.memory(), 1_500_000 + decoder + encoder);
    }
}
