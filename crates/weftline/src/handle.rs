//! What keeps a connection open.

use std::sync::Arc;

use crate::shared::Shared;

/// Keeps the connection open; the last one to go closes it.
pub(crate) struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Handle { shared }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.close(0, "dropped");
    }
}
