//! Session-wide flow control: bytes of stream data and reliable messages.

/// The credit of both directions, as totals since the session began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    /// Total bytes that the peer accepts.
    send_max: u64,
    sent: u64,
    /// Total bytes that this end accepts, as last announced to the peer.
    receive_max: u64,
    received: u64,
    consumed: u64,
    window: u64,
}

impl Credit {
    pub(crate) fn new(send_max: u64, window: u64) -> Self {
        Credit {
            send_max,
            sent: 0,
            receive_max: window,
            received: 0,
            consumed: 0,
            window,
        }
    }

    /// The peer accepts `max` bytes in total; it never takes credit back.
    pub(crate) fn raise(&mut self, max: u64) {
        self.send_max = self.send_max.max(max);
    }

    pub(crate) fn available(&self) -> u64 {
        self.send_max - self.sent
    }

    pub(crate) fn spend(&mut self, amount: u64) {
        debug_assert!(amount <= self.available());
        self.sent += amount;
    }

    /// The peer spent `amount`. Returns false if its credit was smaller.
    #[must_use]
    pub(crate) fn receive(&mut self, amount: u64) -> bool {
        let received = self.received.saturating_add(amount);
        if received > self.receive_max {
            return false;
        }
        self.received = received;
        true
    }

    /// What the peer may still spend.
    pub(crate) fn receivable(&self) -> u64 {
        self.receive_max - self.received
    }

    /// What the peer spent and the application has not read.
    pub(crate) fn unread(&self) -> u64 {
        self.received.saturating_sub(self.consumed)
    }

    /// The application read `amount` bytes, or they were discarded.
    pub(crate) fn consume(&mut self, amount: u64) {
        self.consumed += amount;
    }

    /// Whether the new total is worth a frame to the peer.
    pub(crate) fn update_due(&self) -> bool {
        self.consumed + self.window - self.receive_max >= self.window / 4
    }

    /// The new total, which counts as announced.
    pub(crate) fn update(&mut self) -> u64 {
        self.receive_max = self.consumed + self.window;
        self.receive_max
    }
}
