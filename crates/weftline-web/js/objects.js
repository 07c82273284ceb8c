// What the module in WebAssembly makes: plain objects and errors.

/**
 * What went wrong, for programs:
 *
 * - `argument`: an argument makes no sense, or does not fit;
 * - `full`: no room; discard or forget old symbols;
 * - `missing`: too few shards;
 * - `inconsistent`: repair symbols contradict each other;
 * - `late`: a repair symbol covers symbols that were forgotten: drop it;
 * - `end`: this end has finished the stream;
 * - `reset`: the peer has reset the stream or reads no more of it; `peerCode` is its code;
 * - `closed`: the session is over;
 * - `connect`: no connection was made;
 * - `unsupported`: the browser lacks something.
 *
 * @typedef {"argument" | "full" | "missing" | "inconsistent" | "late" | "end" | "reset" | "closed" | "connect" | "unsupported"} ErrorCode
 */

/** An error of Weftline: `code` is for programs, `message` says what is wrong and what to do. */
export class WeftlineError extends Error {
    /**
     * @param {ErrorCode} code
     * @param {string} message
     * @param {{ cause?: unknown, peerCode?: number }} [details]
     */
    constructor(code, message, details = {}) {
        super(message, "cause" in details ? { cause: details.cause } : undefined);
        this.name = "WeftlineError";
        /** @type {ErrorCode} What went wrong. */
        this.code = code;
        /** @type {number | undefined} The peer's application code, of `reset`. */
        this.peerCode = details.peerCode;
    }
}

/** @param {ErrorCode} code @param {string} words */
export const weftlineError = (code, words) => new WeftlineError(code, words);

/** @param {number} peerCode @param {string} words */
export const resetError = (peerCode, words) => new WeftlineError("reset", words, { peerCode });

/** A number of 64 bits that nobody can guess. */
export const randomSeed = () => {
    const bits = crypto.getRandomValues(new Uint32Array(2));
    return (BigInt(bits[0] ?? 0) << 32n) | BigInt(bits[1] ?? 0);
};

/** @param {number} first @param {number} end */
export const span = (first, end) => ({ first, end });

/** @param {number} first @param {number} end @param {Uint8Array} vector @param {Uint8Array} data */
export const recoded = (first, end, vector, data) => ({ first, end, vector, data });

/** @param {number} id @param {Uint8Array} data @param {boolean} late */
export const message = (id, data, late) => ({ id, data, late });

/** @param {string} type */
export const event = (type) => ({ type });

/** @param {string} type @param {number} stream @param {number | undefined} code */
export const streamEvent = (type, stream, code) => (code === undefined ? { type, stream } : { type, stream, code });

/** @param {string} type @param {number} message */
export const messageEvent = (type, message) => ({ type, message });

/** @param {string} by @param {number | undefined} code @param {string} reason */
export const closeReason = (by, code, reason) => ({ by, code, reason });
