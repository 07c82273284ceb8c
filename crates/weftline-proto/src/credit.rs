//! Session-wide flow control: bytes of stream data and reliable messages.

/// Both directions' credit, as totals since the session began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    /// The peer accepts this much in all.
    send_max: u64,
    sent: u64,
    /// This end accepts this much in all, as last told to the peer.
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

    /// The peer allows `max` in all; it never takes credit back.
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

    /// The peer spent `amount`; false when it had not so much.
    #[must_use]
    pub(crate) fn receive(&mut self, amount: u64) -> bool {
        self.received = self.received.saturating_add(amount);
        self.received <= self.receive_max
    }

    /// The application took `amount`, or it was discarded.
    pub(crate) fn consume(&mut self, amount: u64) {
        self.consumed += amount;
    }

    /// A new total to tell the peer, once it is worth a frame.
    pub(crate) fn update_due(&self) -> bool {
        self.consumed + self.window - self.receive_max >= self.window / 4
    }

    /// The new total; it counts as told.
    pub(crate) fn update(&mut self) -> u64 {
        self.receive_max = self.consumed + self.window;
        self.receive_max
    }
}
