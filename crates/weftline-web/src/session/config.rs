//! Options of a session that its text does not have.

use wasm_bindgen::prelude::*;
use weftline_proto::Config;

use super::duration;
use crate::whole::{small, whole};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Options of a `Session`. The text of its configuration has the others. */
export interface SessionOptions {
    /** When the session begins, in milliseconds; 0 unless given. */
    now?: number;
    /** Equal seeds and equal calls give equal datagrams. It is not a secret. Random unless given. */
    seed?: number;
    /** Deliver messages even if their deadline has passed; false unless given. */
    deliverLate?: boolean;
    /** Send a probe when nothing was sent for this many milliseconds; 0: none; 10,000 unless given. */
    keepAlive?: number;
    /** Bytes that the carrier, UDP and IP add to each datagram; 64 unless given. */
    datagramOverhead?: number;
    /** The longest message that this end accepts, in bytes; 1 MiB unless given. */
    messageSize?: number;
    /** Bytes of messages that are incomplete or that were not received; 8 MiB unless given. */
    messageData?: number;
    /** Streams that the peer may have open at once; 256 unless given. */
    streams?: number;
}
"#;

#[wasm_bindgen]
extern "C" {
    /// Options of a [`Session`](super::Session).
    #[wasm_bindgen(typescript_type = "SessionOptions")]
    pub type SessionOptions;
    #[wasm_bindgen(method, getter, structural)]
    pub(super) fn now(this: &SessionOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, structural)]
    pub(super) fn seed(this: &SessionOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, structural, js_name = deliverLate)]
    fn deliver_late(this: &SessionOptions) -> Option<bool>;
    #[wasm_bindgen(method, getter, structural, js_name = keepAlive)]
    fn keep_alive(this: &SessionOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, structural, js_name = datagramOverhead)]
    fn datagram_overhead(this: &SessionOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, structural, js_name = messageSize)]
    fn message_size(this: &SessionOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, structural, js_name = messageData)]
    fn message_data(this: &SessionOptions) -> Option<f64>;
    #[wasm_bindgen(method, getter, structural)]
    fn streams(this: &SessionOptions) -> Option<f64>;
}

impl SessionOptions {
    /// Puts what is given into the configuration.
    pub(super) fn apply(&self, config: &mut Config) -> Result<(), JsValue> {
        if let Some(late) = self.deliver_late() {
            config.deliver_late_messages = late;
        }
        if let Some(millis) = self.keep_alive() {
            let interval = duration(millis, "keepAlive")?;
            config.keep_alive = (!interval.is_zero()).then_some(interval);
        }
        if let Some(bytes) = self.datagram_overhead() {
            config.datagram_overhead = small(bytes, "datagramOverhead")?;
        }
        let limits = &mut config.limits;
        if let Some(bytes) = self.message_size() {
            limits.message_size = small(bytes, "messageSize")?;
        }
        if let Some(bytes) = self.message_data() {
            limits.message_data = whole(bytes, "messageData")?;
        }
        if let Some(count) = self.streams() {
            limits.streams = small(count, "streams")?;
        }
        Ok(())
    }
}
