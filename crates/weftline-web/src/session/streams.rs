//! Streams of a session.

use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use weftline_proto::{OpenError, ReadError, StreamId, WriteError};

use super::Session;
use crate::objects::{argument, error};
use crate::whole::{small, whole};

/// Bytes that one call reads at most: what it returns is a copy.
const LONGEST_READ: usize = 64 << 10;

#[wasm_bindgen(raw_module = "./objects.js")]
extern "C" {
    #[wasm_bindgen(js_name = resetError)]
    fn reset_error(code: f64, words: &str) -> JsValue;
}

#[wasm_bindgen]
impl Session {
    /// Opens a stream, which both ends can write to and read from, and returns its number; `undefined` while the
    /// peer allows no more: `streamsAvailable` follows.
    #[wasm_bindgen(js_name = openStream)]
    pub fn open_stream(&mut self) -> Result<Option<f64>, JsValue> {
        match self.session.open_stream() {
            Ok(id) => Ok(Some(id.0 as f64)),
            Err(OpenError::Blocked) => Ok(None),
            Err(refused) => Err(error("closed", refused)),
        }
    }

    /// Accepts a stream that the peer has opened, and returns its number; `undefined` when there is none now.
    #[wasm_bindgen(js_name = acceptStream)]
    pub fn accept_stream(&mut self) -> Option<f64> {
        self.session.accept_stream().map(|id| id.0 as f64)
    }

    /// Writes bytes to a stream. Returns how many the session has accepted: 0 while there is no room, and
    /// `streamWritable` follows. Throws `reset` if the peer reads no more.
    pub fn write(
        &mut self,
        stream: f64,
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] data: &JsValue,
    ) -> Result<usize, JsValue> {
        match self.session.write(id(stream)?, self.input.read(data)?) {
            Err(WriteError::Blocked) => Ok(0),
            written => written.map_err(write_error),
        }
    }

    /// Ends a stream after what was written. `streamFinished` follows when the peer has all of it.
    pub fn finish(&mut self, stream: f64) -> Result<(), JsValue> {
        self.session.finish(id(stream)?).map_err(write_error)
    }

    /// Gives up writing to a stream: what was not sent is dropped, and the peer learns `code`.
    #[wasm_bindgen(js_name = resetStream)]
    pub fn reset_stream(&mut self, stream: f64, code: f64) -> Result<(), JsValue> {
        let (id, code) = (id(stream)?, whole(code, "the code")?);
        self.session.reset(id, code);
        Ok(())
    }

    /// Reads no more of a stream: what arrives is dropped, and the peer learns `code`.
    #[wasm_bindgen(js_name = stopStream)]
    pub fn stop_stream(&mut self, stream: f64, code: f64) -> Result<(), JsValue> {
        let (id, code) = (id(stream)?, whole(code, "the code")?);
        self.session.stop(id, code);
        Ok(())
    }

    /// Reads bytes of a stream in order: at most `most`, and at most 65,536. Returns `undefined` while there are
    /// none (`streamReadable` follows), and `null` when the peer has finished the stream and everything was read.
    /// Throws `reset` if the peer has reset it. What arrived before the session ended can still be read.
    #[wasm_bindgen(unchecked_return_type = "Uint8Array | null | undefined")]
    pub fn read(&mut self, stream: f64, most: f64) -> Result<JsValue, JsValue> {
        let most = small::<usize>(most, "the number of bytes")?.min(LONGEST_READ);
        if most == 0 {
            return Err(argument("a read of 0 bytes reads nothing: give 1 or more"));
        }
        if self.buffer.len() < most {
            self.buffer.resize(most, 0);
        }
        match self.session.read(id(stream)?, &mut self.buffer[..most]) {
            Ok(0) => Ok(JsValue::NULL),
            Ok(read) => Ok(Uint8Array::from(&self.buffer[..read]).into()),
            Err(ReadError::Blocked) => Ok(JsValue::UNDEFINED),
            Err(refused) => Err(match &refused {
                ReadError::Reset(code) => reset_error(*code as f64, &refused.to_string()),
                ReadError::Closed(_) => error("closed", refused),
                _ => argument(refused),
            }),
        }
    }
}

fn id(stream: f64) -> Result<StreamId, JsValue> {
    whole(stream, "the stream").map(StreamId)
}

fn write_error(refused: WriteError) -> JsValue {
    match &refused {
        WriteError::Stopped(code) => reset_error(*code as f64, &refused.to_string()),
        WriteError::Finished => error("end", refused),
        WriteError::Closed(_) => error("closed", refused),
        _ => argument(refused),
    }
}
