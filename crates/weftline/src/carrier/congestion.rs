//! A QUIC congestion controller that leaves the rate to the engine.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn::congestion::{Controller, ControllerFactory};

/// Bytes in flight that no path reaches; quinn does not pace windows above 4 GiB.
const WINDOW: u64 = 1 << 40;

/// Never limits: the engine's own rate control does. It only counts what QUIC alone is told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unlimited {
    marks: u64,
}

impl Unlimited {
    /// How often an acknowledgement told of datagrams that the path had marked (ECN).
    pub(crate) fn marks(controller: Box<dyn Controller>) -> u64 {
        let this = controller.into_any().downcast::<Unlimited>();
        this.map_or(0, |this| this.marks)
    }
}

impl ControllerFactory for Unlimited {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        Box::new(*self)
    }
}

impl Controller for Unlimited {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _persistent: bool, lost: u64) {
        // Congestion without a loss is a mark.
        self.marks += u64::from(lost == 0);
    }

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        WINDOW
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(*self)
    }

    fn initial_window(&self) -> u64 {
        WINDOW
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
