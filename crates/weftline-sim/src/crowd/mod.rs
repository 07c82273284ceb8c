//! Several flows of the real engine over one bottleneck.
//!
//! All flows share a link and its queue; each has a private delay behind it, a time at which it joins
//! and one at which it leaves. Models of TCP may be among them.

mod bbr;
mod competitor;
mod cubic;
mod outcome;
mod run;

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use weftline_netem::LinkConfig;
use weftline_proto::Config;

pub use outcome::{CrowdOutcome, FlowOutcome};

use super::engine::Application;
use run::Run;

/// Flows over one bottleneck.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// The engine's settings, for both ends of each flow.
    pub config: Config,
    /// The shared link from the writers to the readers.
    pub forward: LinkConfig,
    /// The shared link back.
    pub back: LinkConfig,
    /// The flows.
    pub members: Vec<Member>,
    /// Duration of the run.
    pub duration: Duration,
    /// What happens before this is not counted.
    pub skip: Duration,
}

/// A flow of a crowd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// What sends.
    pub sender: Sender,
    /// Its paths, all through the bottleneck; a model has one.
    pub paths: usize,
    /// Its private delay, each way.
    pub extra: Duration,
    /// It joins at a random time between these.
    pub join: (Duration, Duration),
    /// It leaves without a word.
    pub leave: Option<Duration>,
}

/// What sends in a crowd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sender {
    /// The engine, with this application.
    Engine(Application),
    /// A model of TCP CUBIC (RFC 9438), with ideal acknowledgements.
    Cubic,
    /// A model of TCP BBR, first version (Cardwell et al. 2016), with ideal acknowledgements.
    Bbr,
}

impl Sender {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Sender::Engine(_) => "weftline",
            Sender::Cubic => "model of CUBIC",
            Sender::Bbr => "model of BBR",
        }
    }

    /// Whether it takes what it can get, so that its share can be compared.
    fn is_greedy(self) -> bool {
        match self {
            Sender::Engine(application) => matches!(
                application,
                Application::Bulk | Application::Saturating { .. }
            ),
            Sender::Cubic | Sender::Bbr => true,
        }
    }
}

/// Who is in a crowd: flows of the engine that join one after the other, and what is beside them from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    /// Number of flows of the engine that join one after the other.
    pub count: u32,
    /// Their application.
    pub application: Application,
    /// Further flows of the engine, each with this application.
    pub also: Vec<Application>,
    /// The last flow's round trip is this much longer than the first one's; the others are between.
    pub spread: Duration,
    /// Paths of the first flow.
    pub paths: usize,
    /// Flow n joins at a random time of the n-th interval of this length, and what is beside them at one of the
    /// first.
    pub join: Duration,
    /// What is beside them has such a head start: the intervals of the flows begin after it.
    pub after: Duration,
    /// Every second flow leaves at this time.
    pub leave: Option<Duration>,
    /// Models of TCP CUBIC beside them.
    pub cubic: u32,
    /// Models of TCP BBR beside them.
    pub bbr: u32,
}

impl Flows {
    /// The members of the crowd: models first, then further flows, then those that join one after the other.
    pub fn members(&self) -> Vec<Member> {
        let first = |sender| Member {
            sender,
            paths: 1,
            extra: Duration::ZERO,
            join: (Duration::ZERO, self.join),
            leave: None,
        };
        let mut members = vec![first(Sender::Cubic); self.cubic as usize];
        members.extend((0..self.bbr).map(|_| first(Sender::Bbr)));
        members.extend(self.also.iter().map(|app| first(Sender::Engine(*app))));
        let last = self.count.saturating_sub(1).max(1);
        members.extend((0..self.count).map(|n| Member {
            sender: Sender::Engine(self.application),
            paths: if n == 0 { self.paths } else { 1 },
            extra: self.spread * n / last / 2,
            join: (self.after + self.join * n, self.after + self.join * (n + 1)),
            leave: self.leave.filter(|_| n % 2 == 1),
        }));
        members
    }
}

impl Crowd {
    /// Runs the crowd. The same seed gives the same result.
    pub fn run(&self, seed: u64) -> CrowdOutcome {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let joins: Vec<Duration> = self
            .members
            .iter()
            .map(|member| {
                let (least, most) = member.join;
                let unit = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                least + most.saturating_sub(least).mul_f64(unit)
            })
            .collect();
        let mut run = Run::new(self, &joins, seed);
        run.go(self.duration);
        outcome::outcome(self, &joins, &run)
    }
}
