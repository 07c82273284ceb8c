//! What becomes of messages that were sent.

use std::collections::VecDeque;

use core::time::Duration;
use weftline_codec::Esi;

use crate::abandoned::{Abandoned, Outcome};
use crate::event::{Event, MessageId};
use crate::spare::free_spare;
use crate::time::Time;

/// Messages that are sent whole and of which the application has not been told.
///
/// Memory: one entry for each message that ends in the encoding window or was given up within
/// the last retransmission timeout. A message takes at least five bytes of a symbol.
#[derive(Debug, Default)]
pub(super) struct Fates {
    /// The last symbol of each, in order: these are never given up.
    reliable: VecDeque<(Esi, MessageId)>,
    /// In order of their symbols.
    perishable: VecDeque<Sent>,
    /// The edge has passed them, and reports have not told of all their symbols.
    doubtful: VecDeque<Doubtful>,
    /// [`Abandoned::changes`] when the doubtful ones were last looked at.
    seen: u64,
}

/// A message with a deadline; it is in consecutive symbols.
#[derive(Clone, Copy, Debug)]
struct Sent {
    id: MessageId,
    first: Esi,
    last: Esi,
}

#[derive(Clone, Copy, Debug)]
struct Doubtful {
    sent: Sent,
    /// Without news it counts as expired from then on.
    until: Time,
}

impl Fates {
    /// The last bytes of a message without a deadline are in symbol `last`.
    pub(super) fn sent_reliable(&mut self, id: MessageId, last: Esi) {
        self.reliable.push_back((last, id));
    }

    /// A message with a deadline is in symbols `first` to `last`.
    pub(super) fn sent_perishable(&mut self, id: MessageId, first: Esi, last: Esi) {
        self.perishable.push_back(Sent { id, first, last });
    }

    /// Frees the memory kept for further messages.
    pub(super) fn release(&mut self) {
        free_spare(&mut self.reliable);
        free_spare(&mut self.perishable);
        free_spare(&mut self.doubtful);
    }

    /// When [`Self::update`] wants to be called.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        self.doubtful.front().map(|d| d.until)
    }

    /// The peer has all symbols below `edge` but those `abandoned`; news of these may take as
    /// long as `patience`.
    pub(super) fn update(
        &mut self,
        now: Time,
        edge: Esi,
        abandoned: &mut Abandoned,
        patience: Duration,
        events: &mut VecDeque<Event>,
    ) {
        while let Some(&(last, id)) = self.reliable.front()
            && last < edge
        {
            self.reliable.pop_front();
            events.push_back(Event::MessageDelivered(id));
        }
        // Datagrams and timers are many, and most tell nothing of what was given up.
        let is_due = self.next_timeout().is_some_and(|until| until <= now);
        if is_due || self.seen != abandoned.changes() {
            self.seen = abandoned.changes();
            self.retain_doubtful(now, abandoned, events);
        }
        while let Some(&sent) = self.perishable.front()
            && sent.last < edge
        {
            self.perishable.pop_front();
            let outcome = abandoned.outcome(sent.first..=sent.last);
            if tell(sent.id, outcome, events) {
                let until = now + patience;
                self.doubtful.push_back(Doubtful { sent, until });
            }
        }
        let doubtful = self.doubtful.front().map(|d| d.sent.first);
        let next = self.perishable.front().map(|sent| sent.first);
        let needed = doubtful.into_iter().chain(next).fold(edge, Esi::min);
        abandoned.discard_before(needed);
    }

    fn retain_doubtful(&mut self, now: Time, abandoned: &Abandoned, events: &mut VecDeque<Event>) {
        self.doubtful.retain(|doubtful| {
            let outcome = abandoned.outcome(doubtful.sent.first..=doubtful.sent.last);
            let late = outcome == Outcome::Pending && doubtful.until <= now;
            let outcome = if late { Outcome::Lost } else { outcome };
            tell(doubtful.sent.id, outcome, events)
        });
    }
}

/// Tells the application what became of a message; true: that is not known yet.
fn tell(id: MessageId, outcome: Outcome, events: &mut VecDeque<Event>) -> bool {
    events.push_back(match outcome {
        Outcome::Arrived => Event::MessageDelivered(id),
        Outcome::Lost => Event::MessageExpired(id),
        Outcome::Pending => return true,
    });
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(100);

    /// The events of an update at this many milliseconds.
    fn update(fates: &mut Fates, ms: u64, edge: Esi, abandoned: &mut Abandoned) -> Vec<Event> {
        let (now, mut events) = (Time::from_micros(ms * 1000), VecDeque::new());
        fates.update(now, edge, abandoned, PATIENCE, &mut events);
        events.into()
    }

    #[test]
    fn a_message_is_delivered_when_the_edge_has_passed_its_last_symbol() {
        let (mut fates, mut abandoned) = (Fates::default(), Abandoned::default());
        fates.sent_reliable(MessageId(1), 3);
        fates.sent_perishable(MessageId(2), 3, 4);
        assert_eq!(update(&mut fates, 0, 3, &mut abandoned), []);
        let delivered = |id| Event::MessageDelivered(MessageId(id));
        assert_eq!(update(&mut fates, 0, 4, &mut abandoned), [delivered(1)]);
        assert_eq!(update(&mut fates, 0, 5, &mut abandoned), [delivered(2)]);
    }

    #[test]
    fn what_was_given_up_waits_for_news_but_not_for_ever() {
        let (mut fates, mut abandoned) = (Fates::default(), Abandoned::default());
        for id in 0..3 {
            fates.sent_perishable(MessageId(id), id, id);
            abandoned.add(id, 10 + id, Outcome::Pending);
        }
        assert_eq!(update(&mut fates, 0, 3, &mut abandoned), []);
        abandoned.on_fate(1, 11, false);
        abandoned.on_fate(2, 12, true);
        let (delivered, expired) = (
            Event::MessageDelivered(MessageId(1)),
            Event::MessageExpired(MessageId(2)),
        );
        let events = update(&mut fates, 1, 3, &mut abandoned);
        assert_eq!(events, [delivered, expired]);
        assert_eq!(fates.next_timeout(), Some(Time::ZERO + PATIENCE));
        assert_eq!(update(&mut fates, 99, 3, &mut abandoned), []);
        let expired = Event::MessageExpired(MessageId(0));
        assert_eq!(update(&mut fates, 100, 3, &mut abandoned), [expired]);
        assert_eq!(fates.next_timeout(), None);
    }
}
