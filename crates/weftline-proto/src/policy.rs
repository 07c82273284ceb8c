//! Sender policies, and the presets that are named sets of them.
//!
//! The five published systems differ in a handful of independent choices. Each
//! choice is one enum here; a [`Preset`] is one value of each.

mod compared;

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

pub use compared::Compared;

/// Which erasure code protects the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// No repair symbols at all: losses are only ever retransmitted.
    None,
    /// Systematic block random linear code: `k` source symbols, then repairs of that block.
    Block {
        /// Source symbols in a block.
        k: u16,
    },
    /// Sliding-window random linear code over GF(2^8).
    SlidingWindow,
    /// Random linear code of blocks in GF(2^q), whose repair symbols go on until the block is
    /// acknowledged: see [`Redundancy::Rateless`].
    Random(RandomCode),
}

/// The blocks of [`Code::Random`], in which every coefficient is drawn from all elements of the
/// field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RandomCode {
    /// Most source symbols of a block. It has fewer when the application has no more: at the end
    /// of a message or stream at once, else after a pause of an eighth of a round trip; and where
    /// the peer allows fewer.
    pub k: u16,
    /// Elements of the field have so many bits: q of GF(2^q), 1 to 8.
    pub bits: u8,
    /// The source symbols themselves are sent first. If not, nothing but repair symbols is.
    pub systematic: bool,
    /// How repair symbols tell their coding vectors.
    pub header: VectorHeader,
}

impl RandomCode {
    /// The fewest symbols beyond the k of a block with which it is decoded, all of them being
    /// repair symbols, with 99.9 %: 10 in GF(2), as Chong et al. have it, and 1 in GF(2^8).
    ///
    /// The probability of failure is about 2^(-q m) / (2^q - 1) with m more.
    pub fn usual_extra(bits: u8) -> u16 {
        let bits = u32::from(bits.clamp(1, 8));
        let enough = |more: &u16| ((1u32 << bits) - 1) << (bits * u32::from(*more)) >= 1 << 10;
        (0..=10).find(enough).unwrap_or(10)
    }
}

/// How a repair symbol tells its coding vector (Garrido et al. compare the two).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VectorHeader {
    /// By the seed of 4 bytes from which it was drawn.
    Seed,
    /// By its coefficients, q bits for each symbol of the block.
    Explicit,
}

/// Which source symbols a repair symbol of a sliding-window code covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodingWindow {
    /// Everything sent and not yet acknowledged, at most the newest `max` symbols.
    Elastic {
        /// Upper bound on the number of source symbols covered.
        max: u16,
    },
    /// The newest `size` source symbols.
    Fixed {
        /// Number of source symbols covered.
        size: u16,
    },
    /// The oldest unacknowledged source symbols, at most `size`: it stays until they are
    /// acknowledged (REST's mobile window).
    Mobile {
        /// Upper bound on the number of source symbols covered.
        size: u16,
    },
}

/// How many repair symbols are sent without being asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Redundancy {
    /// None.
    None,
    /// This many repair symbols for each source symbol: the repair share, 0.0 to 4.0.
    ///
    /// With a sliding window they are evenly spaced (share `1/(l-1)` is Karzand et al.'s
    /// spacing `l`); with a block code they follow each block, rounded to whole symbols.
    Share(f64),
    /// As many as the measured losses make necessary; needs a sliding window.
    Measured(Measured),
    /// As many as the delay aimed at needs, where they are worth most; needs a sliding window.
    Auto(Auto),
    /// As many for each block as it takes until it is acknowledged; needs [`Code::Random`], which
    /// has no other.
    Rateless(Rateless),
    /// By another sender's rule; needs a sliding window.
    Compared(Compared),
}

/// When the repair symbols of [`Redundancy::Rateless`] are sent (Chong et al., UDP-RC).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rateless {
    /// So many symbols beyond the k of a block are sent as fast as the rate control allows. The
    /// next block begins after them. With [`Rateless::ENDLESS`] there is no end to them until the
    /// block is acknowledged, and one block is under way at a time (Garrido et al.).
    pub extra: u16,
    /// Those that follow are sent at this share, above 0 and at most 1, of the rate that the block
    /// had until then. Until the acknowledgement can be here new symbols go before them.
    pub pace: f64,
}

impl Rateless {
    /// The value of [`Rateless::extra`] that is never reached.
    pub const ENDLESS: u16 = u16::MAX;
}

impl Default for Rateless {
    fn default() -> Self {
        Rateless {
            extra: 10,
            pace: 0.5,
        }
    }
}

/// What [`Redundancy::Measured`] goes by (Brulatout et al., REST): with a packet error rate of p, the
/// share R = 1/(1-p) - 1, which is one repair symbol after each k = floor(1/R) source symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// The error rate is measured anew in each interval of this length (the paper's W_EWMA).
    pub interval: Duration,
    /// Weight of the newest measurement in the moving average, 0.0 to 1.0 (the paper's alpha).
    pub weight: f64,
    /// Most source symbols between two repairs, however little is lost.
    pub most_apart: u16,
}

impl Default for Measured {
    fn default() -> Self {
        Measured {
            interval: Duration::from_secs(3),
            weight: 0.8,
            most_apart: 100,
        }
    }
}

/// What [`Redundancy::Auto`] aims at.
///
/// The sender keeps a belief over what the receiver is short of, from its reports and the losses
/// of the path, and sends a repair symbol when its expected worth exceeds a price. The default is
/// as fast as possible within a limit that suits most paths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Auto {
    /// The in-order delay aimed at, beyond the path's own; `None`: as short as possible.
    pub delay: Option<Duration>,
    /// How long after it was written what is on a stream should have been read at the far end. It
    /// moves redundancy to where it serves that; nothing is dropped. Where reports and their answers
    /// come in time, it costs hardly more than the losses.
    pub deadline: Option<Duration>,
    /// Most repairs per source symbol, in the long run. Beyond it only what the receiver is known
    /// to lack is made up for. `None`: 0.28, or 2.4 times the loss rate if that is more, at most 1.
    pub limit: Option<f64>,
    /// Parts of the rule, to see what each is worth.
    pub ingredients: Ingredients,
}

/// Parts of the rule of [`Redundancy::Auto`]; all are on unless switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ingredients {
    /// Deficits that the receiver reports raise the worth of a repair.
    pub reports: bool,
    /// After the last symbol before a pause repairs are nearly free.
    pub tail: bool,
    /// Losses in runs are told from single ones.
    pub bursts: bool,
    /// While more waits to be sent than the path takes, only what is missing is made up for.
    pub backlog: bool,
    /// Symbols older than the newest encoding window are sent again rather than coded.
    pub retransmit: bool,
}

impl Default for Ingredients {
    fn default() -> Self {
        Ingredients {
            reports: true,
            tail: true,
            bursts: true,
            backlog: true,
            retransmit: true,
        }
    }
}

/// When the receiver reports its state.
///
/// The sender of a flow chooses, and asks its peer for it in HELLO: tuning one end is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Feedback {
    /// After every datagram; at most once in `min_interval` while there is no news, neither a gap
    /// nor a recovery.
    EveryDatagram {
        /// Shortest time between two reports without news.
        min_interval: Duration,
    },
    /// Once each `interval` while data arrives.
    Periodic {
        /// Time between two reports.
        interval: Duration,
    },
    /// When a block of [`Code::Random`] is complete, and again at once for each further repair
    /// symbol of it; else once each `interval` while data arrives, so that the rate control and the
    /// measurements of the path have something to go by.
    Block {
        /// Time between two reports while no block is completed.
        interval: Duration,
    },
    /// As seldom as a delay allows: when something has been missing for `target`, or after as many
    /// datagrams as a report covers at most, and otherwise after [`Feedback::SELDOM`] times as long.
    Adaptive {
        /// What waits for a report waits no longer than this.
        target: Duration,
    },
}

impl Feedback {
    /// While nothing is missing [`Feedback::Adaptive`] reports after so many times its target.
    pub const SELDOM: u32 = 8;

    /// The longest time between two reports while data arrives.
    pub(crate) fn longest(self) -> Duration {
        match self {
            Feedback::EveryDatagram { min_interval } => min_interval,
            Feedback::Periodic { interval } | Feedback::Block { interval } => interval,
            Feedback::Adaptive { target } => target * Feedback::SELDOM,
        }
    }
}

/// What the sender does when a report shows that something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopUp {
    /// Nothing: the redundancy itself must suffice. Only after the retransmission timer has fired
    /// is what was sent until then made up for, as the code allows.
    None,
    /// Send the missing source symbols again.
    Retransmit,
    /// Send as many fresh repair symbols as the receiver's deficit, less those in flight.
    Deficit,
    /// Nothing while source symbols flow. After the last one, repair symbols over what is not
    /// acknowledged until it is, no more of them in flight than could be of use.
    AtEnd,
}

/// One choice of each policy.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Policies {
    /// The erasure code.
    pub code: Code,
    /// The encoding window of a sliding-window code.
    pub window: EncodingWindow,
    /// Repairs sent without being asked for.
    pub redundancy: Redundancy,
    /// What the receiver is asked to report, and when.
    pub feedback: Feedback,
    /// Reaction to a reported loss.
    pub top_up: TopUp,
}

/// A named set of policies that reproduces one published system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// Selective-repeat ARQ: no code, lost source symbols are sent again (Karzand et al., baseline).
    Arq,
    /// Systematic block code with an ARQ safety net (Karzand et al., baseline).
    Block,
    /// Streaming code: a repair symbol over all unacknowledged symbols at a fixed spacing
    /// (Karzand et al.).
    Streaming,
    /// REST: as many repair symbols as the measured losses make necessary, over a mobile window, with
    /// periodic reports (Brulatout et al.).
    Rest,
    /// UDP-RC: each message as source symbols and then random combinations of them in GF(2), the first
    /// 10 at full speed, until it is acknowledged (Chong et al.).
    UdpRc,
    /// Low-overhead RLC: nothing but random combinations of a block until it is acknowledged, in
    /// GF(2^8) (Garrido et al.).
    RlcBlock,
    /// Repair symbols where and when they are worth most, for the delay aimed at: the default.
    Auto,
    /// For comparison: AC-RLNC (Cohen et al.).
    AcRlnc,
    /// For comparison: FlEC's rule for bulk transfers (Michel et al.).
    FlecBulk,
    /// For comparison: FlEC's rule for messages (Michel et al.).
    FlecMessage,
    /// For comparison: evenly spaced repairs, and lost symbols once more rather than coded (CRLNC-FB,
    /// Gabriel et al.).
    Uncoded,
}

impl Preset {
    /// All presets, in the order in which they are compared.
    pub const ALL: [Preset; 11] = [
        Preset::Arq,
        Preset::Block,
        Preset::Streaming,
        Preset::Rest,
        Preset::UdpRc,
        Preset::RlcBlock,
        Preset::Auto,
        Preset::AcRlnc,
        Preset::FlecBulk,
        Preset::FlecMessage,
        Preset::Uncoded,
    ];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Arq => "arq",
            Preset::Block => "block",
            Preset::Streaming => "streaming",
            Preset::Rest => "rest",
            Preset::UdpRc => "udp-rc",
            Preset::RlcBlock => "rlc-block",
            Preset::Auto => "auto",
            Preset::AcRlnc => "ac-rlnc",
            Preset::FlecBulk => "flec-bulk",
            Preset::FlecMessage => "flec-message",
            Preset::Uncoded => "uncoded",
        }
    }

    /// The policies of this preset, with a repair share of 1/6 (about what the paper's
    /// figures use at 10 % loss) and blocks of 32 (its best block size).
    pub fn policies(self) -> Policies {
        let share = Redundancy::Share(1.0 / 6.0);
        let base = Policies {
            code: Code::SlidingWindow,
            window: EncodingWindow::Elastic { max: 256 },
            redundancy: share,
            feedback: Feedback::EveryDatagram {
                min_interval: Duration::from_micros(250),
            },
            top_up: TopUp::Deficit,
        };
        let compared = |rule| Policies {
            window: EncodingWindow::Elastic { max: 1024 },
            redundancy: Redundancy::Compared(rule),
            top_up: TopUp::None,
            ..base
        };
        match self {
            Preset::Arq => Policies {
                code: Code::None,
                redundancy: Redundancy::None,
                top_up: TopUp::Retransmit,
                ..base
            },
            Preset::Block => Policies {
                code: Code::Block { k: 32 },
                ..base
            },
            Preset::Streaming => base,
            Preset::Rest => Policies {
                window: EncodingWindow::Mobile { size: 1024 },
                redundancy: Redundancy::Measured(Measured::default()),
                feedback: Feedback::Periodic {
                    interval: Duration::from_millis(200),
                },
                top_up: TopUp::AtEnd,
                ..base
            },
            Preset::UdpRc => Policies {
                code: Code::Random(RandomCode {
                    k: 1024,
                    bits: 1,
                    systematic: true,
                    header: VectorHeader::Seed,
                }),
                redundancy: Redundancy::Rateless(Rateless::default()),
                feedback: Feedback::EveryDatagram {
                    min_interval: Duration::ZERO,
                },
                top_up: TopUp::None,
                ..base
            },
            Preset::RlcBlock => Policies {
                code: Code::Random(RandomCode {
                    k: 64,
                    bits: 8,
                    systematic: false,
                    header: VectorHeader::Seed,
                }),
                redundancy: Redundancy::Rateless(Rateless {
                    extra: Rateless::ENDLESS,
                    ..Rateless::default()
                }),
                feedback: Feedback::Block {
                    interval: Duration::from_millis(20),
                },
                top_up: TopUp::None,
                ..base
            },
            Preset::Auto => Policies {
                window: EncodingWindow::Elastic { max: 1024 },
                redundancy: Redundancy::Auto(Auto::default()),
                ..base
            },
            Preset::AcRlnc => compared(Compared::AcRlnc { threshold: 0.0 }),
            Preset::FlecBulk => compared(Compared::FlecBulk),
            Preset::FlecMessage => compared(Compared::FlecMessage {
                deadline: Duration::from_millis(100),
            }),
            Preset::Uncoded => Policies {
                top_up: TopUp::Retransmit,
                ..base
            },
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name given is not a preset's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown preset `{0}`: use one of arq, block, streaming, rest, udp-rc, rlc-block, auto, or to compare with ac-rlnc, flec-bulk, flec-message, uncoded"
)]
pub struct UnknownPreset(String);

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Preset::ALL
            .into_iter()
            .find(|p| p.name() == s)
            .ok_or_else(|| UnknownPreset(s.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_more_symbols_are_enough_in_gf2_and_one_in_gf256() {
        let extra = (1..=8).map(RandomCode::usual_extra).collect::<Vec<_>>();
        assert_eq!(extra, [10, 5, 3, 2, 2, 1, 1, 1]);
    }

    #[test]
    fn every_preset_is_found_by_its_name() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        let error = "udprc".parse::<Preset>().unwrap_err().to_string();
        assert!(Preset::ALL.iter().all(|p| error.contains(p.name())));
    }
}
