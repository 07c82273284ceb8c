//! Messages of a session.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use weftline_proto::{MessageId, SendMessageError};

use super::{Session, duration};
use crate::bytes::array;
use crate::objects::{argument, error};
use crate::whole::small;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** A message that arrived. */
export interface Message {
    /** The peer's number for it. */
    id: number;
    data: Uint8Array;
    /** Its deadline had passed when it was complete. */
    late: boolean;
}
"#;

#[wasm_bindgen(raw_module = "./objects.js")]
extern "C" {
    fn message(id: f64, data: Uint8Array, late: bool) -> JsValue;
}

#[wasm_bindgen]
impl Session {
    /// Sends a message. The peer gets it whole, in no particular order. With a `deadline`, in milliseconds from now,
    /// it is worth nothing to the peer later, and the session spends nothing more on it then. Returns the number of
    /// the message, of which an event tells later whether it was delivered or has expired; `undefined` while there
    /// is no room: `messageWritable` follows.
    #[wasm_bindgen(js_name = sendMessage)]
    pub fn send_message(
        &mut self,
        now: f64,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] data: &JsValue,
        deadline: Option<f64>,
    ) -> Result<Option<f64>, JsValue> {
        let deadline = deadline.map(|millis| duration(millis, "the deadline"));
        let (data, deadline) = (array(data)?.to_vec(), deadline.transpose()?);
        let now = self.at(now);
        sent(self.session.send_message(now, data, deadline))
    }

    /// Sends a message as `sendMessage` does, but in a source symbol of its own: it is never cut, and no other
    /// shares its fate. `messageAloneMax` is the longest.
    #[wasm_bindgen(js_name = sendMessageAlone)]
    pub fn send_message_alone(
        &mut self,
        now: f64,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] data: &JsValue,
        deadline: Option<f64>,
    ) -> Result<Option<f64>, JsValue> {
        let deadline = deadline.map(|millis| duration(millis, "the deadline"));
        let (data, deadline) = (array(data)?.to_vec(), deadline.transpose()?);
        let now = self.at(now);
        sent(self.session.send_message_alone(now, data, deadline))
    }

    /// The longest message for `sendMessageAlone`, in bytes. It can grow when the peer's limits become known, and
    /// it follows `setLargestDatagram`.
    #[wasm_bindgen(getter, js_name = messageAloneMax)]
    pub fn message_alone_max(&self) -> usize {
        self.session.message_alone_max()
    }

    /// Whether a message of this length would be taken now; if not, `messageWritable` tells when to ask again.
    #[wasm_bindgen(js_name = hasMessageRoom)]
    pub fn has_message_room(&mut self, bytes: f64) -> Result<bool, JsValue> {
        let bytes = small(bytes, "the length")?;
        Ok(self.session.has_message_room(bytes))
    }

    /// From now on at most `bytes` bytes of messages wait to be sent. Those that wait are not dropped.
    #[wasm_bindgen(js_name = setMessageBuffer)]
    pub fn set_message_buffer(&mut self, bytes: f64) -> Result<(), JsValue> {
        let bytes = small(bytes, "the buffer")?;
        self.session.set_message_buffer(bytes);
        Ok(())
    }

    /// The next message that arrived; `undefined` when there is none now.
    #[wasm_bindgen(js_name = recvMessage, unchecked_return_type = "Message | undefined")]
    pub fn recv_message(&mut self) -> JsValue {
        let next = self.session.recv_message();
        next.map_or(JsValue::UNDEFINED, |next| {
            message(
                next.id.0 as f64,
                Uint8Array::from(&next.data[..]),
                next.late,
            )
        })
    }
}

fn sent(sent: Result<MessageId, SendMessageError>) -> Result<Option<f64>, JsValue> {
    match sent {
        Ok(id) => Ok(Some(id.0 as f64)),
        Err(SendMessageError::Full) => Ok(None),
        Err(refused @ SendMessageError::Closed(_)) => Err(error("closed", refused)),
        Err(refused) => Err(argument(refused)),
    }
}
