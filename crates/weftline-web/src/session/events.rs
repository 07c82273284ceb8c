//! What happened in a session.

use wasm_bindgen::prelude::*;
use weftline_proto::{CloseReason, Event};

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Something happened that the application may be waiting for. */
export type SessionEvent =
    /** The peer's limits are known. */
    | { type: "connected" }
    /** The peer opened a stream: accept it. */
    | { type: "streamOpened" }
    /** There is more to read: data, the end, or a reset. */
    | { type: "streamReadable"; stream: number }
    /** There is room to write. */
    | { type: "streamWritable"; stream: number }
    /** The peer has everything that was written to this stream, which is finished. */
    | { type: "streamFinished"; stream: number }
    /** The peer reads no more of this stream. */
    | { type: "streamStopped"; stream: number; code: number }
    /** A stream can be opened again. */
    | { type: "streamsAvailable" }
    /** A message can be received. */
    | { type: "messageReceived" }
    /** There is room to send messages again. */
    | { type: "messageWritable" }
    /** The peer has this message. */
    | { type: "messageDelivered"; message: number }
    /** The deadline of this message passed before the peer acknowledged all of it. */
    | { type: "messageExpired"; message: number }
    /** The session is over; `closeReason` says why. No event follows. */
    | { type: "closed" }
    /** An event that this version of the types does not know. */
    | { type: "other" };

/** Why a session is over. */
export interface CloseReason {
    /**
     * Who or what ended it: this end's application, the peer's application, silence, a peer that broke the protocol,
     * a peer that found that this end did, or what carries the datagrams.
     */
    by: "local" | "peer" | "timeout" | "violation" | "refused" | "carrier";
    /** The application's code; 0 says that all went well. Only of an application that closed. */
    code: number | undefined;
    /** Words for people. */
    reason: string;
}
"#;

#[wasm_bindgen(raw_module = "./objects.js")]
extern "C" {
    /// An event with what it is about.
    fn event(kind: &str) -> JsValue;
    #[wasm_bindgen(js_name = streamEvent)]
    fn stream_event(kind: &str, stream: f64, code: Option<f64>) -> JsValue;
    #[wasm_bindgen(js_name = messageEvent)]
    fn message_event(kind: &str, message: f64) -> JsValue;
    #[wasm_bindgen(js_name = closeReason)]
    fn close_reason(by: &str, code: Option<f64>, reason: &str) -> JsValue;
}

pub(super) fn object(happened: Event) -> JsValue {
    let stream = |kind, id: weftline_proto::StreamId| stream_event(kind, id.0 as f64, None);
    match happened {
        Event::Connected => event("connected"),
        Event::StreamOpened => event("streamOpened"),
        Event::StreamReadable(id) => stream("streamReadable", id),
        Event::StreamWritable(id) => stream("streamWritable", id),
        Event::StreamFinished(id) => stream("streamFinished", id),
        Event::StreamStopped { id, code } => {
            stream_event("streamStopped", id.0 as f64, Some(code as f64))
        }
        Event::StreamsAvailable => event("streamsAvailable"),
        Event::MessageReceived => event("messageReceived"),
        Event::MessageWritable => event("messageWritable"),
        Event::MessageDelivered(id) => message_event("messageDelivered", id.0 as f64),
        Event::MessageExpired(id) => message_event("messageExpired", id.0 as f64),
        Event::Closed(_) => event("closed"),
        _ => event("other"),
    }
}

pub(super) fn reason(reason: &CloseReason) -> JsValue {
    let words = reason.to_string();
    match reason {
        CloseReason::Local => close_reason("local", None, &words),
        CloseReason::Peer { code, reason } => close_reason("peer", Some(*code as f64), reason),
        CloseReason::TimedOut { .. } => close_reason("timeout", None, &words),
        CloseReason::Violation(_) => close_reason("violation", None, &words),
        CloseReason::Refused(_) => close_reason("refused", None, &words),
        _ => close_reason("carrier", None, &words),
    }
}
