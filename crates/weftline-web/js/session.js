// The sans-IO session: call `init` once, and wait for it.

import instantiate from "./weftline_session.js";
import { loader } from "./load.js";

export { minDatagram, Session } from "./weftline_session.js";
export { WeftlineError } from "./objects.js";
/** @typedef {import("./weftline_session.js").CloseReason} CloseReason */
/** @typedef {import("./weftline_session.js").Message} Message */
/** @typedef {import("./weftline_session.js").SessionEvent} SessionEvent */
/** @typedef {import("./weftline_session.js").SessionOptions} SessionOptions */
/** @typedef {import("./weftline_session.js").Stats} Stats */
/** @typedef {import("./objects.js").ErrorCode} ErrorCode */
/** @typedef {import("./load.js").WasmSource} WasmSource */

/**
 * Loads the engine's module; wait for it before anything else. Further calls wait for the same.
 */
export const init = loader(instantiate, new URL("./weftline_session_bg.wasm", import.meta.url));
