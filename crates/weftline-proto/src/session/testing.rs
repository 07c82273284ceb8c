//! Two sessions over paths of a fixed delay, in virtual time.

use core::time::Duration;

use super::Session;
use crate::config::{Config, RateControl};
use crate::event::Role;
use crate::path::PathOptions;
use crate::time::Time;

pub(super) const MS: Duration = Duration::from_millis(1);

pub(super) struct Two {
    pub(super) client: Session,
    server: Session,
    pub(super) now: Time,
    /// The delay of each path, in each direction.
    pub(super) delays: Vec<Duration>,
    /// Nothing arrives on these.
    pub(super) dead: Vec<usize>,
    /// What is on its way: when it arrives, whether at the server, on which path, and what.
    on_way: Vec<(Time, bool, usize, Vec<u8>)>,
}

impl Two {
    /// Over paths of these delays, in ms, and costs.
    pub(super) fn new(rate: RateControl, paths: &[(u32, u8)]) -> Self {
        let config = Config {
            rate,
            ..Config::default()
        };
        let now = Time::ZERO;
        let ends = [Role::Client, Role::Server].map(|role| {
            let mut session = Session::new(role, config.clone(), 1, now).expect("it is possible");
            for (_, cost) in &paths[1..] {
                let options = PathOptions { cost: *cost };
                session.add_path(now, options).expect("it is possible");
            }
            session
        });
        let [client, server] = ends;
        Two {
            client,
            server,
            now,
            delays: paths.iter().map(|(delay, _)| *delay * MS).collect(),
            dead: Vec::new(),
            on_way: Vec::new(),
        }
    }

    /// The client sends a message of 1000 bytes.
    pub(super) fn send(&mut self) {
        let sent = self.client.send_message(self.now, vec![7; 1000], None);
        sent.expect("there is room");
    }

    /// Time passes.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.transmit();
            let arrival = self.on_way.iter().map(|(at, ..)| *at).min();
            let timers = [&self.client, &self.server].map(Session::poll_timeout);
            let next = timers.into_iter().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            self.arrive();
            for session in [&mut self.client, &mut self.server] {
                if session.poll_timeout().is_some_and(|at| at <= self.now) {
                    session.handle_timeout(self.now);
                }
            }
        }
    }

    /// The ends and the paths take turns.
    fn transmit(&mut self) {
        let mut wrote = true;
        while core::mem::take(&mut wrote) {
            for turn in 0..2 * self.delays.len() {
                let (to_server, path) = (turn % 2 == 0, turn / 2);
                let from = match to_server {
                    true => &mut self.client,
                    false => &mut self.server,
                };
                let (at, id) = (self.now + self.delays[path], from.paths[path].id);
                let mut datagram = Vec::new();
                if from.poll_transmit_on(self.now, id, &mut datagram) {
                    wrote = true;
                    if !self.dead.contains(&path) {
                        self.on_way.push((at, to_server, path, datagram));
                    }
                }
            }
        }
    }

    fn arrive(&mut self) {
        let now = self.now;
        let due = |(at, ..): &mut (Time, bool, usize, Vec<u8>)| *at <= now;
        let arrived: Vec<_> = self.on_way.extract_if(.., due).collect();
        for (_, at_server, path, datagram) in arrived {
            let at = match at_server {
                true => &mut self.server,
                false => &mut self.client,
            };
            let id = at.paths[path].id;
            at.handle_datagram_on(now, id, &datagram);
        }
    }
}
