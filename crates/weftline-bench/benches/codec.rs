//! The workloads of `weftline-lab bench codec`, one contender after the other
//! under criterion, for work on the code with `--save-baseline` and
//! `--baseline`. For ratios between contenders use the command, which lets them
//! take turns.
//!
//! ```sh
//! cargo bench -p weftline-bench --features criterion -- window/repair
//! WEFTLINE_BENCH_SCOPE=full cargo bench -p weftline-bench --features criterion -- stream/decode/window=64
//! ```
#![allow(missing_docs)]

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use weftline_bench::{Case, Contest, Error, Plan, Scope, Visitor, workloads};

/// Passes every contest to criterion.
struct Harness<'a>(&'a mut Criterion);

impl Visitor for Harness<'_> {
    fn wants(&mut self, _: &Case) -> bool {
        // Criterion filters by the names of contenders too.
        true
    }

    fn contest(&mut self, contest: Contest<'_>) -> Result<(), Error> {
        let id = contest.case.id();
        for skipped in contest.skipped {
            println!("{id}: {} skipped: {}", skipped.contender, skipped.reason);
        }
        let mut group = self.0.benchmark_group(id);
        group.throughput(Throughput::BytesDecimal(contest.case.bytes as u64));
        for mut contender in contest.contenders {
            let name = contender.name.clone();
            group.bench_function(name, |bencher| bencher.iter(|| contender.run()));
        }
        group.finish();
        Ok(())
    }
}

/// The requested scope; the default is the quick one.
fn scope() -> Scope {
    let name = std::env::var("WEFTLINE_BENCH_SCOPE").unwrap_or_default();
    match name.as_str() {
        "" | "quick" => Scope::Quick,
        "default" => Scope::Default,
        "full" => Scope::Full,
        _ => panic!("WEFTLINE_BENCH_SCOPE={name}: give quick, default or full"),
    }
}

fn codec(criterion: &mut Criterion) {
    let visited = workloads::visit(&Plan::new(scope()), &mut Harness(criterion));
    visited.unwrap_or_else(|error| panic!("{error}"));
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400));
    targets = codec
}
criterion_main!(benches);
