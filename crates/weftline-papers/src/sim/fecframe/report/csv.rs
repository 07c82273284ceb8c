//! Outcomes for other programs.

use std::fmt::Write;

use super::super::Outcome;

/// A line for each outcome, under the names of the columns.
pub fn results_csv(outcomes: &[Outcome]) -> String {
    let mut text = "code,code_rate,decoding_window,loss,symbols,symbol_size,runs,lost,on_time,\
                    on_time_stderr,residual_loss,late,latency_mean,latency_stderr,latency_min,\
                    latency_p50,latency_p90,latency_p99,latency_p999,latency_max,repair_share,\
                    encode_mbit,decode_mbit\n"
        .to_owned();
    for outcome in outcomes {
        let of = &outcome.experiment;
        let [min, p50, p90, p99, p999, max] = outcome.latency_quantiles;
        // Writing to a string cannot fail. The text form of a loss has a comma: quotes.
        let _ = writeln!(
            text,
            "{},{},{},\"{}\",{},{},{},{:.6},{:.6},{:.6},{:.6},{:.6},{:.4},{:.4},{min},{p50},{p90},\
             {p99},{p999},{max},{:.4},{:.1},{:.1}",
            of.code,
            of.code_rate,
            of.decoding_window,
            of.loss,
            of.symbols,
            of.symbol_size,
            outcome.runs,
            outcome.lost,
            outcome.on_time.mean,
            outcome.on_time.stderr,
            outcome.residual_loss,
            outcome.late,
            outcome.latency.mean,
            outcome.latency.stderr,
            outcome.repair_share,
            outcome.speed.encode_mbit,
            outcome.speed.decode_mbit,
        );
    }
    text
}

/// Histogram and CDF of each outcome: a line for each latency that occurs.
pub fn latencies_csv(outcomes: &[Outcome]) -> String {
    let mut text = "code,loss,ticks,symbols,share_up_to\n".to_owned();
    for outcome in outcomes {
        let (code, loss) = (&outcome.experiment.code, &outcome.experiment.loss);
        let all = &outcome.histogram;
        for ((ticks, share), count) in all.cdf().into_iter().zip(all.counts()) {
            if *count > 0 {
                let _ = writeln!(text, "{code},\"{loss}\",{ticks},{count},{share:.6}");
            }
        }
    }
    text
}
