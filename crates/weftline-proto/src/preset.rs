//! Presets: published systems by the names that users type.

use core::fmt;
use core::str::FromStr;

use crate::sender::scheme::{Arq, Auto, Block, Rateless, Rest, Scheme, Streaming};
use crate::settings::TextError;

/// A published system, or one of its baselines, by the name that users type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Preset {
    /// Selective-repeat ARQ: it sends lost source symbols again, without a code (Karzand et al.,
    /// baseline).
    Arq,
    /// Systematic block code with an ARQ safety net (Karzand et al., baseline).
    Block,
    /// Streaming code: a repair symbol over all unacknowledged symbols at a fixed spacing
    /// (Karzand et al.).
    Streaming,
    /// REST: as many repair symbols as the measured losses require, over a mobile window, with
    /// periodic reports (Brulatout et al.).
    Rest,
    /// UDP-RC: the source symbols of each message, then random combinations of them in GF(2) until it
    /// is acknowledged, the first 10 at full speed (Chong et al.).
    UdpRc,
    /// Low-overhead RLC: only random combinations of a block, in GF(2^8), until it is acknowledged
    /// (Garrido et al.).
    RlcBlock,
    /// The default: repair symbols when they are worth their price, for a target delay.
    Auto,
}

impl Preset {
    /// All presets, in the order in which they are compared.
    pub const ALL: [Preset; 7] = [
        Preset::Arq,
        Preset::Block,
        Preset::Streaming,
        Preset::Rest,
        Preset::UdpRc,
        Preset::RlcBlock,
        Preset::Auto,
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
        }
    }

    /// The scheme of this preset, with the options of the paper.
    pub fn scheme(self) -> Scheme {
        match self {
            Preset::Arq => Arq::new().into(),
            Preset::Block => Block::new().into(),
            Preset::Streaming => Streaming::new().into(),
            Preset::Rest => Rest::new().into(),
            Preset::UdpRc => Rateless::udp_rc().into(),
            Preset::RlcBlock => Rateless::rlc_block().into(),
            Preset::Auto => Auto::new().into(),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Preset {
    type Err = TextError;

    fn from_str(name: &str) -> Result<Self, TextError> {
        let found = Preset::ALL.into_iter().find(|p| p.name() == name);
        found.ok_or_else(|| TextError::UnknownPreset {
            name: name.to_owned(),
            known: Preset::ALL.map(Preset::name).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_found_by_its_name() {
        for preset in Preset::ALL {
            assert_eq!(preset.name().parse(), Ok(preset));
        }
        let error = "udprc".parse::<Preset>().unwrap_err().to_string();
        assert!(Preset::ALL.iter().all(|p| error.contains(p.name())));
    }
}
