//! Chaos: transfers, forwards and relays between real processes that are killed, paused, cut off,
//! moved and starved, all from a seed.
//!
//! A round starts both ends of one command on loopback with an impaired path between them, and
//! does to them what its plan says. Afterwards every byte must be right, everything must work
//! again, and each end that failed must have said why.
//!
//! | file | contents |
//! | --- | --- |
//! | `plan` | what happens in a round, and when |
//! | `program`, `wire`, `stage` | a process; the path; both ends, the path and the disk |
//! | `transfer`, `forward`, `relay` | a round of each kind |
//! | `tally` | what rounds found |

mod forward;
mod plan;
pub(crate) mod program;
mod relay;
mod stage;
mod tally;
mod transfer;
mod wire;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub use plan::Kind;
pub use stage::{Missing, Setup};
pub use tally::Tally;

use plan::Plan;
use stage::Stage;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program `weftline`.
    pub program: PathBuf,
    /// Rounds.
    pub rounds: u64,
    /// The first round. A round depends on the seed and its number only.
    pub first: u64,
    /// Seed of all choices.
    pub seed: u64,
    /// Rounds at the same time.
    pub jobs: usize,
    /// What is done to the ends.
    pub kinds: Vec<Kind>,
}

/// What a round carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Errand {
    Transfer,
    Forward,
    Relay,
}

/// What was wrong in a round.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    /// Bytes that were not sent, or an end that looked complete and was not.
    #[error("wrong: {0}")]
    Wrong(String),
    /// Nothing moved although nothing was in the way any more.
    #[error("hang: {0}")]
    Hang(String),
    /// An end failed without saying why, or ended where it must not.
    #[error("unexplained: {0}")]
    Unexplained(String),
    /// The laboratory itself failed.
    #[error("laboratory: {0}")]
    Lab(String),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Fault::Lab(error.to_string())
    }
}

/// What a round without fault tells.
#[derive(Clone, Debug, Default)]
struct Done {
    /// How often an end was started.
    starts: u32,
    /// From when nothing was in the way any more until everything was done.
    recovery: Duration,
}

/// A stream of random choices.
#[derive(Clone, Debug)]
struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn new(seed: u64, round: u64) -> Self {
        let mut seeds = Xoshiro256PlusPlus::seed_from_u64(seed);
        let base = seeds.next_u64();
        Draws(Xoshiro256PlusPlus::seed_from_u64(
            base ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ))
    }

    /// Uniform from `from` to `to`, both included.
    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.0.next_u64() % (to - from + 1)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}

/// Runs all rounds; `report` is told of each fault when it is found, and of the number of rounds
/// that are done.
///
/// # Errors
/// The program or something that a fault needs is missing.
pub fn run(
    options: &Options,
    report: &(dyn Fn(u64, Option<&str>) + Sync),
) -> Result<Tally, Missing> {
    let setup = Setup::new(&options.program, &options.kinds)?;
    let started = Instant::now();
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let has_failed = AtomicBool::new(false);
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= options.rounds || has_failed.load(Ordering::Relaxed) {
                        return;
                    }
                    let round = options.first + at;
                    let (errand, plan, found) = one(&setup, options, round);
                    let text = found.as_ref().err().map(|fault| {
                        format!("round {round} ({}): {fault}\n  plan: {plan}", errand.name())
                    });
                    // Without its laboratory no round can tell anything.
                    if matches!(found, Err(Fault::Lab(_))) {
                        has_failed.store(true, Ordering::Relaxed);
                    }
                    if let Ok(mut tally) = tally.lock() {
                        tally.add(errand.name(), &plan, &found);
                    }
                    report(done.fetch_add(1, Ordering::Relaxed) + 1, text.as_deref());
                }
            });
        }
    });
    let mut tally = tally.into_inner().unwrap_or_default();
    tally.seconds = started.elapsed().as_secs_f64();
    Ok(tally)
}

impl Errand {
    fn name(self) -> &'static str {
        match self {
            Errand::Transfer => "transfer",
            Errand::Forward => "forward",
            Errand::Relay => "relay",
        }
    }
}

/// One round.
fn one(setup: &Setup, options: &Options, round: u64) -> (Errand, Plan, Result<Done, Fault>) {
    let mut draws = Draws::new(options.seed, round);
    let errand = [Errand::Transfer, Errand::Forward, Errand::Relay][(round % 3) as usize];
    let plan = Plan::draw(&mut draws, &options.kinds, errand == Errand::Transfer);
    let found = Stage::new(setup, &plan, round, &mut draws).and_then(|mut stage| match errand {
        Errand::Transfer => transfer::run(&mut stage, &mut draws),
        Errand::Forward => forward::run(&mut stage, &mut draws),
        Errand::Relay => relay::run(&mut stage, &mut draws),
    });
    (errand, plan, found)
}
