//! Counters and estimates of a session.

use std::time::Duration;

use js_sys::{Object, Reflect};
use wasm_bindgen::prelude::*;

use super::Session;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Counters and estimates of a session. Counters only rise. Sizes are bytes, times are milliseconds. */
export interface Stats {
    /** What this end sent. */
    sent: {
        /** Datagrams of every kind, and their bytes without what the carrier adds. */
        datagrams: number;
        bytes: number;
        /** Source symbols sent for the first time, and again. */
        sourceSymbols: number;
        retransmissions: number;
        repairSymbols: number;
        feedback: number;
        /** Times that the retransmission timer fired. */
        timeouts: number;
        /** Bytes of streams and messages. */
        data: number;
        /** Messages dropped because their deadline passed before they were sent. */
        expiredMessages: number;
    };
    /** What this end received. */
    received: {
        /** Datagrams of every kind that passed all checks, and their bytes. */
        datagrams: number;
        bytes: number;
        /** When the newest of them arrived. */
        lastHeard: number;
        /** Source symbols that were new. */
        sourceSymbols: number;
        repairSymbols: number;
        /** Of those, the ones that told the decoder something new. */
        usefulRepairs: number;
        /** Source symbols recovered by decoding. */
        recoveredSymbols: number;
        /** Source symbols given up because the peer no longer covers them. */
        abandonedSymbols: number;
        feedback: number;
        /** Bytes of streams and messages handed to the application. */
        data: number;
        /** Messages that were complete only after their deadline. */
        lateMessages: number;
        /** Parts of messages with a deadline that were dropped because too many such messages were here. */
        refusedFragments: number;
    };
    /** Datagrams that were dropped, by the check that they failed. */
    dropped: { malformed: number; replayed: number; outOfWindow: number; inconsistent: number };
    /** How often at least one symbol was missing. */
    stalls: number;
    /** What this end knows of the path. */
    path: {
        /** Smoothed and smallest round-trip time. */
        rtt: number;
        minRtt: number;
        /** Share of this end's datagrams that were lost recently, 0 to 1. */
        loss: number;
        /** Mean length of a run of lost datagrams recently; 0 before the first loss. */
        meanBurst: number;
        /** Bytes sent, not acknowledged and not known to be lost. */
        inFlight: number;
        /** Source symbols sent and not acknowledged. */
        unacknowledged: number;
        /** Bytes accepted from the application and not sent. */
        queued: number;
    };
}
"#;

fn object<const N: usize>(fields: [(&str, JsValue); N]) -> JsValue {
    let object = Object::new();
    for (name, value) in fields {
        // A plain object takes every property.
        let _ = Reflect::set(&object, &name.into(), &value);
    }
    object.into()
}

/// An object of numbers.
fn numbers<const N: usize>(fields: [(&str, f64); N]) -> JsValue {
    object(fields.map(|(name, value)| (name, value.into())))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[wasm_bindgen]
impl Session {
    /// A snapshot of the counters and estimates.
    #[wasm_bindgen(unchecked_return_type = "Stats")]
    pub fn stats(&self) -> JsValue {
        let stats = self.session.stats();
        let (sent, received) = (stats.sent, stats.received);
        let (dropped, path) = (stats.dropped, stats.path);
        object([
            (
                "sent",
                numbers([
                    ("datagrams", sent.datagrams as f64),
                    ("bytes", sent.bytes as f64),
                    ("sourceSymbols", sent.source_symbols as f64),
                    ("retransmissions", sent.retransmissions as f64),
                    ("repairSymbols", sent.repair_symbols as f64),
                    ("feedback", sent.feedback as f64),
                    ("timeouts", sent.timeouts as f64),
                    ("data", sent.data as f64),
                    ("expiredMessages", sent.expired_messages as f64),
                ]),
            ),
            (
                "received",
                numbers([
                    ("datagrams", received.datagrams as f64),
                    ("bytes", received.bytes as f64),
                    ("lastHeard", super::millis(received.last_heard)),
                    ("sourceSymbols", received.source_symbols as f64),
                    ("repairSymbols", received.repair_symbols as f64),
                    ("usefulRepairs", received.useful_repairs as f64),
                    ("recoveredSymbols", received.recovered_symbols as f64),
                    ("abandonedSymbols", received.abandoned_symbols as f64),
                    ("feedback", received.feedback as f64),
                    ("data", received.data as f64),
                    ("lateMessages", received.late_messages as f64),
                    ("refusedFragments", received.refused_fragments as f64),
                ]),
            ),
            (
                "dropped",
                numbers([
                    ("malformed", dropped.malformed as f64),
                    ("replayed", dropped.replayed as f64),
                    ("outOfWindow", dropped.out_of_window as f64),
                    ("inconsistent", dropped.inconsistent as f64),
                ]),
            ),
            ("stalls", (stats.stalls.count() as f64).into()),
            (
                "path",
                numbers([
                    ("rtt", millis(path.rtt)),
                    ("minRtt", millis(path.min_rtt)),
                    ("loss", path.loss),
                    ("meanBurst", path.mean_burst),
                    ("inFlight", path.in_flight as f64),
                    ("unacknowledged", path.unacknowledged as f64),
                    ("queued", path.queued as f64),
                ]),
            ),
        ])
    }
}
