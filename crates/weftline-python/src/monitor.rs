//! What the connections of endpoints do.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use weftline::ConnectionInfo;

use crate::connection::{Path, path, stats};
use crate::identity::Fingerprint;

/// Looks at the connections of all endpoints that have this in their ``Config``. It costs nothing until it is asked, and
/// keeps no connection open.
#[pyclass(frozen, module = "weftline")]
pub(crate) struct Monitor(pub(crate) weftline::Monitor);

/// UDP packets: sent, their bytes, received, their bytes.
type Packets = (u64, u64, u64, u64);

/// A connection: number, whether the peer opened it, peer, remote address, application protocol, age, counters as JSON,
/// paths, packets, and what it holds.
type Open = (
    u64,
    bool,
    Option<Fingerprint>,
    String,
    Option<String>,
    f64,
    String,
    Vec<Path>,
    Packets,
    u64,
);

#[pymethods]
impl Monitor {
    #[new]
    fn new() -> Self {
        Monitor(weftline::Monitor::new())
    }

    /// Everything at this moment.
    fn overview<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static READ: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let read = READ.import(py, "weftline._monitor", "read_overview")?;
        let overview = py.detach(|| self.0.overview());
        let open: Vec<Open> = overview.open.into_iter().map(open).collect();
        let totals = (
            stats(&overview.totals.stats),
            packets(overview.totals.packets),
        );
        read.call1((overview.connections, open, totals))
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

fn open(info: ConnectionInfo) -> Open {
    (
        info.number,
        info.is_accepted,
        info.peer.map(Fingerprint),
        info.remote.to_string(),
        info.application_protocol,
        info.age.as_secs_f64(),
        stats(&info.stats),
        info.paths.into_iter().map(path).collect(),
        packets(info.packets),
        info.held,
    )
}

fn packets(packets: weftline::Packets) -> Packets {
    (
        packets.sent,
        packets.sent_bytes,
        packets.received,
        packets.received_bytes,
    )
}
