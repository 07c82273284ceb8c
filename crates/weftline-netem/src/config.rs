//! What a link is made of.

use core::time::Duration;

use crate::delays::{Bunch, Delays, Jitter, Policer, Steps};
use crate::loss::LossModel;
use crate::outages::Outages;
use crate::trace::Trace;

/// The properties of one direction of a path. The default is a perfect link:
/// unlimited rate, no delay, nothing lost.
///
/// Written and read as text such as `rate=25mbit delay=30ms loss=iid:10%`; the
/// crate documentation lists every part.
///
/// ```
/// use weftline_netem::{LinkConfig, LossModel, Queue};
/// use std::time::Duration;
///
/// let built = LinkConfig::default()
///     .with_rate(25_000_000)
///     .with_delay(Duration::from_millis(30))
///     .with_queue(Queue::packets(100))
///     .with_loss(LossModel::iid(0.1));
/// let parsed: LinkConfig = "rate=25mbit delay=30ms queue=100pkt loss=iid:10%".parse()?;
/// assert_eq!(built, parsed);
/// # Ok::<(), weftline_netem::ParseLinkError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct LinkConfig {
    /// Rate in bit/s; `None` is unlimited. `Some(0)` is a link that is down:
    /// the queue drops every packet.
    pub rate: Option<u64>,
    /// Propagation delay, one way.
    pub delay: Duration,
    /// Propagation delay over time, instead of `delay`.
    pub delays: Option<Delays>,
    /// The delay changes by a step and back again.
    pub steps: Option<Steps>,
    /// A random part of each packet's delay.
    pub jitter: Jitter,
    /// Packets are held and then arrive at once.
    pub bunch: Option<Bunch>,
    /// Packets beyond a rate are dropped before the queue.
    pub police: Option<Policer>,
    /// How much may wait for the transmitter.
    pub queue: Queue,
    /// Threshold for marks: a packet that would not fit in a queue of this size is
    /// marked, if it is ECN-capable (RFC 3168: Congestion Experienced).
    pub ecn: Option<Queue>,
    /// Which packets are lost after the queue.
    pub loss: LossModel,
    /// Rate and loss over time, where the trace gives them; else `rate` and `loss` hold.
    pub trace: Option<Trace>,
    /// When the link is down.
    pub down: Outages,
    /// Packets held back so that later ones overtake them.
    pub reorder: Option<Reorder>,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Largest packet carried, in bytes; `None` is unlimited.
    pub mtu: Option<usize>,
}

/// The drop-tail queue before the transmitter: a packet that does not fit is dropped.
/// All limits that are given apply; without any, nothing is dropped. The packet being
/// transmitted is not in the queue, so a packet that finds the transmitter idle is
/// never dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Queue {
    /// The most packets that wait.
    pub packets: Option<usize>,
    /// The most bytes that wait, the new packet included.
    pub bytes: Option<usize>,
    /// A packet that would wait longer than this is dropped.
    pub time: Option<Duration>,
}

impl Queue {
    /// No limit: every packet waits its turn.
    pub const UNLIMITED: Self = Self {
        packets: None,
        bytes: None,
        time: None,
    };

    /// At most this many packets wait.
    pub const fn packets(most: usize) -> Self {
        Self {
            packets: Some(most),
            ..Self::UNLIMITED
        }
    }

    /// At most this many bytes wait.
    pub const fn bytes(most: usize) -> Self {
        Self {
            bytes: Some(most),
            ..Self::UNLIMITED
        }
    }

    /// No packet waits longer than this.
    pub const fn time(most: Duration) -> Self {
        Self {
            time: Some(most),
            ..Self::UNLIMITED
        }
    }

    /// The limits of both queues; where both limit the same, the smaller limit.
    pub fn and(self, other: Self) -> Self {
        fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        }
        Self {
            packets: least(self.packets, other.packets),
            bytes: least(self.bytes, other.bytes),
            time: least(self.time, other.time),
        }
    }

    /// Whether there is room for a packet of `len` bytes that would wait for `wait`,
    /// behind `packets` packets of `bytes` bytes in total.
    pub(crate) fn has_room(
        &self,
        len: usize,
        wait: Duration,
        packets: usize,
        bytes: usize,
    ) -> bool {
        self.packets.is_none_or(|most| packets < most)
            && self
                .bytes
                .is_none_or(|most| bytes.saturating_add(len) <= most)
            && self.time.is_none_or(|most| wait <= most)
    }
}

/// Reordering: with some probability a packet is held back at the end of the link,
/// and the packets behind it are not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reorder {
    /// Share of packets held back, 0 to 1.
    pub probability: f64,
    /// How much later such a packet arrives.
    pub extra: Duration,
}

impl LinkConfig {
    /// Sets the rate in bit/s.
    pub fn with_rate(mut self, bits_per_second: u64) -> Self {
        self.rate = Some(bits_per_second);
        self
    }

    /// Sets the one-way propagation delay.
    pub fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Sets the largest random extra delay: uniform, in order.
    pub fn with_jitter(mut self, spread: Duration) -> Self {
        self.jitter = Jitter::uniform(spread);
        self
    }

    /// Sets the queue limit.
    pub fn with_queue(mut self, queue: Queue) -> Self {
        self.queue = queue;
        self
    }

    /// Marks packets that find a queue longer than this.
    pub fn with_ecn(mut self, threshold: Queue) -> Self {
        self.ecn = Some(threshold);
        self
    }

    /// Sets the rate and the loss over time.
    pub fn with_trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Bits that the link can carry from one time to another, whatever is offered; `None` if its
    /// rate has no limit in that time.
    pub fn capacity(&self, from: Duration, to: Duration) -> Option<u64> {
        let up = self.down.up(from, to);
        up.into_iter().map(|(from, to)| self.bits(from, to)).sum()
    }

    fn bits(&self, from: Duration, to: Duration) -> Option<u64> {
        if let Some(trace) = &self.trace {
            return trace.bits(self.rate, from, to);
        }
        let bit_nanos = u128::from(self.rate?) * to.saturating_sub(from).as_nanos();
        u64::try_from(bit_nanos / 1_000_000_000).ok()
    }

    /// Sets the loss model.
    pub fn with_loss(mut self, loss: LossModel) -> Self {
        self.loss = loss;
        self
    }

    /// Holds back a share of packets (0 to 1) by `extra`.
    pub fn with_reorder(mut self, probability: f64, extra: Duration) -> Self {
        self.reorder = Some(Reorder { probability, extra });
        self
    }

    /// Sets the probability that a packet arrives twice.
    pub fn with_duplicate(mut self, probability: f64) -> Self {
        self.duplicate = probability;
        self
    }

    /// Takes the link down at these times.
    pub fn with_down(mut self, outages: Outages) -> Self {
        self.down = outages;
        self
    }

    /// Sets the largest packet in bytes.
    pub fn with_mtu(mut self, bytes: usize) -> Self {
        self.mtu = Some(bytes);
        self
    }
}
