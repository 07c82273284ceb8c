//! The transports that the lab measures, and their looks.

use super::path::{Path, Rate};

/// A transport in the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    /// UDP-RC at the link's rate.
    ByHand,
    /// UDP-RC with the session's rate control.
    Own,
    Cubic,
    Reno,
    Bbr,
    Udt,
}

impl Peer {
    /// All of them.
    pub(super) const ALL: [Peer; 6] = [
        Peer::ByHand,
        Peer::Own,
        Peer::Cubic,
        Peer::Reno,
        Peer::Bbr,
        Peer::Udt,
    ];

    /// As `compare` has it.
    pub(super) fn id(self, path: &Path) -> String {
        match self {
            Peer::ByHand => path.peer(Rate::ByHand),
            Peer::Own => path.peer(Rate::Own),
            Peer::Cubic => "tcp/cubic".to_owned(),
            Peer::Reno => "tcp/reno".to_owned(),
            Peer::Bbr => "tcp/bbr".to_owned(),
            Peer::Udt => "udt".to_owned(),
        }
    }

    /// In legends; TCP is the kernel's.
    pub(super) fn name(self, kernel: &str) -> String {
        match self {
            Peer::ByHand => format!("UDP-RC, {}, lab", Rate::ByHand.words()),
            Peer::Own => format!("UDP-RC, {}, lab", Rate::Own.words()),
            Peer::Cubic => format!("TCP CUBIC ({kernel}), lab"),
            Peer::Reno => format!("TCP NewReno ({kernel}), lab"),
            Peer::Bbr => format!("TCP BBR ({kernel}), lab"),
            Peer::Udt => "UDT 4, lab".to_owned(),
        }
    }

    /// Its colour.
    pub(super) fn colour(self) -> usize {
        match self {
            Peer::ByHand => 0,
            Peer::Own => 2,
            Peer::Cubic => 1,
            Peer::Reno => 3,
            Peer::Bbr => 5,
            Peer::Udt => 8,
        }
    }
}

impl Rate {
    /// The engine's colour where the lab's lines have marks of their own.
    pub(super) fn colour(self) -> usize {
        match self {
            Rate::ByHand => Peer::ByHand.colour(),
            Rate::Own => Peer::Own.colour(),
        }
    }

    /// The engine's name in legends.
    pub(super) fn engine_name(self) -> String {
        format!("UDP-RC, {}, engine", self.words())
    }
}
