//! The tokio runtime under all endpoints.

use std::sync::OnceLock;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, EnterGuard, Runtime};

struct Started {
    runtime: Runtime,
    process: u32,
}

static STARTED: OnceLock<Started> = OnceLock::new();

/// Makes the runtime the current one of this thread; starts it first if it is not running yet.
///
/// # Errors
///
/// The system gives no threads, or this process is a fork of the one that has them.
pub(crate) fn enter() -> PyResult<EnterGuard<'static>> {
    let started = match STARTED.get() {
        Some(started) => started,
        None => {
            let runtime = Builder::new_multi_thread()
                .thread_name("weftline")
                .enable_all()
                .build()?;
            let process = std::process::id();
            // A runtime that another thread has started meanwhile is used instead.
            STARTED.get_or_init(|| Started { runtime, process })
        }
    };
    if started.process != std::process::id() {
        return Err(PyRuntimeError::new_err(
            "this process was forked from one with endpoints, whose threads it does not have: \
             use the start method `spawn` or `forkserver`, or make the first endpoint after the fork",
        ));
    }
    Ok(started.runtime.enter())
}
