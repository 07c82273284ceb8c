//! What a link whose rate changes could have carried.

use std::time::Duration;

use serde_json::Value;
use weftline_emulator::Links;

use super::plan::Job;
use super::record::Flow;

/// What links with a trace, which `began` at that time, could carry together while the measured flow
/// was measured, in Mbit/s. A receiver that does not tell when it began is taken to have begun with it.
pub(super) fn capacity(links: &[Links], job: &Job, flows: &[Flow], began: i64) -> Option<f64> {
    let links = || links.iter().map(|links| &links.forward);
    links().find(|link| link.trace.is_some())?;
    let received = flows.last()?.received.as_ref()?;
    let start = received.get("start").and_then(Value::as_i64);
    let late = start.unwrap_or(began).saturating_sub(began).max(0) as u64;
    let after = |name| {
        let seconds = Duration::try_from_secs_f64(job.case.setting(name)?).ok()?;
        Some(Duration::from_nanos(late) + seconds)
    };
    let (from, to) = (after("skip")?, after("secs")?);
    let seconds = to.saturating_sub(from).as_secs_f64();
    let bits = links().map(|link| link.capacity(from, to));
    let bits = bits.sum::<Option<u64>>()? as f64;
    (seconds > 0.0).then_some(bits / 1e6 / seconds)
}

#[cfg(test)]
mod tests {
    use super::super::suite::Scale;
    use super::super::{plan, suites};
    use weftline_netem::LinkConfig;

    use super::*;

    #[test]
    fn capacity_is_that_of_the_measured_seconds() {
        let trace = "0s rate=8mbit\n2s rate=0bit\n3s rate=4mbit\n4s repeat";
        let forward = LinkConfig::parse_with("loss=trace:f", &mut |_| Ok(trace.to_owned()));
        let links = |forward: LinkConfig| Links {
            back: forward.clone(),
            forward,
        };
        let link = links(forward.unwrap());
        let suite = suites::by_name("A", Scale::default()).unwrap();
        let mut job = plan::jobs(&suite, 1).remove(0);
        job.case.settings = vec!["secs=4".into(), "skip=1".into()];
        let mut flow = Flow {
            peer: "x".into(),
            offset: 0.0,
            commands: Default::default(),
            received: Some(serde_json::json!({"start": 5_500_000_000i64})),
            sent: None,
        };
        // From 1.5 s to 4.5 s: half a second, an outage, a second, half a second.
        let of = |links: &[Links], flow: &Flow| {
            capacity(links, &job, std::slice::from_ref(flow), 5_000_000_000)
        };
        let one = std::slice::from_ref(&link);
        assert_eq!(of(one, &flow), Some(4.0));
        assert_eq!(of(&[link.clone(), link.clone()], &flow), Some(8.0));
        flow.received = Some(serde_json::json!({"goodput": 1.0}));
        assert_eq!(of(one, &flow), Some(4.0));
        let steady = links("rate=8mbit".parse().unwrap());
        assert_eq!(of(&[steady], &flow), None);
    }
}
