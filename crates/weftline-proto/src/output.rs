//! One call that names everything a driver must do next.

use crate::event::Event;
use crate::session::Session;
use crate::time::Time;

/// What a driver must do next; see [`Session::poll_output`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a dropped `Transmit` is a lost datagram, a dropped `Event` is a lost event"]
pub enum Output {
    /// The buffer holds a datagram: send it, then ask again.
    Transmit,
    /// Something happened: tell the application, let it write and read, then ask again.
    Event(Event),
    /// Nothing more to do now. Wait until this time or for a datagram, whichever is first, and tell
    /// the session: [`Session::handle_timeout`], [`Session::handle_datagram`]. `None`: the session
    /// is over and can be dropped.
    Timeout(Option<Time>),
}

impl Session {
    /// What to do next. After any call that changes the session (a datagram, a timeout, a write, a
    /// read, a message, a close), call this until it returns [`Output::Timeout`].
    ///
    /// This is [`poll_event`](Self::poll_event), [`poll_transmit`](Self::poll_transmit) and
    /// [`poll_timeout`](Self::poll_timeout) in the only order that is safe: events first, so that
    /// datagrams carry what the application writes in answer to them; the timer last, because a
    /// datagram that the rate control holds back sets it.
    ///
    /// `buf` is cleared first; it holds a datagram after [`Output::Transmit`] and nothing otherwise.
    /// The session decides at this moment what to send, so call only when the carrier can take a
    /// datagram. A driver that must take events while its carrier is blocked calls `poll_event`.
    ///
    /// # Examples
    ///
    /// One turn of a driver, for a carrier that always takes a datagram:
    ///
    /// ```
    /// use weftline_proto::{Event, Output, Session, Time};
    ///
    /// fn turn(
    ///     session: &mut Session,
    ///     now: Time,
    ///     mut send: impl FnMut(&[u8]),
    ///     mut application: impl FnMut(&mut Session, Event),
    /// ) -> Option<Time> {
    ///     if session.poll_timeout().is_some_and(|due| due <= now) {
    ///         session.handle_timeout(now);
    ///     }
    ///     let mut datagram = Vec::new();
    ///     loop {
    ///         match session.poll_output(now, &mut datagram) {
    ///             Output::Transmit => send(&datagram),
    ///             Output::Event(event) => application(session, event),
    ///             Output::Timeout(next) => return next,
    ///         }
    ///     }
    /// }
    /// ```
    pub fn poll_output(&mut self, now: Time, buf: &mut Vec<u8>) -> Output {
        buf.clear();
        if let Some(event) = self.poll_event() {
            Output::Event(event)
        } else if self.poll_transmit(now, buf) {
            Output::Transmit
        } else {
            Output::Timeout(self.poll_timeout())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, RateControl, Role};

    fn session(role: Role, rate: RateControl) -> Session {
        let config = Config {
            rate,
            ..Config::default()
        };
        Session::new(role, config, 1, Time::ZERO).expect("the configuration is possible")
    }

    /// Everything until the timer, with the datagrams.
    fn drain(session: &mut Session, now: Time) -> (Vec<Output>, Vec<Vec<u8>>) {
        let (mut outputs, mut datagrams, mut buf) = (Vec::new(), Vec::new(), vec![7; 9]);
        loop {
            let output = session.poll_output(now, &mut buf);
            match &output {
                Output::Transmit => datagrams.push(buf.clone()),
                _ => assert!(buf.is_empty(), "{output:?} leaves bytes to send"),
            }
            outputs.push(output);
            if let Some(Output::Timeout(_)) = outputs.last() {
                return (outputs, datagrams);
            }
        }
    }

    #[test]
    fn events_come_before_datagrams_and_the_timer_comes_last() {
        let mut client = session(Role::Client, RateControl::Carrier);
        let mut server = session(Role::Server, RateControl::Carrier);
        let stream = client.open_stream().unwrap();
        client.write(stream, b"hello").unwrap();
        let (outputs, datagrams) = drain(&mut client, Time::ZERO);
        assert!(datagrams.len() >= 2, "HELLO and the stream: {outputs:?}");
        for datagram in &datagrams {
            server.handle_datagram(Time::ZERO, datagram);
        }
        let (outputs, _) = drain(&mut server, Time::ZERO);
        let rank = |output: &Output| match output {
            Output::Event(_) => 0,
            Output::Transmit => 1,
            Output::Timeout(_) => 2,
        };
        assert!(outputs.is_sorted_by_key(rank), "{outputs:?}");
        assert!(outputs.contains(&Output::Event(Event::StreamOpened)));
        assert_eq!(
            outputs.last(),
            Some(&Output::Timeout(server.poll_timeout()))
        );
    }

    #[test]
    fn the_timer_is_that_of_a_datagram_held_back_by_the_rate() {
        let rate = RateControl::Fixed {
            rate: Some(1_000_000),
            window: None,
        };
        let mut client = session(Role::Client, rate);
        let stream = client.open_stream().unwrap();
        client.write(stream, &[0; 100_000]).unwrap();
        // Asked before the datagrams, the timer does not know that one will be held back.
        let too_early = client.poll_timeout();
        let (outputs, datagrams) = drain(&mut client, Time::ZERO);
        let Some(Output::Timeout(Some(next))) = outputs.last() else {
            panic!("{outputs:?}");
        };
        assert!(too_early.is_none_or(|early| *next < early), "{too_early:?}");
        assert!(!datagrams.is_empty());
        client.handle_timeout(*next);
        assert!(client.poll_output(*next, &mut Vec::new()) == Output::Transmit);
    }

    #[test]
    fn a_session_that_is_over_ends_the_loop() {
        let mut client = session(Role::Client, RateControl::Carrier);
        client.close(Time::ZERO, 0, "");
        let mut now = Time::ZERO;
        for _ in 0..10 {
            let (outputs, _) = drain(&mut client, now);
            match outputs.last() {
                Some(Output::Timeout(Some(next))) => now = *next,
                _ => return assert!(client.is_drained()),
            }
            client.handle_timeout(now);
        }
        panic!("the session never ends");
    }
}
