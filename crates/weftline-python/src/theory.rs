//! The papers' formulas.

use pyo3::prelude::*;
use weftline_papers::theory::block::{constant_residual, for_residual, open_block};
use weftline_papers::theory::dcf::{self, Cell};
use weftline_papers::theory::fecframe::{self, Application};
use weftline_papers::theory::markov::MarkovStreaming;
use weftline_papers::theory::rlnc::{self, Vectors};
use weftline_papers::theory::{SlotLoss, rest, streaming};

use crate::array::array;
use crate::errors::model;
use crate::sim::{json, slot_loss};

/// Busy periods, delays and work of the streaming code (Karzand et al.), exactly: ``spacing`` - 1 information packets,
/// then one coded packet. Delays are in slots, from when a packet is sent until it is delivered in order.
///
/// :param loss: erasures: ``"0.05"``, or ``"markov:0.1,4"`` for runs of 4 on average.
/// :param spacing: slots from one coded packet to the next, l.
///
/// Raises ``ModelError``: there is no such code, or it loses more than it repairs.
#[pyclass(frozen, module = "weftline.theory")]
pub(crate) struct Streaming(Box<Losses>);

enum Losses {
    Iid(streaming::Streaming),
    Markov(MarkovStreaming),
}

/// Calls what both have.
macro_rules! either {
    ($self:ident, $code:ident => $call:expr) => {
        match &*$self.0 {
            Losses::Iid($code) => $call,
            Losses::Markov($code) => $call,
        }
    };
}

impl Streaming {
    fn iid(&self) -> PyResult<&streaming::Streaming> {
        match &*self.0 {
            Losses::Iid(code) => Ok(code),
            Losses::Markov(_) => Err(model("this is known for independent losses only")),
        }
    }
}

/// The most values of a distribution.
const MOST: usize = 1_000_000;

fn terms(count: usize) -> PyResult<usize> {
    match (1..=MOST).contains(&count) {
        true => Ok(count),
        false => Err(model(format_args!(
            "the number of values is {count}: it must be 1 to {MOST}"
        ))),
    }
}

#[pymethods]
impl Streaming {
    #[new]
    fn new(loss: &str, spacing: u32) -> PyResult<Self> {
        let code = match slot_loss(loss)? {
            SlotLoss::Iid { loss } => streaming::Streaming::new(loss, spacing).map(Losses::Iid),
            loss => MarkovStreaming::new(loss, spacing).map(Losses::Markov),
        };
        Ok(Streaming(Box::new(code.map_err(model)?)))
    }

    /// E S: intervals in which in-order delivery stalls.
    #[getter]
    fn mean_busy(&self) -> f64 {
        either!(self, code => code.mean_busy())
    }

    /// E S^2.
    #[getter]
    fn second_moment_busy(&self) -> f64 {
        either!(self, code => code.second_moment_busy())
    }

    /// E S^3.
    #[getter]
    fn third_moment_busy(&self) -> f64 {
        either!(self, code => code.third_moment_busy())
    }

    /// E S+, S+ = max(S, 1).
    #[getter]
    fn mean_busy_plus(&self) -> f64 {
        either!(self, code => code.mean_busy_plus())
    }

    /// Upper bound of the mean in-order delay, slots.
    #[getter]
    fn delay_bound(&self) -> f64 {
        either!(self, code => code.delay_bound())
    }

    /// Exact mean in-order delay, slots.
    #[getter]
    fn mean_delay(&self) -> f64 {
        either!(self, code => code.mean_delay())
    }

    /// Operations of elimination for each information packet.
    #[getter]
    fn operations_per_packet(&self) -> f64 {
        either!(self, code => code.operations_per_packet())
    }

    /// P(S = s) for s from 0 up to ``count`` - 1: an array of float64. With losses in runs at most 2000 are computed.
    fn busy_time<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyAny>> {
        let count = terms(count)?;
        let busy: Vec<f64> = py.detach(|| match &*self.0 {
            Losses::Iid(code) => (0..count as u64).map(|s| code.busy_time(s)).collect(),
            Losses::Markov(code) => code.busy_time(count.min(2000)),
        });
        array(py, busy)
    }

    /// The distribution of delays, P(delay = d slots) for d from 0 up to ``count`` - 1: an array of float64.
    ///
    /// Raises ``ModelError``: losses in runs.
    fn delays<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyAny>> {
        let (code, count) = (self.iid()?, terms(count)?);
        let mut delays = vec![0.0; count];
        py.detach(|| {
            code.delays(|delay, p| {
                let place = usize::try_from(delay)
                    .ok()
                    .and_then(|at| delays.get_mut(at));
                place.map(|place| *place = p).is_some()
            });
        });
        array(py, delays)
    }

    /// The delay in slots that this share of packets does not exceed; ``None`` if it is too long to be found.
    ///
    /// Raises ``ModelError``: losses in runs, or the share is not from 0 to below 1.
    fn delay_quantile(&self, py: Python<'_>, share: f64) -> PyResult<Option<u64>> {
        if !(0.0..1.0).contains(&share) {
            return Err(model(format_args!(
                "share is {share}: it must be from 0 to below 1"
            )));
        }
        let code = self.iid()?;
        Ok(py.detach(|| code.delay_quantile(share)))
    }

    /// Share of packets that are not delayed.
    ///
    /// Raises ``ModelError``: losses in runs.
    #[getter]
    fn undelayed(&self) -> PyResult<f64> {
        Ok(self.iid()?.undelayed())
    }

    /// Exponent of delays, per slot: D(1/l || e).
    ///
    /// Raises ``ModelError``: losses in runs.
    #[getter]
    fn tail_exponent(&self) -> PyResult<f64> {
        Ok(self.iid()?.tail_exponent())
    }
}

/// Decoding, overhead and headers of random linear block codes (Garrido et al.).
///
/// :param q: coefficients are in GF(2^q), 1 to 8.
/// :param symbols: source packets of a block, K, at most 256.
/// :param zero_vectors: the coding vector may be all zeros.
///
/// Raises ``ModelError``: a parameter is out of its range.
#[pyclass(frozen, module = "weftline.theory")]
pub(crate) struct Rlnc(rlnc::Rlnc);

#[pymethods]
impl Rlnc {
    #[new]
    #[pyo3(signature = (q, symbols, *, zero_vectors = false))]
    fn new(q: u32, symbols: u32, zero_vectors: bool) -> PyResult<Self> {
        let vectors = match zero_vectors {
            true => Vectors::Any,
            false => Vectors::NonZero,
        };
        rlnc::Rlnc::new(q, symbols, vectors)
            .map(Rlnc)
            .map_err(model)
    }

    /// Probability to decode from this many packets.
    fn decode_probability(&self, received: u32) -> f64 {
        self.0.decode_probability(received)
    }

    /// Probability to decode when this many packets are sent, and each is lost with the probability ``loss``.
    ///
    /// Raises ``ModelError``: ``loss`` is not a probability.
    fn decode_probability_sent(&self, sent: u32, loss: f64) -> PyResult<f64> {
        self.0.decode_probability_sent(sent, loss).map_err(model)
    }

    /// Packets received until the block is decoded, on average.
    #[getter]
    fn mean_receptions(&self) -> f64 {
        self.0.mean_receptions()
    }

    /// Packets in excess of K, on average.
    #[getter]
    fn excess_packets(&self) -> f64 {
        self.0.excess_packets()
    }

    /// Share of packets in excess.
    #[getter]
    fn excess_ratio(&self) -> f64 {
        self.0.excess_ratio()
    }

    /// Share of the time spent waiting for the acknowledgement, which lasts as long as so many packets.
    fn ack_penalty(&self, packets: f64) -> f64 {
        self.0.ack_penalty(packets)
    }

    /// Bytes of a header with the coding vector.
    #[getter]
    fn vector_header(&self) -> u32 {
        self.0.vector_header()
    }

    /// Bytes of a header with a seed.
    #[getter]
    fn seed_header(&self) -> u32 {
        self.0.seed_header()
    }

    /// The smallest K for which a header with a seed is shorter.
    #[getter]
    fn crossover(&self) -> u32 {
        self.0.crossover()
    }
}

#[pyfunction]
pub(crate) fn theory_block(py: Python<'_>, loss: &str, k: u32, n: u32) -> PyResult<String> {
    let loss = slot_loss(loss)?;
    let code = py.detach(|| open_block(loss, k, n));
    Ok(json(&code.map_err(model)?))
}

#[pyfunction]
pub(crate) fn theory_block_for_residual(
    py: Python<'_>,
    loss: &str,
    k: u32,
    residual: f64,
) -> PyResult<String> {
    let loss = slot_loss(loss)?;
    let code = py.detach(|| for_residual(loss, k, residual));
    Ok(json(&code.map_err(model)?))
}

#[pyfunction]
pub(crate) fn theory_blocks_for_residual(
    py: Python<'_>,
    loss: &str,
    residual: f64,
    longest: u32,
) -> PyResult<String> {
    let loss = slot_loss(loss)?;
    if !(1..=1000).contains(&longest) {
        return Err(model(format_args!(
            "longest is {longest}: it must be 1 to 1000"
        )));
    }
    let codes = py.detach(|| constant_residual(loss, residual, longest));
    Ok(json(&codes.map_err(model)?))
}

/// The fields of the dataclass `Cell`.
#[derive(FromPyObject)]
pub(crate) struct CellFields {
    stations: u32,
    payload: u32,
    rate_mbit: f64,
    basic_rate_mbit: f64,
    preamble_us: f64,
    mac_overhead: u32,
    ack: u32,
    slot_us: f64,
    sifs_us: f64,
    difs_us: f64,
    propagation_us: f64,
    window: u32,
    stages: u32,
    transmissions: Option<u32>,
    fer: f64,
}

impl From<CellFields> for Cell {
    fn from(fields: CellFields) -> Self {
        Cell {
            stations: fields.stations,
            payload: fields.payload,
            rate_mbit: fields.rate_mbit,
            basic_rate_mbit: fields.basic_rate_mbit,
            preamble_us: fields.preamble_us,
            mac_overhead: fields.mac_overhead,
            ack: fields.ack,
            slot_us: fields.slot_us,
            sifs_us: fields.sifs_us,
            difs_us: fields.difs_us,
            propagation_us: fields.propagation_us,
            window: fields.window,
            stages: fields.stages,
            transmissions: fields.transmissions,
            fer: fields.fer,
        }
    }
}

#[pyfunction]
pub(crate) fn theory_bianchi(cell: CellFields) -> PyResult<String> {
    Ok(json(&Cell::from(cell).saturation().map_err(model)?))
}

#[pyfunction]
pub(crate) fn theory_goodput(
    cell: CellFields,
    code: &Rlnc,
    header: u32,
    ack_packets: f64,
) -> PyResult<f64> {
    dcf::goodput(&cell.into(), &code.0, header, ack_packets).map_err(model)
}

#[pyfunction]
pub(crate) fn theory_fecframe_sizes(
    max_latency: f64,
    bitrate: u64,
    symbol_size: u16,
    code_rate: &str,
) -> PyResult<String> {
    let application = Application {
        max_latency: fecframe::latency(max_latency * 1e3).map_err(model)?,
        bitrate,
        symbol_size,
        code_rate: code_rate.parse().map_err(model)?,
    };
    Ok(json(&application.sizes().map_err(model)?))
}

#[pyfunction]
pub(crate) fn theory_fecframe_block_latency(k: u32, loss: f64) -> PyResult<f64> {
    fecframe::block_latency(k, loss).map_err(model)
}

#[pyfunction]
pub(crate) fn theory_fecframe_block_latency_cdf(
    py: Python<'_>,
    k: u32,
    loss: f64,
) -> PyResult<Bound<'_, PyAny>> {
    let cdf = py.detach(|| fecframe::block_latency_cdf(k, loss));
    array(py, cdf.map_err(model)?)
}

#[pyfunction]
pub(crate) fn theory_fecframe_block_residual(k: u32, repairs: u64, loss: f64) -> PyResult<f64> {
    fecframe::block_residual(k, repairs, loss).map_err(model)
}

#[pyfunction]
pub(crate) fn theory_rest_redundancy(per: f64) -> PyResult<f64> {
    rest::redundancy(per).map_err(model)
}

#[pyfunction]
pub(crate) fn theory_rest_spacing(redundancy: f64) -> PyResult<u32> {
    rest::spacing(redundancy).map_err(model)
}
