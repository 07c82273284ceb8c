//! The exchange of both ends, without a network: messages in, messages out.
//!
//! SPAKE2 (RFC 9382, section 3, in the form of magic-wormhole: over Ed25519 with SHA-256) makes a key of
//! the code. An end that does not know the code gets another key, and learns from a whole exchange only whether
//! one guess was right. Proofs of the key bind it to the TLS session that carries the exchange.

use aws_lc_rs::hmac;
use spake2::{Ed25519Group, Identity, Password, Spake2};
use weftline::Fingerprint;

use super::code::Code;
use super::codes::{Codes, Ticket, Verdict};
use super::name::Name;
use super::wire::{MAC, Malformed, Message, POINT};

/// The TLS session that carries an exchange, as one end sees it.
#[derive(Clone, Copy)]
pub(super) struct Binding {
    pub(super) sender: Fingerprint,
    pub(super) receiver: Fingerprint,
    /// Keying material that only the two ends of the TLS session have.
    pub(super) exported: [u8; 32],
}

/// An exchange ended without a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// The sender does not know the code.
    WrongCode,
    /// The receiver does not know it, or is not the other end of this TLS session.
    Impostor,
    /// The other end does not keep to the protocol.
    Malformed,
}

impl From<Malformed> for Failed {
    fn from(_: Malformed) -> Self {
        Failed::Malformed
    }
}

/// What is known when both SPAKE2 messages are.
struct Agreed {
    /// SPAKE2's result.
    secret: Vec<u8>,
    transcript: Vec<u8>,
}

/// Who proves that it has the key.
#[derive(Clone, Copy)]
enum Whose {
    Sender,
    Receiver,
}

impl Agreed {
    /// `own` made its SPAKE2 message; `begin` and `answer` are the sender's and the receiver's.
    fn new(
        own: Spake2<Ed25519Group>,
        theirs: [u8; POINT],
        messages: [[u8; POINT]; 2],
        binding: &Binding,
    ) -> Result<Self, Failed> {
        let secret = own.finish(&theirs).map_err(|_| Failed::Malformed)?;
        let transcript = [
            &binding.exported[..],
            binding.sender.as_bytes(),
            binding.receiver.as_bytes(),
            &messages[0],
            &messages[1],
        ];
        Ok(Agreed {
            secret,
            transcript: transcript.concat(),
        })
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.secret)
    }

    fn text(&self, whose: Whose) -> Vec<u8> {
        let label: &[u8] = match whose {
            Whose::Sender => b"weftline pairing 1: sender\0",
            Whose::Receiver => b"weftline pairing 1: receiver\0",
        };
        [label, &self.transcript].concat()
    }

    fn proof(&self, whose: Whose) -> [u8; MAC] {
        let mut proof = [0; MAC];
        proof.copy_from_slice(hmac::sign(&self.key(), &self.text(whose)).as_ref());
        proof
    }

    /// In a time that does not depend on where a wrong proof differs.
    fn is_proof(&self, whose: Whose, proof: &[u8; MAC]) -> bool {
        hmac::verify(&self.key(), &self.text(whose), proof).is_ok()
    }
}

fn identities(binding: &Binding) -> [Identity; 2] {
    [binding.sender, binding.receiver].map(|peer| Identity::new(peer.as_bytes()))
}

/// What `Spake2::start_*` made, in the length that it always has.
fn point(message: Vec<u8>) -> [u8; POINT] {
    message.try_into().expect("SPAKE2 messages have 33 bytes")
}

/// The end that was told the code.
pub(super) struct Sending {
    binding: Binding,
    name: Option<Name>,
    step: SenderStep,
}

enum SenderStep {
    Begun(Spake2<Ed25519Group>, [u8; POINT]),
    Proved(Agreed),
    Over,
}

/// What the sender does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SenderNext {
    Send(Message),
    /// Send this; the receiver is the one with the code, and gives itself that name.
    Paired(Message, Option<Name>),
}

impl Sending {
    /// Begins; the message is the first one.
    pub(super) fn new(code: &Code, binding: Binding, name: Option<Name>) -> (Self, Message) {
        let [a, b] = identities(&binding);
        let password = Password::new(code.to_string());
        let (spake, message) = Spake2::<Ed25519Group>::start_a(&password, &a, &b);
        let begin = point(message);
        let step = SenderStep::Begun(spake, begin);
        let sending = Sending {
            binding,
            name,
            step,
        };
        (sending, Message::Begin(begin))
    }

    pub(super) fn handle(&mut self, message: Message) -> Result<SenderNext, Failed> {
        match (std::mem::replace(&mut self.step, SenderStep::Over), message) {
            (SenderStep::Begun(spake, begin), Message::Answer(answer)) => {
                let agreed = Agreed::new(spake, answer, [begin, answer], &self.binding)?;
                let proof = agreed.proof(Whose::Sender);
                self.step = SenderStep::Proved(agreed);
                Ok(SenderNext::Send(Message::Proof(proof)))
            }
            (SenderStep::Proved(agreed), Message::Paired(proof, theirs)) => {
                match agreed.is_proof(Whose::Receiver, &proof) {
                    true => Ok(SenderNext::Paired(Message::Named(self.name.take()), theirs)),
                    false => Err(Failed::Impostor),
                }
            }
            (SenderStep::Begun(..) | SenderStep::Proved(_), Message::Wrong) => {
                Err(Failed::WrongCode)
            }
            _ => Err(Failed::Malformed),
        }
    }
}

/// The end that shows the code.
pub(super) struct Receiving {
    binding: Binding,
    name: Option<Name>,
    step: ReceiverStep,
}

enum ReceiverStep {
    Waiting,
    Answered(Agreed, Ticket),
    Paired,
    Over,
}

/// What the receiver does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReceiverNext {
    Send(Message),
    /// The sender knows the code: let it in, then send this.
    Paired(Message),
    /// Send this, and end with [`Failed::WrongCode`].
    Wrong(Message),
    /// The sender gives itself this name.
    Named(Option<Name>),
}

impl Receiving {
    pub(super) fn new(binding: Binding, name: Option<Name>) -> Self {
        let step = ReceiverStep::Waiting;
        Receiving {
            binding,
            name,
            step,
        }
    }

    /// Handles a message; `codes` knows the open code, and counts.
    pub(super) fn handle(
        &mut self,
        message: Message,
        codes: &mut Codes,
        now: std::time::Instant,
    ) -> Result<ReceiverNext, Failed> {
        match (
            std::mem::replace(&mut self.step, ReceiverStep::Over),
            message,
        ) {
            (ReceiverStep::Waiting, Message::Begin(begin)) => {
                let Some((code, ticket)) = codes.ticket() else {
                    return Ok(ReceiverNext::Wrong(Message::Wrong));
                };
                let [a, b] = identities(&self.binding);
                let password = Password::new(code.to_string());
                let (spake, message) = Spake2::<Ed25519Group>::start_b(&password, &a, &b);
                let answer = point(message);
                let agreed = Agreed::new(spake, begin, [begin, answer], &self.binding)?;
                self.step = ReceiverStep::Answered(agreed, ticket);
                Ok(ReceiverNext::Send(Message::Answer(answer)))
            }
            (ReceiverStep::Answered(agreed, ticket), Message::Proof(proof)) => {
                let is_right = || agreed.is_proof(Whose::Sender, &proof);
                Ok(match codes.judge(ticket, is_right, now) {
                    Verdict::Right => {
                        let proof = agreed.proof(Whose::Receiver);
                        self.step = ReceiverStep::Paired;
                        ReceiverNext::Paired(Message::Paired(proof, self.name.take()))
                    }
                    Verdict::Wrong => ReceiverNext::Wrong(Message::Wrong),
                })
            }
            (ReceiverStep::Paired, Message::Named(name)) => Ok(ReceiverNext::Named(name)),
            _ => Err(Failed::Malformed),
        }
    }
}

#[cfg(test)]
mod tests;
