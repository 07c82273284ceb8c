//! The sans-IO session.

mod config;
mod events;
mod messages;
mod stats;
mod streams;

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use weftline_proto as proto;
use weftline_proto::{Role, Time};

use crate::bytes::Input;
use crate::objects::argument;
use crate::whole::{small, whole};

pub use config::*;

#[wasm_bindgen(raw_module = "./objects.js")]
extern "C" {
    #[wasm_bindgen(js_name = randomSeed)]
    fn random_seed() -> u64;
}

/// The shortest datagram that `setLargestDatagram` accepts, in bytes.
#[wasm_bindgen(js_name = minDatagram)]
pub fn min_datagram() -> usize {
    proto::MIN_DATAGRAM
}

/// One end of a session. It has no socket, no clock and no timer: its driver gives it datagrams and the time.
///
/// After any call that changes the session, take all events with `pollEvent`, send what `pollTransmit` gives until
/// it gives nothing, and set a timer to `pollTimeout`, at which `handleTimeout` is due.
///
/// All times are milliseconds, with a fraction, since a zero that the caller chooses (`performance.now()` is fine).
/// A time before one that was given earlier counts as that earlier one. The session encrypts nothing and
/// authenticates nobody: run it inside a secure channel.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Session {
    session: proto::Session,
    /// The newest time given: time must never go backwards.
    now: Time,
    datagram: Vec<u8>,
    input: Input,
    /// For reading streams.
    buffer: Vec<u8>,
}

#[wasm_bindgen]
impl Session {
    /// A session. `config` is a preset and its options as text, `auto` or `streaming,l=5`
    /// (docs/reference/presets.md). One end of a session is the client and the other is the server.
    #[wasm_bindgen(constructor)]
    pub fn new(
        config: &str,
        #[wasm_bindgen(unchecked_param_type = "\"client\" | \"server\"")] role: &str,
        options: Option<SessionOptions>,
    ) -> Result<Session, JsValue> {
        let role = match role {
            "client" => Role::Client,
            "server" => Role::Server,
            _ => return Err(argument("the role of a session is client or server")),
        };
        let mut config: proto::Config = config.parse().map_err(argument)?;
        let (mut now, mut seed) = (Time::ZERO, None);
        if let Some(options) = options {
            options.apply(&mut config)?;
            now = options.now().map_or(now, time);
            seed = options.seed();
        }
        let seed = match seed {
            Some(seed) => whole(seed, "seed")?,
            None => random_seed(),
        };
        let session = proto::Session::new(role, config, seed, now).map_err(argument)?;
        Ok(Session {
            session,
            now,
            datagram: Vec::new(),
            input: Input::default(),
            buffer: Vec::new(),
        })
    }

    /// Takes a datagram that arrived. It may hold anything: the session drops an invalid one, and ends if the peer
    /// breaks the protocol.
    #[wasm_bindgen(js_name = handleDatagram)]
    pub fn handle_datagram(
        &mut self,
        now: f64,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] datagram: &JsValue,
    ) -> Result<(), JsValue> {
        let now = self.at(now);
        let datagram = self.input.read(datagram)?;
        self.session.handle_datagram(now, datagram);
        Ok(())
    }

    /// The next datagram to send; `undefined` when there is none now. The session decides at this moment what to
    /// send, so ask only when the datagram can leave.
    #[wasm_bindgen(js_name = pollTransmit)]
    pub fn poll_transmit(&mut self, now: f64) -> Option<Uint8Array> {
        let now = self.at(now);
        let wrote = self.session.poll_transmit(now, &mut self.datagram);
        wrote.then(|| Uint8Array::from(&self.datagram[..]))
    }

    /// When `handleTimeout` is due; `undefined` when the session is over and can be freed. The time is right only
    /// after the session has no datagram left to send.
    #[wasm_bindgen(js_name = pollTimeout)]
    pub fn poll_timeout(&self) -> Option<f64> {
        self.session.poll_timeout().map(millis)
    }

    /// Tells the session that the time of `pollTimeout` has come. An earlier call is harmless.
    #[wasm_bindgen(js_name = handleTimeout)]
    pub fn handle_timeout(&mut self, now: f64) {
        let now = self.at(now);
        self.session.handle_timeout(now);
    }

    /// The next event; `undefined` when there is none now.
    #[wasm_bindgen(js_name = pollEvent, unchecked_return_type = "SessionEvent | undefined")]
    pub fn poll_event(&mut self) -> JsValue {
        let event = self.session.poll_event();
        event.map_or(JsValue::UNDEFINED, events::object)
    }

    /// Whether something of the application's waits to be sent, or the session is over. When a call of the
    /// application's leaves this false, no datagram and no timer has changed: take the events only.
    #[wasm_bindgen(getter, js_name = wantsToSend)]
    pub fn wants_to_send(&self) -> bool {
        self.session.wants_to_send()
    }

    /// Whether the peer has everything that was written, finished or sent.
    #[wasm_bindgen(getter, js_name = allAcknowledged)]
    pub fn all_acknowledged(&self) -> bool {
        self.session.all_acknowledged()
    }

    /// The path now takes datagrams of at most `bytes` bytes, `minDatagram()` or more. New symbols are made to fit.
    /// Without this call the session sends datagrams as long as its configuration allows.
    #[wasm_bindgen(js_name = setLargestDatagram)]
    pub fn set_largest_datagram(&mut self, bytes: f64) -> Result<(), JsValue> {
        let bytes = small(bytes, "the largest datagram")?;
        self.session.set_largest_datagram(bytes).map_err(argument)
    }

    /// How many congestion marks (ECN) the peer has received since the session began, as the carrier knows.
    #[wasm_bindgen(js_name = setCongestionMarks)]
    pub fn set_congestion_marks(&mut self, count: f64) -> Result<(), JsValue> {
        let count = whole(count, "the number of marks")?;
        self.session.set_congestion_marks(count);
        Ok(())
    }

    /// Ends the session at once, for the peer too; `code` 0 says that all went well. Continue to drive the session
    /// until it has no timeout, so that the peer learns of it. To be sure that the peer has everything, wait for
    /// `allAcknowledged` first.
    pub fn close(&mut self, now: f64, code: f64, reason: &str) -> Result<(), JsValue> {
        let code = whole(code, "the code")?;
        let now = self.at(now);
        self.session.close(now, code, reason);
        Ok(())
    }

    /// Why the session is over; `undefined` while it is not.
    #[wasm_bindgen(getter, js_name = closeReason, unchecked_return_type = "CloseReason | undefined")]
    pub fn close_reason(&self) -> JsValue {
        let reason = self.session.close_reason();
        reason.map_or(JsValue::UNDEFINED, events::reason)
    }

    /// Bytes that this end holds for the peer now.
    #[wasm_bindgen(getter)]
    pub fn held(&self) -> f64 {
        self.session.held() as f64
    }

    /// Bytes that the peer can make this end hold at most.
    #[wasm_bindgen(getter)]
    pub fn memory(&self) -> f64 {
        self.session.memory() as f64
    }

    /// The time to use: the one given, or the newest one.
    fn at(&mut self, now: f64) -> Time {
        self.now = self.now.max(time(now));
        self.now
    }
}

/// Milliseconds of JavaScript. What is no time counts as the beginning.
fn time(millis: f64) -> Time {
    match millis > 0.0 {
        // Rounded, so that a time of `pollTimeout` comes back as it was.
        true => Time::from_micros((millis * 1000.0).round().min(9e15) as u64),
        false => Time::ZERO,
    }
}

fn millis(time: Time) -> f64 {
    time.as_micros() as f64 / 1000.0
}

/// A duration of JavaScript.
fn duration(millis: f64, what: &str) -> Result<std::time::Duration, JsValue> {
    match (0.0..=9e12).contains(&millis) {
        true => Ok(std::time::Duration::from_micros(
            (millis * 1000.0).round() as u64
        )),
        false => Err(argument(format_args!(
            "{what} is {millis}: give milliseconds, 0 or more"
        ))),
    }
}
