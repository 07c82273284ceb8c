//! Rules of other senders, to compare with.

use core::time::Duration;

/// A published rule for when to send repair symbols, over a sliding window. None is meant for use:
/// they show what [`Redundancy::Auto`](super::Redundancy::Auto) is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Compared {
    /// Adaptive causal network coding (Cohen et al., "Adaptive Causal Network Coding With Feedback",
    /// 2020): repairs for the losses expected after each round trip's worth of source symbols, and
    /// while a report shows losses, so many that the equations added and missing are in proportion.
    AcRlnc {
        /// Missing over added equations may exceed 1 by this much (the paper's th).
        threshold: f64,
    },
    /// FlEC for bulk transfers (Michel et al., "FlEC: Enhancing QUIC With Application-Tailored
    /// Reliability Mechanisms", 2023): repairs only when nothing more is to be sent, and AC-RLNC's
    /// answer to reports.
    FlecBulk,
    /// FlEC for messages: repairs as late as the soonest deadline allows, and AC-RLNC's answer to
    /// reports.
    FlecMessage {
        /// When what was sent must have arrived, from then on.
        deadline: Duration,
    },
}
