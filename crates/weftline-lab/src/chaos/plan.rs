//! What happens in a round, and when.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;

use super::Draws;

/// What can be done to a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// An end is killed (SIGKILL) and started again.
    Kill,
    /// An end is stopped (SIGSTOP) for a while.
    Pause,
    /// The path carries nothing for a while, now and then for longer than the programs wait.
    Cut,
    /// The near end's packets come from another port, as behind a NAT that forgot it.
    Rebind,
    /// The path drops datagrams above a size from 1200 to 1400 bytes.
    Mtu,
    /// The receiver's disk is full for a while (root: it mounts a small file system).
    Disk,
    /// The ends' wall clock jumps by up to 400 days (libfaketime; Debian: faketime).
    Clock,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Kill => "kill",
            Kind::Pause => "pause",
            Kind::Cut => "cut",
            Kind::Rebind => "rebind",
            Kind::Mtu => "mtu",
            Kind::Disk => "disk",
            Kind::Clock => "clock",
        }
    }
}

/// An end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The one that connects.
    Near,
    /// The one that listens.
    Far,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Kill(End),
    Start(End),
    Pause(End),
    Resume(End),
    Cut,
    Join,
    Rebind,
    /// Datagrams of more bytes are dropped.
    Narrow(usize),
    Widen,
    Fill,
    Free,
    /// Seconds from the real time.
    Clock(i64),
}

/// The actions of a round, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plan {
    pub(super) kinds: Vec<Kind>,
    pub(super) actions: Vec<(Duration, Action)>,
}

/// Datagrams that each path carries by the protocol: QUIC's least.
const LEAST_MTU: u64 = 1200;

impl Plan {
    /// One to three faults of these kinds; the disk only matters to a transfer.
    pub(super) fn draw(draws: &mut Draws, kinds: &[Kind], with_disk: bool) -> Self {
        let usable: Vec<Kind> = kinds
            .iter()
            .copied()
            .filter(|kind| with_disk || *kind != Kind::Disk)
            .collect();
        let mut plan = Plan::default();
        if usable.is_empty() {
            return plan;
        }
        for _ in 0..draws.between(1, 3) {
            let kind = usable[draws.between(0, usable.len() as u64 - 1) as usize];
            plan.kinds.push(kind);
            plan.add(kind, draws);
        }
        plan.actions.sort_by_key(|(at, _)| *at);
        plan
    }

    fn add(&mut self, kind: Kind, draws: &mut Draws) {
        let at = draws.between(50, 2500);
        let end = if draws.between(0, 1) == 0 {
            End::Near
        } else {
            End::Far
        };
        // Mostly short, now and then longer than the programs wait for each other.
        let long = draws.between(0, 7) == 0;
        let pause = if long {
            draws.between(5000, 9000)
        } else {
            draws.between(100, 2500)
        };
        let (first, second) = match kind {
            Kind::Kill => (Action::Kill(end), Some(Action::Start(end))),
            Kind::Pause => (Action::Pause(end), Some(Action::Resume(end))),
            Kind::Cut => (Action::Cut, Some(Action::Join)),
            Kind::Rebind => (Action::Rebind, None),
            Kind::Mtu => {
                let most = draws.between(LEAST_MTU, 1400) as usize;
                (Action::Narrow(most), Some(Action::Widen))
            }
            Kind::Disk => (Action::Fill, Some(Action::Free)),
            Kind::Clock => {
                let day = 86_400;
                let jump = draws.between(0, 800 * day) as i64 - 400 * day as i64;
                (Action::Clock(jump), None)
            }
        };
        let millis = Duration::from_millis;
        self.actions.push((millis(at), first));
        if let Some(second) = second {
            self.actions.push((millis(at + pause), second));
        }
    }

    /// Whether it has a fault of this kind.
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (at, action)) in self.actions.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{:.2} s {action:?}", at.as_secs_f64())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_depends_on_seed_and_round_only_and_undoes_what_lasts() {
        for round in 0..200 {
            let draw = || Plan::draw(&mut Draws::new(7, round), Kind::value_variants(), true);
            let plan = draw();
            assert_eq!(plan, draw());
            let count =
                |of: &dyn Fn(&Action) -> bool| plan.actions.iter().filter(|(_, a)| of(a)).count();
            for end in [End::Near, End::Far] {
                assert_eq!(
                    count(&|a| *a == Action::Kill(end)),
                    count(&|a| *a == Action::Start(end))
                );
                assert_eq!(
                    count(&|a| *a == Action::Pause(end)),
                    count(&|a| *a == Action::Resume(end))
                );
            }
            assert_eq!(
                count(&|a| *a == Action::Cut),
                count(&|a| *a == Action::Join)
            );
            assert_eq!(
                count(&|a| *a == Action::Fill),
                count(&|a| *a == Action::Free)
            );
            assert!(plan.actions.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        }
        assert_ne!(
            Plan::draw(&mut Draws::new(7, 1), Kind::value_variants(), true),
            Plan::draw(&mut Draws::new(8, 1), Kind::value_variants(), true)
        );
        assert!(!Plan::draw(&mut Draws::new(7, 1), &[Kind::Disk], false).has(Kind::Disk));
    }
}
