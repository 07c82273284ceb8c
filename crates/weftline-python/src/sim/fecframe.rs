//! Block and sliding-window codes for one-way flows.

use std::num::NonZeroUsize;

use pyo3::prelude::*;
use weftline_fecframe::Elimination;
use weftline_netem::LossModel;
use weftline_papers::sim::fecframe::{
    Code, Experiment, Latencies, WindowCode, Wish, recommend, run_all,
};

use super::{json, seconds, threads, within};
use crate::array::array;
use crate::errors::model;

/// dw, if it is not said: the paper's.
const USUAL: u32 = 167;

/// `weftline.sim.FecframeWindow` or `FecframeBlock`.
#[derive(FromPyObject)]
pub(crate) enum CodeFields {
    Window {
        ew: Option<u16>,
        ls: Option<u32>,
        field_bits: u32,
        density: Option<u8>,
        discarding: bool,
    },
    Block {
        k: u16,
        ideal: bool,
    },
}

impl CodeFields {
    /// The code, and dw.
    fn read(&self, dw: Option<u32>) -> PyResult<(Code, u32)> {
        let dw = dw.map(|dw| within("dw", dw, 1..=1 << 16)).transpose()?;
        match *self {
            CodeFields::Block { k, ideal } => {
                let code = match ideal {
                    true => Code::Ideal(k),
                    false => Code::Block(k),
                };
                Ok((code, dw.unwrap_or(k.into())))
            }
            CodeFields::Window {
                ew,
                ls,
                field_bits,
                density,
                discarding,
            } => {
                let dw = dw.unwrap_or(USUAL);
                // What is too long is refused with the allowed range.
                let half = u16::try_from((dw / 2).max(1)).unwrap_or(u16::MAX);
                let code = WindowCode::new(ew.unwrap_or(half), dw);
                let mut code = match field_bits {
                    8 => code,
                    1 => code.binary(),
                    _ => {
                        return Err(model(format_args!(
                            "field_bits is {field_bits}: it must be 1 or 8"
                        )));
                    }
                };
                code.linear_system = ls.unwrap_or(code.linear_system);
                code.density_threshold = density.unwrap_or(code.density_threshold);
                if discarding {
                    code.elimination = Elimination::Discarding;
                }
                Ok((Code::Window(code), dw))
            }
        }
    }
}

/// Symbols by added latency, and lost symbols by the time until they became known.
type Counts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The outcome, its counts, and those of each session.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_fecframe<'py>(
    py: Python<'py>,
    code: CodeFields,
    loss: &str,
    code_rate: &str,
    dw: Option<u32>,
    symbols: u64,
    symbol_size: u16,
    runs: u32,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<(String, Counts<'py>, Vec<Counts<'py>>)> {
    let (code, decoding_window) = code.read(dw)?;
    let experiment = Experiment {
        code,
        code_rate: code_rate.parse().map_err(model)?,
        decoding_window,
        loss: loss.parse().map_err(model)?,
        symbols,
        symbol_size,
    };
    let (runs, jobs) = (within("runs", runs, 1..=1000)?, jobs(threads)?);
    let outcomes = py.detach(|| run_all(&[experiment], seed, runs, jobs, |_, _| {}));
    let [outcome] = outcomes
        .map_err(model)?
        .try_into()
        .expect("an experiment has an outcome");
    let counts = |by_latency: &Latencies, recovered: &Latencies| {
        let array = |latencies: &Latencies| array(py, latencies.counts().iter().copied());
        Ok::<_, PyErr>((array(by_latency)?, array(recovered)?))
    };
    let sessions = outcome.sessions.iter();
    let sessions = sessions.map(|session| counts(&session.histogram, &session.recovered_after));
    let sessions = sessions.collect::<PyResult<_>>()?;
    let all = counts(&outcome.histogram, &outcome.recovered_after)?;
    Ok((json(&outcome), all, sessions))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_fecframe_recommend(
    py: Python<'_>,
    max_latency: f64,
    bitrate: u64,
    loss: &str,
    residual: f64,
    symbol_size: u16,
    symbols: u64,
    seed: u64,
) -> PyResult<String> {
    let wish = Wish {
        latency: seconds("max_latency", max_latency)?,
        rate: bitrate,
        symbol_size,
        loss: loss.parse::<LossModel>().map_err(model)?,
        residual: within("residual", residual, 0.0..=1.0)?,
    };
    let found = py.detach(|| recommend(&[wish], symbols, seed, NonZeroUsize::MIN, |_, _| {}));
    let [found] = found
        .map_err(model)?
        .try_into()
        .expect("a wish has a recommendation");
    Ok(json(&found))
}

fn jobs(given: Option<usize>) -> PyResult<NonZeroUsize> {
    Ok(NonZeroUsize::new(threads(given)?).unwrap_or(NonZeroUsize::MIN))
}
