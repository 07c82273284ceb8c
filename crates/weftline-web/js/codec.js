// The erasure codec: call `init` once, and wait for it.

import instantiate from "./weftline_codec.js";
import { loader } from "./load.js";

export {
    BlockDecoder,
    BlockEncoder,
    kernel,
    longestPayload,
    Recoder,
    ReedSolomon,
    WindowDecoder,
    WindowEncoder,
} from "./weftline_codec.js";
export { WeftlineError } from "./objects.js";
/** @typedef {import("./weftline_codec.js").CodeOptions} CodeOptions */
/** @typedef {import("./weftline_codec.js").Coefficients} Coefficients */
/** @typedef {import("./weftline_codec.js").Recoded} Recoded */
/** @typedef {import("./weftline_codec.js").ReedSolomonOptions} ReedSolomonOptions */
/** @typedef {import("./weftline_codec.js").Span} Span */
/** @typedef {import("./weftline_codec.js").WindowOptions} WindowOptions */
/** @typedef {import("./objects.js").ErrorCode} ErrorCode */
/** @typedef {import("./load.js").WasmSource} WasmSource */

/**
 * Loads the codec's module; wait for it before anything else. Further calls wait for the same.
 */
export const init = loader(instantiate, new URL("./weftline_codec_bg.wasm", import.meta.url));
