//! The result of the runs, in one sentence.

use weftline::Preset;

use super::lateness::Exactness;
use super::run::{Run, Workload};

/// Summarises the runs.
pub(super) fn closing(runs: &[Run]) -> String {
    let exactness = Exactness::of(runs.iter().map(|run| run.path.lateness));
    qualify(&verdict(runs), &exactness)
}

fn qualify(sentence: &str, exactness: &Exactness) -> String {
    if !exactness.is_busy() {
        return sentence.to_owned();
    }
    let open = sentence.trim_end_matches('.');
    format!("{open} (this machine was busy: times are not exact).")
}

fn verdict(runs: &[Run]) -> String {
    let failed = runs.iter().filter(|run| !run.outcome.verified).count();
    if failed > 0 {
        return format!(
            "{failed} of {} runs did not deliver everything intact: see the errors.",
            runs.len()
        );
    }
    let streams: Vec<Seen> = runs
        .iter()
        .filter(|r| r.workload == Workload::Stream)
        .filter_map(seen)
        .collect();
    compare(&streams)
}

/// The numbers that the sentence uses.
#[derive(Clone, Copy, Debug)]
struct Seen {
    preset: Preset,
    mean: f64,
    wire: f64,
}

fn seen(run: &Run) -> Option<Seen> {
    let mean = run.outcome.delays.summary()?.mean;
    Some(Seen {
        preset: run.preset,
        mean,
        wire: run.wire_bytes_per_byte()?,
    })
}

fn compare(streams: &[Seen]) -> String {
    let by_mean = |a: &&Seen, b: &&Seen| a.mean.total_cmp(&b.mean);
    let (Some(best), Some(worst)) = (
        streams.iter().min_by(by_mean),
        streams.iter().max_by(by_mean),
    ) else {
        return "Everything arrived intact.".to_owned();
    };
    let added = format!("{:.1} ms", best.mean);
    if streams.len() < 2 {
        let wire = (best.wire - 1.0) * 100.0;
        return format!(
            "Everything arrived intact; {} added {added} to a message's delay on average, with {wire:.0} % more bytes on the wire than delivered.",
            best.preset
        );
    }
    // Below this difference the order is a matter of chance.
    if worst.mean - best.mean < 0.5 || worst.mean < best.mean * 1.1 {
        return format!(
            "Everything arrived intact, and on this path the presets hardly differ: each added about {added} to a message's delay."
        );
    }
    let ratio = worst.mean / best.mean.max(0.05);
    // As exact as the numbers before it.
    let digits = usize::from(ratio < 10.0);
    let price = (best.wire / worst.wire - 1.0) * 100.0;
    let bytes = if price.abs() < 1.0 {
        "about the same number of".to_owned()
    } else if price > 0.0 {
        format!("{price:.0} % more")
    } else {
        format!("{:.0} % fewer", -price)
    };
    format!(
        "Everything arrived intact; losses added {added} to a message's delay on average with {}, {:.1} ms with {}: {ratio:.digits$} times less, for {bytes} bytes on the wire.",
        best.preset, worst.mean, worst.preset
    )
}

#[cfg(test)]
mod tests {
    use super::super::lateness::Lateness;
    use super::*;

    fn seen(preset: Preset, mean: f64, wire: f64) -> Seen {
        Seen { preset, mean, wire }
    }

    #[test]
    fn the_sentence_follows_the_numbers() {
        let (arq, streaming) = (Preset::Arq, Preset::Streaming);
        let text = compare(&[seen(arq, 20.0, 1.25), seen(streaming, 4.0, 1.35)]);
        assert!(
            text.contains(
                "4.0 ms to a message's delay on average with streaming, 20.0 ms with arq"
            ),
            "{text}"
        );
        assert!(
            text.contains("5.0 times less, for 8 % more bytes"),
            "{text}"
        );
        let text = compare(&[seen(arq, 4.0, 1.2), seen(streaming, 20.0, 1.35)]);
        assert!(
            text.contains("with arq, 20.0 ms with streaming: 5.0 times less, for 11 % fewer"),
            "{text}"
        );
        let text = compare(&[seen(arq, 0.1, 1.2), seen(streaming, 0.2, 1.2)]);
        assert!(text.contains("hardly differ"), "{text}");
        assert!(compare(&[seen(arq, 3.0, 1.2)]).contains("20 % more bytes"));
        assert!(!compare(&[]).is_empty());
    }

    #[test]
    fn a_busy_machine_qualifies_the_sentence() {
        let of = |over_1ms| {
            Exactness::of([Lateness {
                packets: 100,
                over_1ms,
                ..Lateness::default()
            }])
        };
        assert_eq!(qualify("It was so.", &of(2)), "It was so.");
        assert_eq!(
            qualify("It was so.", &of(3)),
            "It was so (this machine was busy: times are not exact)."
        );
    }
}
