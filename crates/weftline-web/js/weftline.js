// Weftline over WebTransport, in a page or in a worker.

import { Connection } from "./connection.js";
import { WeftlineError } from "./objects.js";
import { init, Session } from "./session.js";

export { Connection } from "./connection.js";
export { WeftlineError } from "./objects.js";
export { init, minDatagram, Session } from "./session.js";
/** @typedef {import("./connection.js").Receipt} Receipt */
/** @typedef {import("./driver.js").Transport} Transport */
/** @typedef {import("./session.js").CloseReason} CloseReason */
/** @typedef {import("./session.js").ErrorCode} ErrorCode */
/** @typedef {import("./session.js").Message} Message */
/** @typedef {import("./session.js").SessionEvent} SessionEvent */
/** @typedef {import("./session.js").SessionOptions} SessionOptions */
/** @typedef {import("./session.js").Stats} Stats */
/** @typedef {import("./session.js").WasmSource} WasmSource */
/** @typedef {import("./stream.js").Stream} Stream */

/**
 * @typedef {{
 *     preset?: string,
 *     session?: Omit<SessionOptions, "now">,
 *     wasm?: WasmSource,
 * }} OverOptions `preset`: how this end repairs losses, as text: `auto` unless given, or `streaming,l=5`
 *     (docs/reference/presets.md). `session`: further options. `wasm`: where the engine's module is; beside this
 *     script unless given.
 */

/**
 * @typedef {OverOptions & { certificateHash?: Uint8Array }} ConnectOptions `certificateHash`: the SHA-256 of the
 *     server's certificate, which the browser then accepts without asking an authority: an ECDSA certificate that is
 *     valid for at most 14 days.
 */

/**
 * Connects to a server of Weftline over WebTransport. Works in a page and in a worker, where both are secure contexts
 * (https, or http on localhost).
 *
 * @param {string | URL} url `https://HOST:PORT/PATH`
 * @param {ConnectOptions} [options]
 * @returns {Promise<Connection>} resolves once the peer's limits are known
 */
export const connect = async (url, { certificateHash, ...options } = {}) => {
    if (typeof globalThis.WebTransport === "undefined") {
        const advice = globalThis.isSecureContext === false
            ? "the page must come over https, or over http from localhost"
            : "use Chrome 97, Firefox 114, Safari 26.4 or later";
        throw new WeftlineError("unsupported", `there is no WebTransport here: ${advice}`);
    }
    const loading = init(options.wasm);
    // Whichever fails first is told; the other one must not be a rejection that nobody handles.
    loading.catch(() => {});
    let transport;
    try {
        transport = new WebTransport(String(url), {
            requireUnreliable: true,
            congestionControl: "low-latency",
            ...(certificateHash && {
                serverCertificateHashes: [{ algorithm: "sha-256", value: new Uint8Array(certificateHash) }],
            }),
        });
        transport.closed.catch(() => {});
        await transport.ready;
    } catch (cause) {
        const words = cause instanceof Error ? cause.message : String(cause);
        const advice = certificateHash
            ? "is the server there, does UDP reach it, and is the hash that of its certificate of today?"
            : "is the server there, does UDP reach it, and does the browser trust its certificate?";
        throw new WeftlineError("connect", `no connection to ${withoutQuery(url)} (${words}): ${advice}`, { cause });
    }
    try {
        return await connectOver(/** @type {import("./driver.js").Transport} */ (/** @type {unknown} */ (transport)), options);
    } catch (error) {
        try {
            transport.close();
        } catch {
            // It is closed already.
        }
        throw error;
    }
};

/**
 * As `connect`, over a `WebTransport` that is ready, or over anything like one.
 *
 * @param {Transport} transport
 * @param {OverOptions & { role?: "client" | "server" }} [options] `role`: the other end has the other one; `client`
 *     unless given
 * @returns {Promise<Connection>}
 */
export const connectOver = async (transport, { preset = "auto", session = {}, role = "client", wasm } = {}) => {
    await init(wasm);
    const engine = new Session(preset, role, { ...session, now: performance.now() });
    const connection = new Connection(engine, transport);
    await connection.ready;
    return connection;
};

/** The address for people: what follows may be a secret. @param {string | URL} url */
const withoutQuery = (url) => String(url).replace(/[?#].*/s, "");
