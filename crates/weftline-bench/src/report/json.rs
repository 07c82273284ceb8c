//! The report for programs, as JSON. Keys are added, never changed or removed.

use serde_json::{Map, Value, json};

use super::{to_best_peer, to_ceiling, to_published};
use crate::contest::{Case, Kind};
use crate::machine::Machine;
use crate::measure::{Measurement, Outcome, Timing};
use crate::plan::Plan;

/// The whole report as one object.
#[must_use]
pub fn object(
    machine: &Machine,
    plan: &Plan,
    timing: Timing,
    no_cycles: Option<&str>,
    outcomes: &[Outcome],
) -> Value {
    let names = |kernels: &[weftline_codec::kernel::Kernel]| -> Vec<&'static str> {
        kernels.iter().map(|kernel| kernel.name()).collect()
    };
    json!({
        "machine": {
            "cpu": machine.cpu,
            "architecture": machine.architecture,
            "os": machine.os,
            "kernel": machine.kernel.name(),
            "kernels": names(&machine.kernels),
            "load": machine.load,
            "cycles_unavailable": no_cycles,
        },
        "settings": {
            "scope": plan.scope.name(),
            "filter": plan.filter,
            "kernels": names(&plan.kernels),
            "clock": crate::clock::NAME,
            "rounds": timing.rounds,
            "sample_ms": timing.sample.as_secs_f64() * 1e3,
        },
        "results": outcomes.iter().flat_map(results).collect::<Vec<_>>(),
        "skipped": outcomes.iter().flat_map(skipped).collect::<Vec<_>>(),
    })
}

fn results(outcome: &Outcome) -> impl Iterator<Item = Value> {
    outcome.measurements.iter().map(|m| result(outcome, m))
}

fn result(outcome: &Outcome, measurement: &Measurement) -> Value {
    let case = &outcome.case;
    let gbps = |nanos: f64| case.bytes as f64 / nanos;
    json!({
        "id": case.id(),
        "workload": case.workload,
        "definition": case.definition,
        "parameters": parameters(case),
        "bytes_per_run": case.bytes,
        "contender": measurement.contender,
        "kind": measurement.kind.name(),
        "samples": measurement.nanos.len(),
        "ns_per_run": measurement.nanos.median(),
        "gbps": measurement.gbps(case),
        "gbps_min": gbps(measurement.nanos.max()),
        "gbps_max": gbps(measurement.nanos.min()),
        "spread": measurement.nanos.spread(),
        "cycles_per_byte": measurement.cycles_per_byte(case),
        "best_peer": outcome.best_peer().map(|peer| peer.contender.as_str()),
        "ratio_best_peer": to_best_peer(outcome, measurement),
        "ceiling": outcome.ceiling().map(|ceiling| ceiling.contender.as_str()),
        "ratio_ceiling": to_ceiling(outcome, measurement),
        "ratios": ratios(outcome, measurement),
        "published": case.published.map(|published| json!({
            "source": published.source,
            "gbps": published.gbps,
            "ratio": to_published(outcome, measurement),
        })),
        "residual_symbols": measurement.residual.map(|(_, lost)| lost),
        "sent_symbols": measurement.residual.map(|(sent, _)| sent),
    })
}

fn parameters(case: &Case) -> Map<String, Value> {
    let named = case.parameters.iter();
    named
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect()
}

/// The ratios to every peer and every ceiling, by name.
fn ratios(outcome: &Outcome, measurement: &Measurement) -> Map<String, Value> {
    let others = outcome.measurements.iter();
    let others = others.filter(|other| other.kind != Kind::Ours);
    let ratio = |other: &Measurement| json!(Outcome::ratio(measurement, other));
    others
        .map(|other| (other.contender.clone(), ratio(other)))
        .collect()
}

fn skipped(outcome: &Outcome) -> impl Iterator<Item = Value> {
    outcome.skipped.iter().map(|skipped| {
        json!({
            "id": outcome.case.id(),
            "contender": skipped.contender,
            "reason": skipped.reason,
        })
    })
}
