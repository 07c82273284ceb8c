//! `weftline.Config` as the configuration of an endpoint.

use std::time::Duration;

use pyo3::prelude::*;
use weftline::{Congestion, EndpointConfig, PathRequest};

use crate::errors::ConfigError;
use crate::event_logs::EventLogs;
use crate::monitor::Monitor;

/// The fields of the dataclass.
#[derive(FromPyObject)]
pub(crate) struct Config {
    scheme: String,
    congestion: Option<String>,
    connect_timeout: f64,
    idle_timeout: Option<f64>,
    keep_alive: Option<f64>,
    message_size: Option<u32>,
    deliver_late_messages: bool,
    segmentation_offload: bool,
    socket_buffer: usize,
    socket_mark: Option<u32>,
    max_sessions: usize,
    application_protocols: Vec<String>,
    early_data: bool,
    paths: Vec<String>,
    all_interfaces: bool,
    event_logs: Option<Py<EventLogs>>,
    monitor: Option<Py<Monitor>>,
}

impl TryFrom<Config> for EndpointConfig {
    type Error = PyErr;

    fn try_from(given: Config) -> PyResult<Self> {
        let mut session: weftline::Config = given.scheme.parse().map_err(refused)?;
        if let Some(secs) = given.idle_timeout {
            session.idle_timeout = seconds("idle_timeout", secs)?;
        }
        if let Some(secs) = given.keep_alive {
            session.keep_alive = Some(seconds("keep_alive", secs)?).filter(|time| !time.is_zero());
        }
        session.limits.message_size = given.message_size.unwrap_or(session.limits.message_size);
        session.deliver_late_messages = given.deliver_late_messages;
        let mut config = EndpointConfig::new(session);
        config.congestion = given.congestion.as_deref().map(congestion).transpose()?;
        config.connect_timeout = seconds("connect_timeout", given.connect_timeout)?;
        config.segmentation_offload = given.segmentation_offload;
        config.socket_buffer = given.socket_buffer;
        config.socket_mark = given.socket_mark;
        config.max_sessions = given.max_sessions;
        config.application_protocols = given.application_protocols;
        config.early_data = given.early_data;
        config.paths = given
            .paths
            .iter()
            .map(|path| path_request(path))
            .collect::<PyResult<_>>()?;
        config.all_interfaces = given.all_interfaces;
        config.event_logs = given.event_logs.map(|logs| logs.get().0.clone());
        if let Some(monitor) = given.monitor {
            config.monitor = monitor.get().0.clone();
        }
        Ok(config)
    }
}

fn congestion(name: &str) -> PyResult<Congestion> {
    match name {
        "engine" => Ok(Congestion::Engine),
        "cubic" => Ok(Congestion::Cubic),
        "bbr" => Ok(Congestion::Bbr),
        "new-reno" => Ok(Congestion::NewReno),
        _ => Err(refused(format_args!(
            "congestion is {name:?}: it must be None, 'engine', 'cubic', 'bbr' or 'new-reno'"
        ))),
    }
}

pub(crate) fn path_request(text: &str) -> PyResult<PathRequest> {
    text.parse().map_err(refused)
}

/// A time that Python gives in seconds.
pub(crate) fn seconds(name: &str, secs: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(secs).map_err(|_| {
        refused(format_args!(
            "{name} is {secs}: it must be a time in seconds, 0 or more"
        ))
    })
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    ConfigError::new_err(error.to_string())
}
