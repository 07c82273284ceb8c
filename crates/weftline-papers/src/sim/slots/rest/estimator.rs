//! The receiver's estimate of the packet error rate.

use std::collections::VecDeque;

/// An EWMA of the share of packets that were lost within a window of time, which slides: each
/// acknowledgement takes a new value. Before the window is full, a value is of the packets so far.
///
/// A loss is seen when a later packet arrives.
#[derive(Debug)]
pub(super) struct Estimator {
    /// Weight of the newest value: the paper's alpha.
    alpha: f64,
    /// Seconds of the window: the paper's W_EWMA.
    window_s: f64,
    /// When each packet of the window arrived or was seen to be lost, and whether it was lost.
    packets: VecDeque<(f64, bool)>,
    lost: usize,
    /// Packets lost since the last arrival.
    unseen: usize,
    value: Option<f64>,
}

impl Estimator {
    pub(super) fn new(alpha: f64, window_s: f64) -> Self {
        Self {
            alpha,
            window_s,
            packets: VecDeque::new(),
            lost: 0,
            unseen: 0,
            value: None,
        }
    }

    /// A packet arrives at `now` or is lost.
    pub(super) fn on_packet(&mut self, now: f64, lost: bool) {
        if lost {
            self.unseen += 1;
            return;
        }
        let unseen = std::mem::take(&mut self.unseen);
        self.packets
            .extend(std::iter::repeat_n((now, true), unseen));
        self.lost += unseen;
        self.packets.push_back((now, false));
    }

    /// An acknowledgement leaves at `now`, with the value that this gives.
    pub(super) fn on_ack(&mut self, now: f64) -> f64 {
        while let Some((at, lost)) = self.packets.front().copied()
            && at <= now - self.window_s
        {
            self.packets.pop_front();
            self.lost -= usize::from(lost);
        }
        if !self.packets.is_empty() {
            let newest = self.lost as f64 / self.packets.len() as f64;
            let before = self.value.unwrap_or(newest);
            self.value = Some(self.alpha * newest + (1.0 - self.alpha) * before);
        }
        self.value.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_not_full_gives_the_losses_so_far() {
        let mut estimator = Estimator::new(0.8, 3.0);
        assert_eq!(estimator.on_ack(0.0), 0.0);
        for n in 0..10 {
            estimator.on_packet(f64::from(n) * 0.01, n % 5 == 1);
        }
        assert!((estimator.on_ack(0.1) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn a_loss_counts_when_a_later_packet_arrives() {
        let mut estimator = Estimator::new(1.0, 3.0);
        estimator.on_packet(0.0, false);
        estimator.on_packet(0.1, true);
        assert_eq!(estimator.on_ack(0.15), 0.0);
        estimator.on_packet(0.2, false);
        assert!((estimator.on_ack(0.25) - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn what_left_the_window_counts_only_through_the_average() {
        let mut estimator = Estimator::new(0.8, 3.0);
        estimator.on_packet(0.0, true);
        estimator.on_packet(0.0, false);
        assert!((estimator.on_ack(0.2) - 0.5).abs() < 1e-12);
        estimator.on_packet(3.0, false);
        assert!((estimator.on_ack(3.2) - 0.2 * 0.5).abs() < 1e-12);
        assert!((estimator.on_ack(9.0) - 0.2 * 0.5).abs() < 1e-12);
    }
}
