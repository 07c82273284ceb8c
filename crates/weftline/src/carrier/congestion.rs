//! A QUIC congestion controller that leaves the rate to the session.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn::congestion::{Controller, ControllerFactory};

/// Bytes in flight that no path reaches; quinn does not pace windows above 4 GiB.
const WINDOW: u64 = 1 << 40;

/// Never limits: the session's own rate control does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unlimited;

impl ControllerFactory for Unlimited {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        Box::new(Unlimited)
    }
}

impl Controller for Unlimited {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        WINDOW
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Unlimited)
    }

    fn initial_window(&self) -> u64 {
        WINDOW
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
