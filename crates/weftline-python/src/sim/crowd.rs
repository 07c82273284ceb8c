//! Several flows of the engine over one bottleneck.

use pyo3::prelude::*;
use weftline_emulator::Links;
use weftline_sim::crowd::{Crowd, Flows};
use weftline_sim::engine::{Application, check_paths};
use weftline_sim::schemes;

use super::{json, seconds, within};
use crate::errors::model;

/// Flows of a kind, as the command line has it.
const MOST: u32 = 256;

#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn sim_crowd(
    py: Python<'_>,
    settings: Vec<String>,
    link: &str,
    back: Option<&str>,
    flows: u32,
    app: &str,
    also: Vec<String>,
    spread: f64,
    paths: usize,
    join: f64,
    after: f64,
    leave: Option<f64>,
    cubic: u32,
    bbr: u32,
    duration: f64,
    skip: f64,
    overhead: u16,
    seed: u64,
) -> PyResult<String> {
    let mut config = schemes::read(&settings).map_err(model)?;
    config.datagram_overhead = overhead;
    let application = |text: &str| text.parse::<Application>().map_err(model);
    let flows = Flows {
        count: within("flows", flows, 0..=MOST)?,
        application: application(app)?,
        also: also
            .iter()
            .map(|text| application(text))
            .collect::<PyResult<_>>()?,
        spread: seconds("spread", spread)?,
        paths: within("paths", paths, 1..=8)?,
        join: seconds("join", join)?,
        after: seconds("after", after)?,
        leave: leave.map(|secs| seconds("leave", secs)).transpose()?,
        cubic: within("cubic", cubic, 0..=MOST)?,
        bbr: within("bbr", bbr, 0..=MOST)?,
    };
    check_paths(&config, flows.paths).map_err(model)?;
    let members = flows.members();
    if members.is_empty() {
        return Err(model("there are no flows: give flows=2 or more"));
    }
    let links = Links::parse(link, back).map_err(model)?;
    let crowd = Crowd {
        config,
        forward: links.forward,
        back: links.back,
        members,
        duration: seconds("duration", duration)?,
        skip: seconds("skip", skip)?,
    };
    Ok(json(&py.detach(|| crowd.run(seed))))
}
