//! Schemes: how a sender repairs losses. Each scheme has its own module.
//!
//! The module of a scheme has its options, for the configuration, and its [`Rule`], which tells the
//! sender what to send.
//!
//! | module | published system |
//! | --- | --- |
//! | `streaming` | Karzand et al. |
//! | `arq`, `block` | the baselines of Karzand et al. |
//! | `rest` | REST (Brulatout et al.) |
//! | `rateless` | UDP-RC (Chong et al.) and low-overhead RLC (Garrido et al.) |
//! | `auto` | our own |
//!
//! RLC for FECFRAME (Roca et al.) is the crate `weftline-fecframe`.

mod arq;
mod auto;
mod block;
#[cfg(feature = "unstable-scheme")]
mod custom;
mod rateless;
mod rest;
mod rule;
mod spacing;
mod streaming;

use core::time::Duration;

use crate::check::ConfigError;
use crate::feedback::Feedback;
use crate::settings::{Settings, TextError};
use crate::time::Time;
use crate::wire::Measuring;

pub use arq::Arq;
pub use auto::Auto;
pub use block::Block;
#[cfg(feature = "unstable-scheme")]
pub use custom::Custom;
pub use rateless::{Rateless, VectorHeader};
pub use rest::{Measured, Rest, RestShare};
pub use rule::{Redundancy, Report, Rule};
pub use streaming::Streaming;

/// How a sender repairs losses: a published system, with its own options and no others.
///
/// Each end chooses the scheme for the data that it sends. The receiver needs no setting.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Scheme {
    /// Sends lost symbols again; no code.
    Arq(Arq),
    /// Systematic blocks, and more repairs for a block that lacks them.
    Block(Block),
    /// Evenly spaced repairs, and more on a deficit (Karzand et al.).
    Streaming(Streaming),
    /// As many repairs as the measured losses require, over a mobile window (Brulatout et al.).
    Rest(Rest),
    /// Combinations of a block until it is acknowledged (Chong et al.; Garrido et al.).
    Rateless(Rateless),
    /// A repair when it is worth its price, for a target delay.
    Auto(Auto),
    /// A rule from outside the engine, for research. It is code, and not in the serde form.
    #[cfg(feature = "unstable-scheme")]
    #[cfg_attr(feature = "serde", serde(skip))]
    Custom(Custom),
}

impl Scheme {
    /// The name of the scheme.
    pub fn name(&self) -> &'static str {
        match self {
            Scheme::Arq(_) => "arq",
            Scheme::Block(_) => "block",
            Scheme::Streaming(_) => "streaming",
            Scheme::Rest(_) => "rest",
            Scheme::Rateless(_) => "rateless",
            Scheme::Auto(_) => "auto",
            #[cfg(feature = "unstable-scheme")]
            Scheme::Custom(custom) => custom.name(),
        }
    }

    /// Sets the repair share: repair symbols for each source symbol, 0 to 4. For `auto` it is the
    /// maximum in the long run; `rest` stops measuring. Returns true if the scheme has a share:
    /// `arq`, `rateless` and custom schemes do not.
    pub fn set_share(&mut self, share: f64) -> bool {
        match self {
            Scheme::Block(block) => block.share = share,
            Scheme::Streaming(streaming) => streaming.share = share,
            Scheme::Rest(rest) => rest.share = RestShare::Fixed(share),
            Scheme::Auto(auto) => auto.overhead = Some(share),
            _ => return false,
        }
        true
    }

    /// Reads the options of this scheme; options that are not given stay as they are.
    pub(crate) fn read(&mut self, settings: &mut Settings) -> Result<(), TextError> {
        match self {
            Scheme::Arq(_) => Ok(()),
            Scheme::Block(block) => block.read(settings),
            Scheme::Streaming(streaming) => streaming.read(settings),
            Scheme::Rest(rest) => rest.read(settings),
            Scheme::Rateless(rateless) => rateless.read(settings),
            Scheme::Auto(auto) => auto.read(settings),
            #[cfg(feature = "unstable-scheme")]
            Scheme::Custom(_) => Ok(()),
        }
    }

    /// The reports that the scheme asks for unless the configuration says otherwise.
    pub(crate) fn feedback(&self) -> Feedback {
        match self {
            Scheme::Rest(_) => Feedback::Periodic {
                interval: Duration::from_millis(200),
            },
            Scheme::Rateless(rateless) => rateless.feedback(),
            _ => Feedback::EveryDatagram {
                min_interval: Duration::from_micros(250),
            },
        }
    }

    /// How the peer measures the losses for this scheme, if the scheme needs it.
    pub(crate) fn measuring(&self) -> Option<Measuring> {
        match self {
            Scheme::Rest(rest) => rest.measuring(),
            _ => None,
        }
    }

    /// Whether the scheme has blocks whose completion the receiver can report.
    pub(crate) fn has_blocks_to_report(&self) -> bool {
        matches!(self, Scheme::Rateless(_))
    }

    /// Refuses options that are out of range.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Scheme::Arq(_) => Ok(()),
            Scheme::Block(block) => block.check(),
            Scheme::Streaming(streaming) => streaming.check(),
            Scheme::Rest(rest) => rest.check(),
            Scheme::Rateless(rateless) => rateless.check(),
            Scheme::Auto(auto) => auto.check(),
            #[cfg(feature = "unstable-scheme")]
            Scheme::Custom(_) => Ok(()),
        }
    }

    /// Whether the scheme works over several paths.
    pub fn takes_several_paths(&self) -> bool {
        match self {
            Scheme::Arq(_) | Scheme::Streaming(_) | Scheme::Auto(_) => true,
            Scheme::Block(_) | Scheme::Rest(_) | Scheme::Rateless(_) => false,
            #[cfg(feature = "unstable-scheme")]
            Scheme::Custom(_) => true,
        }
    }

    /// The bits of a coefficient: q of GF(2^q).
    pub(crate) fn field_bits(&self) -> u8 {
        match self {
            Scheme::Rateless(rateless) => rateless.bits,
            _ => 8,
        }
    }

    /// The payload bytes of the longest symbol whose repair fits a datagram of `longest` bytes.
    pub(crate) fn symbol_room(&self, longest: usize) -> usize {
        match self {
            Scheme::Rateless(rateless) => rateless.symbol_room(longest),
            _ => longest.saturating_sub(crate::wire::REPAIR_OVERHEAD),
        }
    }

    /// The rule of the scheme, for a flow that begins at `now`.
    pub(crate) fn rule(&self, seed: u64, now: Time) -> Box<dyn Rule> {
        match self {
            Scheme::Arq(_) => Box::new(arq::ArqRule),
            Scheme::Block(block) => Box::new(block::BlockRule::new(*block)),
            Scheme::Streaming(streaming) => Box::new(streaming::StreamingRule::new(*streaming)),
            Scheme::Rest(rest) => Box::new(rest::RestRule::new(*rest)),
            Scheme::Rateless(rateless) => Box::new(rateless::RatelessRule::new(*rateless, seed)),
            Scheme::Auto(auto) => Box::new(auto::AutoRule::new(*auto, now)),
            #[cfg(feature = "unstable-scheme")]
            Scheme::Custom(custom) => custom.rule(now),
        }
    }
}

macro_rules! into_scheme {
    ($($name:ident)*) => {
        $(impl From<$name> for Scheme {
            fn from(options: $name) -> Self {
                Scheme::$name(options)
            }
        })*
    };
}
into_scheme!(Arq Block Streaming Rest Rateless Auto);
#[cfg(feature = "unstable-scheme")]
into_scheme!(Custom);
