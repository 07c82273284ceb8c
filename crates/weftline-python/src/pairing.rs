//! Pairing by a code.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use weftline::EndpointConfig;
use weftline_apps::Address;
use weftline_apps::pairing::{self, Code, Host, Name, Paired};

use crate::bridge::{self, Operation};
use crate::config::Config;
use crate::connection::Connection;
use crate::errors;
use crate::identity::{Fingerprint, Identity};

/// The end that shows codes.
#[pyclass(frozen, module = "weftline._native")]
pub(crate) struct PairingHost(Arc<Host>);

fn refused(error: impl std::fmt::Display) -> PyErr {
    errors::ConfigError::new_err(error.to_string())
}

fn name(text: Option<&str>) -> PyResult<Option<Name>> {
    text.map(|text| text.parse().map_err(refused)).transpose()
}

/// The peer, its name and its address.
fn told(py: Python<'_>, paired: Paired) -> PyResult<Py<PyAny>> {
    let peer = Fingerprint(paired.peer);
    let name = paired.name.map(|name| name.to_string());
    let told = (peer, name, paired.addr.to_string());
    Ok(told.into_pyobject(py)?.into_any().unbind())
}

#[pymethods]
impl PairingHost {
    #[new]
    fn new(ours: &Fingerprint, name: Option<&str>) -> PyResult<Self> {
        let host = Host::new(ours.0, self::name(name)?);
        Ok(PairingHost(Arc::new(host)))
    }

    /// A new code, which is open from now on; none while the pause lasts.
    fn open(&self) -> PyResult<Option<String>> {
        let code = Code::random()?;
        Ok(self.0.open(code).then(|| code.to_string()))
    }

    fn code(&self) -> Option<String> {
        self.0.code().map(|code| code.to_string())
    }

    fn pause(&self) -> f64 {
        let next = self.0.next();
        next.map_or(0.0, |next| {
            next.saturating_duration_since(Instant::now()).as_secs_f64()
        })
    }

    fn answer(&self, connection: &Connection, admit: Bound<'_, PyAny>) -> PyResult<Operation> {
        if !admit.is_callable() {
            return Err(PyTypeError::new_err("admit is not a function"));
        }
        let admit = admit.unbind();
        let (host, connection) = (self.0.clone(), connection.0.clone());
        // What the function of Python raised.
        let raised = Arc::new(Mutex::new(None));
        let place = raised.clone();
        let answer = async move {
            let admit = |peer| {
                Python::attach(|py| {
                    let admitted = admit.call1(py, (Fingerprint(peer),));
                    *place.lock().unwrap_or_else(PoisonError::into_inner) = admitted.err();
                });
            };
            host.answer(&connection, admit).await
        };
        Ok(Operation::new(answer, move |py, result| {
            let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
            match raised {
                Some(error) => Err(error),
                None => told(py, result.map_err(errors::pairing)?),
            }
        }))
    }
}

/// Meets the host that shows a code.
#[pyfunction]
#[pyo3(signature = (address, code, identity, name, config))]
pub(crate) fn pair(
    py: Python<'_>,
    address: &str,
    code: &str,
    identity: &Identity,
    name: Option<&str>,
    config: Config,
) -> PyResult<Operation> {
    let address: Address = address.parse().map_err(refused)?;
    let code: Code = code.parse().map_err(refused)?;
    let (name, identity) = (self::name(name)?, identity.0.clone());
    let config = EndpointConfig::try_from(config)?;
    bridge::start(py)?;
    let pair = async move { pairing::pair(&address, &code, &identity, name, &config).await };
    Ok(Operation::new(pair, |py, result| {
        told(py, result.map_err(errors::pairing)?)
    }))
}
