//! A connection to a peer.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::sync::Mutex;
use weftline::{PathId, PathInfo, Stats};

use crate::bridge::Operation;
use crate::buffer::Bytes;
use crate::config::{path_request, seconds};
use crate::errors;
use crate::identity::Fingerprint;
use crate::stream::{self, ReadStream, WriteStream};

#[pyclass(frozen, module = "weftline._native")]
pub(crate) struct Connection(pub(crate) weftline::Connection);

/// A path: name, request, remote address, whether it is silent, and the report as JSON.
pub(crate) type Path = (String, String, Option<String>, bool, Option<String>);

pub(crate) fn path(path: PathInfo) -> Path {
    let report = path
        .report
        .map(|report| serde_json::to_string(&report).expect("counters have a form in JSON"));
    (
        path.id.to_string(),
        path.request.to_string(),
        path.remote.map(|addr| addr.to_string()),
        path.is_silent,
        report,
    )
}

/// Counters as JSON.
pub(crate) fn stats(stats: &Stats) -> String {
    serde_json::to_string(stats).expect("counters have a form in JSON")
}

/// Codes of applications are below 2^60 (the others are QUIC's and the project's).
pub(crate) fn check_code(code: u64) -> PyResult<()> {
    match code < 1 << 60 {
        true => Ok(()),
        false => Err(errors::ConfigError::new_err(format!(
            "code is {code}: it must be below 2^60"
        ))),
    }
}

/// A message that was received.
#[pyclass(frozen, get_all, module = "weftline")]
pub(crate) struct Message {
    /// Its bytes.
    data: Py<PyBytes>,
    /// The peer's number for it.
    id: u64,
    /// Its deadline had passed when it was complete (only with ``Config.deliver_late_messages``).
    late: bool,
}

#[pymethods]
impl Message {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let length = self.data.bind(py).len()?;
        Ok(format!("<Message {}: {length} bytes>", self.id))
    }
}

#[pyclass(frozen, module = "weftline._native")]
pub(crate) struct Receipt {
    receipt: Arc<Mutex<weftline::Receipt>>,
    #[pyo3(get)]
    id: u64,
}

#[pymethods]
impl Receipt {
    /// Waits until it is known what became of the message.
    fn delivered(&self) -> Operation {
        let receipt = self.receipt.clone();
        let delivered = async move {
            // One asks at a time; the others get the same answer.
            let mut receipt = receipt.lock().await;
            (&mut *receipt).await.map_err(errors::undelivered)
        };
        Operation::unit(delivered)
    }
}

fn receipt(py: Python<'_>, receipt: weftline::Receipt) -> PyResult<Py<PyAny>> {
    let id = receipt.id().0;
    let receipt = Arc::new(Mutex::new(receipt));
    Ok(Py::new(py, Receipt { receipt, id })?.into_any())
}

fn opened(py: Python<'_>, halves: (ReadStream, WriteStream)) -> PyResult<Py<PyAny>> {
    Ok(halves.into_pyobject(py)?.into_any().unbind())
}

impl Connection {
    /// The path of this name.
    fn path(&self, name: &str) -> PyResult<PathId> {
        let paths = self.0.paths();
        let found = paths.iter().find(|path| path.id.to_string() == name);
        found
            .map(|path| path.id)
            .ok_or_else(|| errors::PathError::new_err(format!("the connection has no {name}")))
    }
}

#[pymethods]
impl Connection {
    fn open_stream(&self) -> Operation {
        let connection = self.0.clone();
        let open = async move { connection.open_stream().await.map(stream::split) };
        Operation::new(open, |py, result| {
            opened(py, result.map_err(errors::closed)?)
        })
    }

    fn accept_stream(&self) -> Operation {
        let connection = self.0.clone();
        let accept = async move { connection.accept_stream().await.map(stream::split) };
        Operation::new(accept, |py, result| {
            opened(py, result.map_err(errors::closed)?)
        })
    }

    fn send_message(&self, data: Bytes, deadline: Option<f64>) -> PyResult<Operation> {
        let deadline = deadline.map(|secs| seconds("deadline", secs)).transpose()?;
        let data = bytes::Bytes::copy_from_slice(data.as_ref());
        let connection = self.0.clone();
        let send = async move { connection.send_message(data, deadline).await };
        Ok(Operation::new(send, |py, sent| {
            receipt(py, sent.map_err(errors::send)?)
        }))
    }

    fn try_send_message(
        &self,
        py: Python<'_>,
        data: Bytes,
        deadline: Option<f64>,
        alone: bool,
    ) -> PyResult<Py<PyAny>> {
        let deadline = deadline.map(|secs| seconds("deadline", secs)).transpose()?;
        let data = bytes::Bytes::copy_from_slice(data.as_ref());
        let sent = py.detach(|| match alone {
            true => self.0.try_send_message_alone(data, deadline),
            false => self.0.try_send_message(data, deadline),
        });
        receipt(py, sent.map_err(errors::send)?)
    }

    fn message_writable(&self, bytes: usize) -> Operation {
        let connection = self.0.clone();
        Operation::unit(async move {
            let writable = connection.message_writable(bytes).await;
            writable.map_err(errors::closed)
        })
    }

    fn message_alone_max(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.message_alone_max())
    }

    fn recv_message(&self) -> Operation {
        let connection = self.0.clone();
        let receive = async move { connection.recv_message().await };
        Operation::new(receive, |py, result| {
            let received = result.map_err(errors::closed)?;
            let message = Message {
                data: PyBytes::new(py, &received.data).unbind(),
                id: received.id.0,
                late: received.late,
            };
            Ok(Py::new(py, message)?.into_any())
        })
    }

    fn confirmed(&self) -> Operation {
        let connection = self.0.clone();
        Operation::unit(async move { connection.confirmed().await.map_err(errors::closed) })
    }

    fn flushed(&self) -> Operation {
        let connection = self.0.clone();
        Operation::unit(async move { connection.flushed().await.map_err(errors::closed) })
    }

    fn close(&self, py: Python<'_>, code: u64, reason: &str) -> PyResult<()> {
        check_code(code)?;
        py.detach(|| self.0.close(code, reason));
        Ok(())
    }

    /// Waits for the end: kind, code, text.
    fn closed(&self) -> Operation {
        let connection = self.0.clone();
        let closed = async move { connection.closed().await };
        Operation::new(closed, |py, reason| {
            let reason = errors::reason(&reason).into_pyobject(py)?;
            Ok(reason.into_any().unbind())
        })
    }

    fn close_reason(&self, py: Python<'_>) -> Option<(&'static str, u64, String)> {
        let reason = py.detach(|| self.0.close_reason())?;
        Some(errors::reason(&reason))
    }

    fn peer(&self) -> Option<Fingerprint> {
        self.0.peer().map(Fingerprint)
    }

    fn remote_address(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.remote_addr()).to_string()
    }

    fn application_protocol(&self) -> Option<String> {
        self.0.application_protocol()
    }

    fn export_keying_material<'py>(
        &self,
        py: Python<'py>,
        length: usize,
        label: Bytes,
        context: Bytes,
    ) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, length, |output| {
            let exported = self
                .0
                .export_keying_material(output, label.as_ref(), context.as_ref());
            exported.map_err(|error| errors::KeyingMaterialError::new_err(error.to_string()))
        })
    }

    /// The counters as JSON.
    fn stats(&self, py: Python<'_>) -> String {
        stats(&py.detach(|| self.0.stats()))
    }

    fn last_heard(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.0.last_heard()).as_secs_f64()
    }

    fn rtt(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.0.rtt()).as_secs_f64()
    }

    fn add_path(&self, request: &str) -> PyResult<Operation> {
        let (connection, request) = (self.0.clone(), path_request(request)?);
        let add = async move { connection.add_path(request).await };
        Ok(Operation::new(add, |py, added| {
            let name = added.map_err(errors::path)?.to_string();
            Ok(name.into_pyobject(py)?.into_any().unbind())
        }))
    }

    fn remove_path(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        py.detach(|| {
            let path = self.path(name)?;
            self.0.remove_path(path).map_err(errors::path)
        })
    }

    fn paths(&self, py: Python<'_>) -> Vec<Path> {
        let paths = py.detach(|| self.0.paths());
        paths.into_iter().map(path).collect()
    }

    /// The next thing that happens to a path: its name, what, and a sentence.
    fn path_event(&self) -> Operation {
        let connection = self.0.clone();
        let event = async move { connection.path_event().await };
        Operation::new(event, |py, event| {
            use weftline::PathChange as Change;
            let event = event.map_err(errors::closed)?;
            let change = match event.change {
                Change::Opened => "opened",
                Change::Silent => "silent",
                Change::Heard => "heard",
                Change::Lost(_) => "lost",
                Change::Failed(_) => "failed",
                // No other is known now.
                _ => "removed",
            };
            let told = (event.id.to_string(), change, event.to_string());
            Ok(told.into_pyobject(py)?.into_any().unbind())
        })
    }
}
