//! Experiments in virtual time: the engine, the papers' models, and the model of a path.
//!
//! Results go to Python as JSON, and as arrays where they are long.

mod crowd;
mod fecframe;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::time::Duration;

use pyo3::prelude::*;
use serde::Serialize;
use weftline_emulator::Links;
use weftline_netem::{Fate, LinkConfig};
use weftline_papers::sim::slots::answered::Answered;
use weftline_papers::sim::slots::arq::Arq;
use weftline_papers::sim::slots::block::{Answer, Block};
use weftline_papers::sim::slots::rest::{Loss, Redundancy, Rest};
use weftline_papers::sim::slots::rlc_block::{Header, RlcBlock};
use weftline_papers::sim::slots::streaming::Streaming;
use weftline_papers::sim::slots::udp_rc::UdpRc;
use weftline_papers::sim::slots::{Code, SlotError, coded, silent};
use weftline_papers::theory::SlotLoss;
use weftline_papers::theory::dcf::Cell;
use weftline_sim::engine::{self, Application, Experiment, check_paths};
use weftline_sim::schemes;

use crate::array::array;
use crate::buffer::Bytes;
use crate::errors;

pub(crate) use crowd::sim_crowd;
pub(crate) use fecframe::{sim_fecframe, sim_fecframe_recommend};

type Told<'py> = (String, Bound<'py, PyAny>);

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers have a form in JSON")
}

pub(crate) fn slot_loss(text: &str) -> PyResult<SlotLoss> {
    text.parse().map_err(errors::model)
}

fn seconds(name: &str, secs: f64) -> PyResult<Duration> {
    // As the command line has it.
    match (0.0..=86_400.0).contains(&secs) {
        true => Ok(Duration::from_secs_f64(secs)),
        false => Err(errors::model(format_args!(
            "{name} is {secs}: it must be a time in seconds, 0 to 86400"
        ))),
    }
}

fn code(name: &str) -> PyResult<Code> {
    match name {
        "genie" => Ok(Code::Genie),
        "real" => Ok(Code::Real),
        _ => Err(unknown("code", name, "'genie' or 'real'")),
    }
}

fn answer(name: &str) -> PyResult<Answer> {
    match name {
        "missing" => Ok(Answer::Missing),
        "expected" => Ok(Answer::Expected),
        "known" => Ok(Answer::Known),
        _ => Err(unknown("answer", name, "'missing', 'expected' or 'known'")),
    }
}

fn unknown(what: &str, name: &str, allowed: &str) -> PyErr {
    errors::model(format_args!("{what} is {name:?}: it must be {allowed}"))
}

fn within<T: PartialOrd + Display>(name: &str, value: T, range: RangeInclusive<T>) -> PyResult<T> {
    match range.contains(&value) {
        true => Ok(value),
        false => Err(errors::model(format_args!(
            "{name} is {value}: it must be {} to {}",
            range.start(),
            range.end()
        ))),
    }
}

/// Threads of a model: one for each processor, unless it is said.
fn threads(given: Option<usize>) -> PyResult<usize> {
    match given {
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        Some(threads) => within("threads", threads, 1..=1024),
    }
}

/// Runs a model with the interpreter's lock released.
fn run<T: Send>(
    py: Python<'_>,
    model: impl FnOnce() -> Result<T, SlotError> + Send,
) -> PyResult<T> {
    py.detach(model).map_err(errors::model)
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_engine(
    py: Python<'_>,
    settings: Vec<String>,
    paths: Vec<(String, Option<String>)>,
    app: &str,
    duration: f64,
    skip: f64,
    within: Option<f64>,
    overhead: u16,
    distribution: bool,
    seed: u64,
) -> PyResult<String> {
    let mut config = schemes::read(&settings).map_err(errors::model)?;
    config.datagram_overhead = overhead;
    let paths: Vec<_> = paths
        .iter()
        .map(|(link, back)| {
            let links = Links::parse(link, back.as_deref()).map_err(errors::model)?;
            let (forward, back) = (links.forward, links.back);
            Ok(engine::Path { forward, back })
        })
        .collect::<PyResult<_>>()?;
    if paths.is_empty() {
        return Err(errors::model("an experiment needs a link"));
    }
    check_paths(&config, paths.len()).map_err(errors::model)?;
    let experiment = Experiment {
        config,
        paths,
        application: app.parse::<Application>().map_err(errors::model)?,
        duration: seconds("duration", duration)?,
        skip: seconds("skip", skip)?,
        within: within.map(|secs| seconds("within", secs)).transpose()?,
        distribution,
        seed,
        close: false,
    };
    Ok(json(&py.detach(|| experiment.run())))
}

/// The outcome, the percentiles of delays, and the distribution of busy times.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_streaming<'py>(
    py: Python<'py>,
    loss: &str,
    spacing: u32,
    slots: u64,
    code: &str,
    rtt: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<(String, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (loss, code, threads) = (slot_loss(loss)?, self::code(code)?, self::threads(threads)?);
    let model = Streaming {
        loss,
        spacing,
        slots,
        seed,
    };
    let outcome = run(py, || match code {
        Code::Genie => model.run(threads, &silent),
        Code::Real => coded::run(&model, rtt, threads, &silent),
    })?;
    let percentiles = array(py, outcome.delay_percentiles.iter().copied())?;
    let busy = array(py, outcome.busy_time.iter().copied())?;
    Ok((json(&outcome), percentiles, busy))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_answered<'py>(
    py: Python<'py>,
    loss: &str,
    share: f64,
    rtt: u32,
    answer: &str,
    slots: u64,
    bin: Option<f64>,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Told<'py>> {
    let threads = self::threads(threads)?;
    let model = Answered {
        loss: slot_loss(loss)?,
        share,
        rtt,
        answer: self::answer(answer)?,
        slots,
        bin,
        seed,
    };
    let outcome = run(py, || model.run(threads, &silent))?;
    let percentiles = outcome.delivered.delay_percentiles.iter().copied();
    Ok((json(&outcome), array(py, percentiles)?))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_block<'py>(
    py: Python<'py>,
    loss: &str,
    k: u32,
    repairs: f64,
    rtt: Option<u32>,
    answer: &str,
    slots: u64,
    bin: Option<f64>,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Told<'py>> {
    let threads = self::threads(threads)?;
    let model = Block {
        loss: slot_loss(loss)?,
        k,
        repairs,
        rtt,
        answer: self::answer(answer)?,
        slots,
        bin,
        seed,
    };
    let outcome = run(py, || model.run(threads, &silent))?;
    let percentiles = outcome.delivered.delay_percentiles.iter().copied();
    Ok((json(&outcome), array(py, percentiles)?))
}

#[pyfunction]
pub(crate) fn sim_arq<'py>(
    py: Python<'py>,
    loss: &str,
    rtt: u32,
    slots: u64,
    bin: Option<f64>,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Told<'py>> {
    let threads = self::threads(threads)?;
    let model = Arq {
        loss: slot_loss(loss)?,
        rtt,
        slots,
        bin,
        seed,
    };
    let outcome = run(py, || model.run(threads, &silent))?;
    let percentiles = outcome.delay_percentiles.iter().copied();
    Ok((json(&outcome), array(py, percentiles)?))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_rest(
    py: Python<'_>,
    loss: &str,
    redundancy: Option<f64>,
    packets: u32,
    packet: f64,
    rtt: f64,
    ack: f64,
    window: Option<u32>,
    code: &str,
    alpha: f64,
    estimate: f64,
    runs: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<String> {
    let threads = self::threads(threads)?;
    let model = Rest {
        loss: Loss::Slots(slot_loss(loss)?),
        redundancy: redundancy.map_or(Redundancy::Adaptive, Redundancy::Fixed),
        packets,
        packet_s: packet,
        rtt_s: rtt,
        ack_s: ack,
        window,
        code: self::code(code)?,
        alpha,
        estimate_s: estimate,
        series: false,
        runs,
        seed,
    };
    Ok(json(&run(py, || model.run(threads, &silent))?))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_udp_rc(
    py: Python<'_>,
    loss: &str,
    k: u32,
    q: u32,
    code: &str,
    extra: u32,
    pace: f64,
    packet: f64,
    rtt: f64,
    trials: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<String> {
    let threads = self::threads(threads)?;
    let model = UdpRc {
        loss: slot_loss(loss)?,
        k,
        q,
        code: self::code(code)?,
        extra,
        pace,
        packet_s: packet,
        rtt_s: rtt,
        trials,
        seed,
    };
    Ok(json(&run(py, || model.run(threads, &silent))?))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_rlc_block(
    py: Python<'_>,
    cell: crate::theory::CellFields,
    ack_fer: Option<f64>,
    k: u32,
    q: u32,
    code: &str,
    header: &str,
    other_headers: u32,
    ack_bytes: u32,
    blocks: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<String> {
    let (threads, cell) = (self::threads(threads)?, Cell::from(cell));
    let model = RlcBlock {
        cell,
        ack_fer: ack_fer.unwrap_or(cell.fer),
        k,
        q,
        code: self::code(code)?,
        header: match header {
            "seed" => Header::Seed,
            "vector" => Header::Vector,
            _ => return Err(unknown("header", header, "'seed' or 'vector'")),
        },
        other_headers,
        ack_bytes,
        blocks,
        seed,
    };
    Ok(json(&run(py, || model.run(threads, &silent))?))
}

/// One direction of a path: decides the fate of each packet at the moment it is sent.
///
/// The same configuration, seed and calls give the same fates.
///
/// :param config: the link as text, such as ``"rate=25mbit delay=30ms queue=60ms loss=ge:10%,4"``.
/// :param seed: of all random choices.
///
/// Raises ``ModelError``: the text is not a link.
#[pyclass(frozen, module = "weftline.sim")]
pub(crate) struct Link {
    inner: Mutex<Box<weftline_netem::Link>>,
    config: LinkConfig,
}

impl Link {
    fn with<R>(&self, work: impl FnOnce(&mut weftline_netem::Link) -> R) -> R {
        let link = self.inner.lock();
        work(&mut link.unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// When the packet arrives, in seconds; not a number if it does not.
fn arrival(fate: Fate) -> f64 {
    match fate {
        Fate::Delivered { at, .. } => at.as_secs_f64(),
        _ => f64::NAN,
    }
}

#[pymethods]
impl Link {
    #[new]
    #[pyo3(signature = (config, seed = 1))]
    fn new(config: &str, seed: u64) -> PyResult<Self> {
        let config = Links::parse(config, Some("perfect"))
            .map_err(errors::model)?
            .forward;
        let inner = Mutex::new(Box::new(weftline_netem::Link::new(config.clone(), seed)));
        Ok(Link { inner, config })
    }

    /// Send a packet of ``length`` bytes, headers included, at the time ``now`` in seconds. Returns when it arrives, in
    /// seconds, or ``None`` if it is lost or dropped. Time cannot go back.
    ///
    /// Raises ``ModelError``: the time is not from 0 to 86400 s.
    fn send(&self, now: f64, length: usize) -> PyResult<Option<f64>> {
        let now = seconds("now", now)?;
        let at = arrival(self.with(|link| link.send(now, length)));
        Ok((!at.is_nan()).then_some(at))
    }

    /// Send packets of ``length`` bytes at these times, an array of float64 in seconds, ascending. Returns an array of
    /// the times of arrival, not a number for those that are lost or dropped.
    ///
    /// Raises ``ModelError``: as ``send``, or these are not float64.
    fn send_all<'py>(
        &self,
        py: Python<'py>,
        times: Bytes,
        length: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (times, rest) = times.as_ref().as_chunks();
        if !rest.is_empty() {
            return Err(errors::model("times are not an array of float64"));
        }
        let times: Vec<_> = times
            .iter()
            .map(|bytes| seconds("a time", f64::from_ne_bytes(*bytes)))
            .collect::<PyResult<_>>()?;
        let arrivals: Vec<_> = py.detach(|| {
            self.with(|link| {
                times
                    .iter()
                    .map(|now| arrival(link.send(*now, length)))
                    .collect()
            })
        });
        array(py, arrivals)
    }

    /// Share of the packets that the loss model has dropped, without queue drops.
    #[getter]
    fn loss_rate(&self) -> f64 {
        self.with(|link| link.counters().loss_rate())
    }

    /// Packets dropped by a full queue, or while the link was down.
    #[getter]
    fn queue_drops(&self) -> u64 {
        self.with(|link| link.counters().queue_drops)
    }

    fn __repr__(&self) -> String {
        format!("<Link {}>", self.config)
    }
}
