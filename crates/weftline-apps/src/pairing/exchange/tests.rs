use std::time::Instant;

use super::*;

const CODE: &str = "7-amber-river";
const OTHER: &str = "7-amber-ribbon";

fn code(text: &str) -> Code {
    text.parse().unwrap()
}

fn peer(number: u8) -> Fingerprint {
    Fingerprint::from([number; 20])
}

fn name(text: &str) -> Option<Name> {
    Some(text.parse().unwrap())
}

/// The TLS session of these two.
fn binding(sender: u8, receiver: u8) -> Binding {
    Binding {
        sender: peer(sender),
        receiver: peer(receiver),
        exported: [sender ^ (receiver << 4); 32],
    }
}

/// A receiver with an open code.
struct Receiver {
    codes: Codes,
    now: Instant,
    exchange: Receiving,
}

impl Receiver {
    fn new(binding: Binding) -> Self {
        let (mut codes, now) = (Codes::new(), Instant::now());
        assert!(codes.open(code(CODE), now));
        let exchange = Receiving::new(binding, name("inbox"));
        Receiver {
            codes,
            now,
            exchange,
        }
    }

    /// The next peer comes.
    fn again(&mut self, binding: Binding) {
        self.exchange = Receiving::new(binding, name("inbox"));
    }

    fn handle(&mut self, message: Message) -> Result<ReceiverNext, Failed> {
        self.exchange.handle(message, &mut self.codes, self.now)
    }

    fn answer(&mut self, message: Message) -> Message {
        match self.handle(message) {
            Ok(ReceiverNext::Send(message)) => message,
            other => panic!("{other:?}"),
        }
    }
}

fn send(sender: &mut Sending, message: Message) -> Message {
    match sender.handle(message) {
        Ok(SenderNext::Send(message)) => message,
        other => panic!("{other:?}"),
    }
}

/// A sender's whole exchange; what the receiver says to its proof.
fn attempt(receiver: &mut Receiver, with: &str, binding: Binding) -> Result<ReceiverNext, Failed> {
    let (mut sender, begin) = Sending::new(&code(with), binding, None);
    let answer = receiver.answer(begin);
    receiver.handle(send(&mut sender, answer))
}

#[test]
fn a_sender_with_the_code_is_paired_and_both_learn_the_names() {
    let binding = binding(1, 2);
    let mut receiver = Receiver::new(binding);
    let (mut sender, begin) = Sending::new(&code(CODE), binding, name("laptop"));
    let answer = receiver.answer(begin);
    let proof = send(&mut sender, answer);
    let Ok(ReceiverNext::Paired(paired)) = receiver.handle(proof) else {
        panic!("the code is right");
    };
    let Ok(SenderNext::Paired(named, theirs)) = sender.handle(paired) else {
        panic!("the code is right");
    };
    assert_eq!(theirs, name("inbox"));
    let last = receiver.handle(named);
    assert_eq!(last, Ok(ReceiverNext::Named(name("laptop"))));
    assert_eq!(receiver.codes.code(), None);
}

#[test]
fn a_wrong_code_gets_one_bit_and_the_third_ends_the_code() {
    let binding = binding(1, 2);
    let mut receiver = Receiver::new(binding);
    for left in [true, true, false] {
        receiver.again(binding);
        let next = attempt(&mut receiver, OTHER, binding);
        assert_eq!(next, Ok(ReceiverNext::Wrong(Message::Wrong)));
        assert_eq!(receiver.codes.code().is_some(), left);
    }
    // Now the right one does not help either, and is told the same.
    receiver.again(binding);
    let (_, begin) = Sending::new(&code(CODE), binding, None);
    assert_eq!(
        receiver.handle(begin),
        Ok(ReceiverNext::Wrong(Message::Wrong))
    );
    let (mut sender, _) = Sending::new(&code(OTHER), binding, None);
    assert_eq!(sender.handle(Message::Wrong), Err(Failed::WrongCode));
}

#[test]
fn a_right_code_that_was_begun_before_the_third_wrong_try_comes_too_late() {
    let binding = binding(1, 2);
    let mut receiver = Receiver::new(binding);
    let (mut sender, begin) = Sending::new(&code(CODE), binding, None);
    let answer = receiver.answer(begin);
    let proof = send(&mut sender, answer);
    let waiting = std::mem::replace(&mut receiver.exchange, Receiving::new(binding, None));
    for _ in 0..3 {
        receiver.again(binding);
        assert!(attempt(&mut receiver, OTHER, binding).is_ok());
    }
    receiver.exchange = waiting;
    assert_eq!(
        receiver.handle(proof),
        Ok(ReceiverNext::Wrong(Message::Wrong))
    );
}

/// It passes on every message between two TLS sessions of its own.
#[test]
fn a_man_in_the_middle_who_passes_messages_on_is_not_paired_with_anybody() {
    let (left, right) = (binding(1, 9), binding(9, 2));
    let mut receiver = Receiver::new(right);
    let (mut sender, begin) = Sending::new(&code(CODE), left, None);
    let answer = receiver.answer(begin);
    let proof = send(&mut sender, answer);
    assert_eq!(
        receiver.handle(proof),
        Ok(ReceiverNext::Wrong(Message::Wrong))
    );
    assert!(receiver.codes.code().is_some());
}

/// Each part of the binding counts by itself.
#[test]
fn the_proofs_hold_in_one_tls_session_only() {
    let own = binding(1, 2);
    let exported = Binding {
        exported: [0xff; 32],
        ..own
    };
    let sender = Binding {
        sender: peer(9),
        ..own
    };
    let receiver = Binding {
        receiver: peer(9),
        ..own
    };
    for other in [exported, sender, receiver] {
        let mut receiver = Receiver::new(own);
        let next = attempt(&mut receiver, CODE, other);
        assert_eq!(next, Ok(ReceiverNext::Wrong(Message::Wrong)));
    }
    let mut receiver = Receiver::new(own);
    let next = attempt(&mut receiver, CODE, own);
    assert!(matches!(next, Ok(ReceiverNext::Paired(_))));
}

#[test]
fn a_recorded_exchange_is_worth_nothing_later() {
    let binding = binding(1, 2);
    let mut receiver = Receiver::new(binding);
    let (mut sender, begin) = Sending::new(&code(CODE), binding, None);
    let answer = receiver.answer(begin.clone());
    let proof = send(&mut sender, answer);
    assert!(matches!(
        receiver.handle(proof.clone()),
        Ok(ReceiverNext::Paired(_))
    ));
    // Even with the same code, keys and exported bytes: the receiver's SPAKE2 message is another.
    assert!(receiver.codes.open(code(CODE), receiver.now));
    receiver.again(binding);
    receiver.answer(begin);
    assert_eq!(
        receiver.handle(proof),
        Ok(ReceiverNext::Wrong(Message::Wrong))
    );
}

#[test]
fn what_an_end_has_said_proves_nothing_to_it() {
    let binding = binding(1, 2);
    let (mut sender, begin) = Sending::new(&code(CODE), binding, None);
    let Message::Begin(point) = begin else {
        panic!("the first message");
    };
    // Its own SPAKE2 message is marked as the sender's.
    assert_eq!(
        sender.handle(Message::Answer(point)),
        Err(Failed::Malformed)
    );
    let mut receiver = Receiver::new(binding);
    let (mut sender, begin) = Sending::new(&code(CODE), binding, None);
    let answer = receiver.answer(begin);
    let Message::Proof(proof) = send(&mut sender, answer) else {
        panic!("the sender's proof");
    };
    let reflected = Message::Paired(proof, None);
    assert_eq!(sender.handle(reflected), Err(Failed::Impostor));
}

#[test]
fn a_host_that_only_claims_to_have_the_code_is_no_receiver() {
    let binding = binding(1, 2);
    let mut guesser = Receiver::new(binding);
    let (mut sender, begin) = Sending::new(&code(OTHER), binding, name("laptop"));
    let answer = guesser.answer(begin);
    send(&mut sender, answer);
    let claim = sender.handle(Message::Paired([0; MAC], None));
    assert_eq!(claim, Err(Failed::Impostor));
}

#[test]
fn messages_out_of_turn_and_points_off_the_curve_end_the_exchange_and_cost_no_try() {
    let binding = binding(1, 2);
    let out_of_turn = [
        Message::Answer([0x42; POINT]),
        Message::Proof([0; MAC]),
        Message::Paired([0; MAC], None),
        Message::Named(None),
        Message::Wrong,
    ];
    let mut receiver = Receiver::new(binding);
    for message in out_of_turn {
        receiver.again(binding);
        let first = receiver.handle(message);
        assert_eq!(first, Err(Failed::Malformed));
    }
    for last in 0..=255 {
        let mut point = [last; POINT];
        point[0] = 0x41;
        receiver.again(binding);
        let next = receiver.handle(Message::Begin(point));
        let refused = next == Err(Failed::Malformed);
        assert!(refused || matches!(next, Ok(ReceiverNext::Send(_))));
    }
    // An exchange that has ended stays so.
    receiver.again(binding);
    let (_, begin) = Sending::new(&code(CODE), binding, None);
    assert!(receiver.handle(Message::Wrong).is_err());
    assert_eq!(receiver.handle(begin), Err(Failed::Malformed));
    assert!(receiver.codes.code().is_some());
}
