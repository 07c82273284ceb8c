//! Window sizes after Roca et al. ("Block or Convolutional AL-FEC Codes?", equations 1 to 7) and
//! RFC 8681, appendix C. The RFC's sizes are those of [`weftline_fecframe::sizing`].

use std::time::Duration;

use weftline_fecframe::CodeRate;
use weftline_fecframe::sizing::{self, Rate};

use super::{TheoryError, within};

/// The requirements of an application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Application {
    /// Latency that erasure coding may add.
    pub max_latency: Duration,
    /// Its source data, bit/s.
    pub bitrate: u64,
    /// Bytes of a symbol (E); an ADU is one symbol.
    pub symbol_size: u16,
    /// Source symbols / all symbols (cr).
    pub code_rate: CodeRate,
}

/// The sizes, in symbols.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Sizes {
    /// k of a block code, the same as `decoding_window`.
    pub block_size: u32,
    /// Repair symbols of that block, k (1/cr - 1), rounded down.
    pub block_repairs: u64,
    /// dw = max latency x bitrate / (8 E), rounded down.
    pub decoding_window: u32,
    /// ew, best at dw / 2: then as many repairs cover a lost symbol as can still arrive.
    pub encoding_window: u32,
    /// ls, about 2 dw: late symbols still help.
    pub linear_system: u32,
    /// sl = cr / (1 - cr): source symbols between two repairs; `None` without repair.
    pub spacing: Option<f64>,
    /// n1 = (dw - ew)(1/cr - 1): repairs in time that no longer cover a lost symbol.
    pub repairs_after: f64,
    /// n2 = ew (1/cr - 1): repairs that cover it.
    pub repairs_covering: f64,
    /// ew_max by RFC 8681's window size ratio of 191/255, at most 4095.
    pub rfc8681_encoding_window: u16,
}

impl Application {
    /// The sizes for these requirements.
    ///
    /// # Errors
    /// There is no window with these properties; the message gives the reason.
    pub fn sizes(&self) -> Result<Sizes, TheoryError> {
        let rate = Rate::ConstantInput(self.bitrate);
        let ratio = sizing::REASONABLE_RATIO;
        let rfc = sizing::sizes(self.max_latency, rate, self.symbol_size, ratio)?;
        let (dw, ew) = (rfc.decoding_window, rfc.decoding_window / 2);
        let share = 1.0 / self.code_rate.as_f64() - 1.0;
        Ok(Sizes {
            block_size: dw,
            block_repairs: self.code_rate.repairs_after(dw.into()),
            decoding_window: dw,
            encoding_window: ew,
            linear_system: 2 * dw,
            spacing: self.code_rate.spacing(),
            repairs_after: f64::from(dw - ew) * share,
            repairs_covering: f64::from(ew) * share,
            rfc8681_encoding_window: rfc.encoding_window,
        })
    }
}

/// Mean added in-order latency in ticks of blocks of `k` symbols that are all decoded, when a
/// share `loss` is lost independently: symbol i (from 0) waits k - i ticks for the end of its
/// block if it or an earlier one is lost.
///
/// # Errors
/// The loss is not a probability, or the block has no symbol.
pub fn block_latency(k: u32, loss: f64) -> Result<f64, TheoryError> {
    within(
        "the loss",
        loss,
        (0.0..1.0).contains(&loss),
        "from 0, below 1",
    )?;
    within("the block size", k, k > 0, "at least 1")?;
    let arrived = 1.0 - loss;
    let waits = (0..k).map(|i| f64::from(k - i) * (1.0 - arrived.powf(f64::from(i) + 1.0)));
    Ok(waits.sum::<f64>() / f64::from(k))
}

/// The distribution of that latency: for each number of ticks from 0 to k the share of symbols that
/// do not wait longer. A symbol at place i (from 0) does not wait if it and all before it in its
/// block arrived; else it waits k - i ticks.
///
/// # Errors
/// As for [`block_latency`].
pub fn block_latency_cdf(k: u32, loss: f64) -> Result<Vec<f64>, TheoryError> {
    block_latency(k, loss)?;
    let arrived = |i: u32| (1.0 - loss).powi(i as i32 + 1) / f64::from(k);
    let mut sum = (0..k).map(arrived).sum::<f64>();
    let mut cdf = vec![sum];
    cdf.extend((1..=k).map(|ticks| {
        sum += 1.0 / f64::from(k) - arrived(k - ticks);
        sum
    }));
    Ok(cdf)
}

/// Mean ticks until a symbol that was lost is known, if its block is decoded: its place is any of
/// the k alike, whatever the loss, and symbol i (from 0) waits k - i ticks.
pub fn block_recovered_after(k: u32) -> f64 {
    f64::from(k + 1) / 2.0
}

/// Share of source symbols that stay lost in blocks of `k` with this many repair symbols: the symbol
/// is lost, and at least `repairs` of the other packets of its block are.
///
/// # Errors
/// As for [`block_latency`].
pub fn block_residual(k: u32, repairs: u64, loss: f64) -> Result<f64, TheoryError> {
    block_latency(k, loss)?;
    if loss == 0.0 {
        return Ok(0.0);
    }
    let others = u64::from(k) - 1 + repairs;
    // The probability that this many of the others are lost, from that of one fewer.
    let mut chance = (1.0 - loss).powf(others as f64);
    let mut fewer = 0.0;
    for lost in 0..repairs {
        fewer += chance;
        chance *= (others - lost) as f64 / (lost + 1) as f64 * loss / (1.0 - loss);
    }
    Ok(loss * (1.0 - fewer).max(0.0))
}

/// A latency in milliseconds as a duration.
///
/// # Errors
/// It is not a number from 0 to a day.
pub fn latency(millis: f64) -> Result<Duration, TheoryError> {
    let fits = (0.0..=86_400_000.0).contains(&millis);
    within("the latency", millis, fits, "from 0 to 86400000 ms")?;
    Ok(Duration::from_secs_f64(millis / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_are_those_of_the_paper() {
        let mut application = Application {
            max_latency: latency(167.0).unwrap(),
            bitrate: 8 * 1000 * 1000,
            symbol_size: 1000,
            code_rate: CodeRate::new(2, 3).unwrap(),
        };
        let sizes = application.sizes().unwrap();
        assert_eq!((sizes.block_size, sizes.decoding_window), (167, 167));
        assert_eq!((sizes.encoding_window, sizes.linear_system), (83, 334));
        assert_eq!((sizes.spacing, sizes.block_repairs), (Some(2.0), 83));
        assert!((sizes.repairs_after - 42.0).abs() < 1e-9);
        assert!((sizes.repairs_covering - 41.5).abs() < 1e-9);
        application.max_latency = latency(38.0).unwrap();
        let sizes = application.sizes().unwrap();
        assert_eq!((sizes.decoding_window, sizes.encoding_window), (38, 19));
        application.code_rate = CodeRate::ONE;
        assert_eq!(application.sizes().unwrap().spacing, None);
    }

    #[test]
    fn blocks_wait_for_their_end() {
        assert_eq!(block_latency(167, 0.0), Ok(0.0));
        // One symbol is known a tick after it was lost.
        assert!((block_latency(1, 0.25).unwrap() - 0.25).abs() < 1e-12);
        // The ideal simulation of the shared notes.
        for (k, loss, simulated) in [
            (167, 0.05, 67.412),
            (167, 0.15, 78.509),
            (38, 0.05, 8.616),
            (38, 0.15, 14.659),
        ] {
            let exact = block_latency(k, loss).unwrap();
            assert!(
                (exact / simulated - 1.0).abs() < 0.01,
                "{k} {loss}: {exact}"
            );
        }
        assert!(block_latency(0, 0.1).is_err() && block_latency(5, 1.0).is_err());
    }

    #[test]
    fn the_distribution_of_a_blocks_latency_has_its_mean() {
        for (k, loss) in [(38, 0.15), (167, 0.3), (1, 0.25), (5, 0.0)] {
            let cdf = block_latency_cdf(k, loss).unwrap();
            assert_eq!(cdf.len(), k as usize + 1);
            assert!((cdf[k as usize] - 1.0).abs() < 1e-12);
            let mean: f64 = cdf.iter().map(|share| 1.0 - share).sum();
            let exact = block_latency(k, loss).unwrap();
            assert!((mean - exact).abs() < 1e-9, "{k} {loss}: {mean}");
        }
        assert!((block_recovered_after(167) - 84.0).abs() < 1e-12);
    }

    #[test]
    fn a_symbol_stays_lost_with_the_chance_of_small_blocks_counted_by_hand() {
        // One symbol, one repair: both lost.
        assert!((block_residual(1, 1, 0.25).unwrap() - 0.0625).abs() < 1e-12);
        // Two symbols, one repair: it is lost, and one or two of the two others.
        let exact = 0.25 * (1.0 - 0.75f64 * 0.75);
        assert!((block_residual(2, 1, 0.25).unwrap() - exact).abs() < 1e-12);
        // Without repair, and without loss.
        assert!((block_residual(9, 0, 0.25).unwrap() - 0.25).abs() < 1e-12);
        assert_eq!(block_residual(9, 3, 0.0), Ok(0.0));
        assert!(block_residual(9, 3, 1.0).is_err());
    }

    #[test]
    fn parameters_without_a_window_are_refused() {
        let application = Application {
            max_latency: latency(1.0).unwrap(),
            bitrate: 1000,
            symbol_size: 1000,
            code_rate: CodeRate::ONE,
        };
        assert!(matches!(application.sizes(), Err(TheoryError::Sizing(_))));
        for bad in [-1.0, f64::NAN, 1e12] {
            assert!(latency(bad).is_err());
        }
    }
}
