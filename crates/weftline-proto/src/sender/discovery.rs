//! The longest datagram that the path takes, where the carrier does not find it: probes of a size, and
//! the detection of a path that has shrunk (RFC 8899).

use core::ops::RangeInclusive;
use core::time::Duration;

use crate::time::Time;

/// Bytes of IP packets that paths take: the least of IPv6, of tunnels, of PPPoE, of Ethernet, and of
/// networks with longer frames. Only these are probed, so that probes are few.
const USUAL: [usize; 8] = [1280, 1400, 1420, 1492, 1500, 2304, 4352, 9000];
/// A size that is lost this many times in a row is too long.
const TRIES: u8 = 3;
/// Sizes that were too long are tried again after this (RFC 8899, section 5.1.1).
const RAISE: Duration = Duration::from_secs(600);
/// After a path has shrunk, probes wait for this long, and twice as long after each further time, so
/// that no peer can make this end change its mind all the time.
const PAUSE: Duration = Duration::from_secs(1);
/// The path has shrunk when this many runs of long datagrams are lost and only shorter ones arrive
/// between them. The more is lost by chance, the more runs it takes.
const RUNS: core::ops::RangeInclusive<f64> = 5.0..=20.0;
/// The probability that chance alone loses all these runs.
const CHANCE: f64 = 1e-6;
/// One that is shorter by no more than this is as long: a repair and its symbols share their fate.
const NEARLY: usize = 64;
/// This many timeouts in a row mean that nothing arrives, maybe because everything is too long.
const SILENT: u32 = 2;

#[derive(Debug)]
pub(crate) struct Discovery {
    base: usize,
    /// Sizes to try, ascending.
    sizes: Vec<usize>,
    largest: usize,
    /// The shortest size that is too long, and until when that counts.
    too_long: Option<(usize, Time)>,
    probe: Option<Probe>,
    /// Probes of the next size that were lost.
    lost: u8,
    /// No probe before this.
    not_before: Time,
    pause: Duration,
    now: Time,
    /// Runs of lost long datagrams since one of that length arrived, and the shortest of them.
    runs: u32,
    shortest: usize,
    in_run: bool,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    number: u64,
    size: usize,
    at: Time,
}

impl Discovery {
    /// `range`: what every path takes, and the most that makes sense; `overhead`: bytes that the
    /// carrier, UDP and IP add.
    pub(crate) fn new(range: RangeInclusive<usize>, overhead: usize, now: Time) -> Self {
        let sizes = USUAL.iter().map(|size| size.saturating_sub(overhead));
        let (base, most) = range.into_inner();
        Discovery {
            base,
            sizes: sizes
                .filter(|size| (base + 1..=most).contains(size))
                .collect(),
            largest: base,
            too_long: None,
            probe: None,
            lost: 0,
            not_before: now,
            pause: PAUSE,
            now,
            runs: 0,
            shortest: usize::MAX,
            in_run: false,
        }
    }

    /// The longest datagram that arrives, as far as it is known.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// Bytes of the probe to send now, where datagrams of `wanted` bytes would be used.
    pub(crate) fn next(&mut self, now: Time, wanted: usize) -> Option<usize> {
        self.now = now;
        if self.probe.is_some() || now < self.not_before || wanted <= self.largest {
            return None;
        }
        self.too_long = self.too_long.filter(|(_, until)| now < *until);
        let below = self.too_long.map_or(usize::MAX, |(size, _)| size);
        let mut left: Vec<usize> = self.sizes.iter().map(|size| (*size).min(wanted)).collect();
        left.dedup();
        left.retain(|size| (self.largest + 1..below).contains(size));
        // What is wanted first, then the middle of what is left.
        let index = match self.too_long {
            None => left.len().checked_sub(1)?,
            Some(_) => left.len() / 2,
        };
        left.get(index).copied()
    }

    /// The probe left as transmission `number`.
    pub(super) fn on_sent(&mut self, now: Time, number: u64, size: usize) {
        let at = now;
        self.probe = Some(Probe { number, size, at });
    }

    /// The fate of a transmission that may be the probe.
    pub(super) fn on_fate(&mut self, number: u64, lost: bool) {
        let Some(probe) = self.probe.filter(|probe| probe.number == number) else {
            return;
        };
        self.probe = None;
        if !lost {
            self.lost = 0;
            self.largest = self.largest.max(probe.size);
            self.forget_runs();
            return;
        }
        self.lost += 1;
        if self.lost >= TRIES {
            self.lost = 0;
            self.too_long = Some((probe.size, probe.at + RAISE));
        }
    }

    /// When the probe counts as lost if nothing is heard, for a retransmission timeout of `timeout`.
    pub(super) fn next_timeout(&self, timeout: Duration) -> Option<Time> {
        self.probe.map(|probe| probe.at + timeout)
    }

    pub(super) fn on_timeout(&mut self, now: Time, timeout: Duration) {
        if let Some(probe) = self.probe
            && probe.at + timeout <= now
        {
            self.on_fate(probe.number, true);
        }
    }

    /// The next datagram in order of sending, of `size` bytes, arrived or was lost; `loss`: how often
    /// they are.
    pub(super) fn on_datagram(&mut self, size: usize, lost: bool, loss: f64) {
        // What was longer travelled in pieces.
        let long = (self.base + 1..=self.largest).contains(&size);
        match lost {
            true if long => {
                self.runs += u32::from(!self.in_run);
                self.in_run = true;
                self.shortest = self.shortest.min(size);
            }
            true => {}
            false => {
                self.in_run = false;
                if long && size + NEARLY >= self.shortest {
                    self.forget_runs();
                }
            }
        }
        let runs = (CHANCE.ln() / loss.clamp(1e-6, 0.5).ln()).clamp(*RUNS.start(), *RUNS.end());
        if f64::from(self.runs) >= runs {
            self.shrink();
            self.not_before = self.now + self.pause;
            self.pause = (self.pause * 2).min(RAISE);
        }
    }

    /// The retransmission timer has fired `times` times in a row.
    pub(super) fn on_silence(&mut self, times: u32) {
        if times >= SILENT {
            self.shrink();
        }
    }

    /// The path may take no more than every path does.
    fn shrink(&mut self) {
        self.largest = self.base;
        self.forget_runs();
    }

    fn forget_runs(&mut self) {
        self.runs = 0;
        self.shortest = usize::MAX;
        self.in_run = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: usize = 9021;
    const MTU: usize = 9000 - 36;

    fn discovery() -> Discovery {
        Discovery::new(1244..=65_000, 36, Time::ZERO)
    }

    /// Probes at this moment until nothing more is to be probed, on a path of `mtu` bytes.
    fn search(discovery: &mut Discovery, now: Time, mtu: usize) -> Vec<usize> {
        let mut sent = Vec::new();
        while let Some(size) = discovery.next(now, WANTED) {
            let number = sent.len() as u64;
            discovery.on_sent(now, number, size);
            assert_eq!(discovery.next(now, WANTED), None, "one at a time");
            discovery.on_fate(number, size > mtu);
            sent.push(size);
            assert!(sent.len() < 100);
        }
        sent
    }

    #[test]
    fn probes_are_few_and_the_longest_size_is_found() {
        for (mtu, found, probes) in [
            (1244, 1244, 12),
            (1464, 1464, 10),
            (4316, 4316, 5),
            (8963, 4316, 5),
            (8964, 8964, 1),
            (60_000, 8964, 1),
        ] {
            let mut discovery = discovery();
            let sent = search(&mut discovery, Time::ZERO, mtu);
            assert_eq!(
                (discovery.largest(), sent.len()),
                (found, probes),
                "{sent:?}"
            );
            // Not again for ten minutes, even when the path takes more.
            let later = Time::ZERO + RAISE - Duration::from_secs(1);
            assert!(search(&mut discovery, later, MTU).is_empty());
            assert_eq!(discovery.largest(), found);
            search(&mut discovery, Time::ZERO + RAISE, MTU);
            assert_eq!(discovery.largest(), MTU);
        }
    }

    #[test]
    fn probes_without_an_answer_count_as_lost() {
        let mut discovery = discovery();
        let timeout = Duration::from_millis(50);
        let mut now = Time::ZERO;
        let mut probes = 0;
        while let Some(size) = discovery.next(now, WANTED) {
            discovery.on_sent(now, probes, size);
            probes += 1;
            now = discovery.next_timeout(timeout).unwrap();
            discovery.on_timeout(now, timeout);
        }
        assert_eq!((probes, discovery.largest()), (12, 1244));
    }

    #[test]
    fn losses_by_chance_are_no_sign_of_a_shorter_path() {
        for percent in [1, 5, 10, 20, 30] {
            let mut discovery = discovery();
            search(&mut discovery, Time::ZERO, MTU);
            let mut random = 1u64;
            for n in 0..100_000u64 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(99);
                let lost = (random >> 33) % 100 < percent;
                // Every fourth is a repair, every third is short.
                let size = match (n % 4, n % 3) {
                    (0, _) => 8900,
                    (_, 0) => 60,
                    _ => 8879,
                };
                discovery.on_datagram(size, lost, percent as f64 / 100.0);
                assert_eq!(discovery.largest(), MTU, "{percent} % at {n}");
            }
        }
    }

    #[test]
    fn a_path_that_takes_only_short_datagrams_is_found_before_long() {
        let mut discovery = discovery();
        search(&mut discovery, Time::ZERO, MTU);
        let mut sent = 0;
        while discovery.largest() > 1244 {
            discovery.on_datagram(if sent % 2 == 0 { 8000 } else { 800 }, sent % 2 == 0, 0.01);
            sent += 1;
            assert!(sent < 20);
        }
        // What was sent before is lost too, and says nothing new.
        for _ in 0..100 {
            discovery.on_datagram(8000, true, 0.5);
            discovery.on_datagram(800, false, 0.5);
        }
        assert_eq!(discovery.next(Time::ZERO, WANTED), None);
        let later = Time::ZERO + PAUSE;
        assert_eq!(search(&mut discovery, later, 1464).len(), 10);
        assert_eq!(discovery.largest(), 1464);
    }

    #[test]
    fn a_peer_that_denies_what_it_received_makes_it_change_ever_more_rarely() {
        let mut discovery = discovery();
        let mut grown = 0;
        for second in 0..3600 {
            let now = Time::ZERO + Duration::from_secs(second);
            grown += u32::from(!search(&mut discovery, now, usize::MAX).is_empty());
            for _ in 0..100 {
                discovery.on_datagram(8000, true, 0.1);
                discovery.on_datagram(800, false, 0.1);
            }
        }
        assert!(grown < 18, "{grown} times in an hour");
    }

    #[test]
    fn silence_returns_to_what_every_path_takes_and_an_answer_searches_again() {
        let mut discovery = discovery();
        search(&mut discovery, Time::ZERO, MTU);
        discovery.on_silence(1);
        assert_eq!(discovery.largest(), MTU);
        discovery.on_silence(2);
        assert_eq!(discovery.largest(), 1244);
        assert_eq!(search(&mut discovery, Time::ZERO, MTU), [MTU]);
    }

    #[test]
    fn only_losses_of_datagrams_longer_than_all_that_arrive_are_a_sign_of_a_shorter_path() {
        for (lost, arrives, shrinks) in [
            (1244, 800, false),
            (1245, 800, true),
            (8000, 2000, true),
            (8000, 8000 - NEARLY - 1, true),
            (8000, 8000 - NEARLY, false),
        ] {
            let mut discovery = discovery();
            search(&mut discovery, Time::ZERO, MTU);
            for _ in 0..100 {
                discovery.on_datagram(lost, true, 0.01);
                discovery.on_datagram(arrives, false, 0.01);
            }
            let shrunk = discovery.largest() == 1244;
            assert_eq!(shrunk, shrinks, "{lost} is lost and {arrives} arrives");
        }
    }
}
