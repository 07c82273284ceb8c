// Moves datagrams between the engine's session and a WebTransport connection.
//
// What has arrived is given to the engine, a bounded batch at a time. The engine is asked for datagrams when the
// transport has room, and for no more than leave at once, so that it decides at the last moment what is worth sending.

import { Tasks } from "./tasks.js";

/** Datagrams that arrived and are handled before something is sent. */
const BATCH = 64;
/** Datagrams sent between two looks at what has arrived, should there always be something to send and room for it. */
const BURST = 32;
/** A timer that stays due after it was served must not spin, in milliseconds. */
const MIN_SLEEP = 0.1;
/** Datagrams that the browser keeps until they are read: a worker may decode a picture meanwhile. */
const ARRIVED = 1024;
/** Datagrams that the browser takes before it has sent them: few, so that what leaves is decided late. */
const LEAVING = 8;
/** Bytes of the longest reason that a browser sends. */
const LONGEST_REASON = 1024;
/** Codes of a transport from here on are not an application's (docs/protocol.md, section 11). */
const PROTOCOL_ERROR = 0xfffffff0;
const BUSY = PROTOCOL_ERROR + 1;
const TIMED_OUT = PROTOCOL_ERROR + 2;

/** @typedef {import("./weftline_session.js").CloseReason} CloseReason */
/** @typedef {import("./weftline_session.js").SessionEvent} SessionEvent */
/** @typedef {import("./weftline_session.js").Session} Session */

/**
 * What Weftline uses of a `WebTransport`.
 *
 * @typedef {{
 *     readonly datagrams: {
 *         readonly readable: ReadableStream<Uint8Array>,
 *         readonly writable?: WritableStream<Uint8Array>,
 *         createWritable?: () => WritableStream<Uint8Array>,
 *         readonly maxDatagramSize: number,
 *         incomingHighWaterMark?: number,
 *         outgoingHighWaterMark?: number,
 *     },
 *     readonly closed: Promise<{ closeCode?: number, reason?: string }>,
 *     close(info?: { closeCode?: number, reason?: string }): void,
 * }} Transport
 */

export class Driver {
    /** @type {Session} */
    #session;
    /** @type {Transport} */
    #transport;
    /** @type {(event: SessionEvent) => void} */
    #onEvent;
    /** @type {(reason: CloseReason) => void} */
    #onOver;
    /** @type {ReadableStreamDefaultReader<Uint8Array>} */
    #reader;
    /** @type {WritableStreamDefaultWriter<Uint8Array>} */
    #writer;
    #tasks = new Tasks(() => this.#guard(() => this.#turn()));
    /** What the transport was last known to take. */
    #largest = 0;
    /** Datagrams handled, and sent, since the last turn. */
    #handled = 0;
    #sent = 0;
    /** The transport has no room; it tells when it has. */
    #blocked = false;
    /** The application's changes are looked at when it has made all of them. */
    #changed = false;
    #over = false;
    /** @type {CloseReason | undefined} */
    #lost;
    /** @type {{ closeCode: number, reason: string }} */
    #farewell = { closeCode: 0, reason: "" };

    /**
     * @param {Session} session
     * @param {Transport} transport
     * @param {(event: SessionEvent) => void} onEvent is called for each event
     * @param {(reason: CloseReason) => void} onOver is called once, when the session is over and its last datagram
     *     has left
     */
    constructor(session, transport, onEvent, onOver) {
        this.#session = session;
        this.#transport = transport;
        this.#onEvent = onEvent;
        this.#onOver = onOver;
        const { readable, writable } = transport.datagrams;
        // Browsers keep a single datagram unless told otherwise, and drop the others of a burst.
        transport.datagrams.incomingHighWaterMark = ARRIVED;
        transport.datagrams.outgoingHighWaterMark = LEAVING;
        this.#reader = readable.getReader();
        const sink = transport.datagrams.createWritable?.() ?? writable;
        if (sink === undefined) {
            throw new TypeError("the transport takes no datagrams");
        }
        this.#writer = sink.getWriter();
        // Failures are seen where it is written, and by the transport.
        this.#writer.closed.catch(() => {});
        transport.closed.then(
            ({ closeCode = 0, reason = "" } = {}) => this.#lose(reasonOf(closeCode, printable(reason))),
            (error) => this.#fail(error),
        );
        this.#receive();
        this.#tasks.soon();
    }

    /** The application has called the session. */
    changed() {
        if (this.#changed || this.#over) {
            return;
        }
        this.#changed = true;
        queueMicrotask(() => {
            this.#changed = false;
            if (this.#over) {
                return;
            }
            this.#guard(() => {
                this.#tell();
                if (this.#session.wantsToSend) {
                    this.#turn();
                }
            });
        });
    }

    /** @param {number} code @param {string} reason */
    close(code, reason) {
        if (!this.#over && this.#session.closeReason === undefined) {
            this.#session.close(performance.now(), code, reason);
            this.#farewell = { closeCode: Math.min(code, PROTOCOL_ERROR - 1), reason };
            this.changed();
        }
    }

    async #receive() {
        try {
            for (;;) {
                const { value, done } = await this.#reader.read();
                if (done || this.#over) {
                    return;
                }
                this.#session.handleDatagram(performance.now(), value);
                this.#handled += 1;
                if (this.#handled >= BATCH) {
                    this.#turn();
                } else {
                    this.#tasks.soon();
                }
            }
        } catch (error) {
            this.#fail(error);
        }
    }

    /**
     * Should the engine's module fail, the connection is over: it must not stay half alive.
     *
     * @param {() => void} work
     */
    #guard(work) {
        try {
            work();
        } catch (error) {
            this.#fail(error, "the engine");
        }
    }

    /** Does what is due: timers, events, datagrams. */
    #turn() {
        if (this.#over) {
            return;
        }
        this.#handled = 0;
        this.#sent = 0;
        const now = performance.now();
        const due = this.#session.pollTimeout();
        if (due !== undefined && due <= now) {
            this.#session.handleTimeout(now);
        }
        this.#tell();
        this.#send();
    }

    /** Tells the application what happened. */
    #tell() {
        for (let event = this.#session.pollEvent(); event !== undefined; event = this.#session.pollEvent()) {
            this.#onEvent(event);
        }
    }

    /** Sends what the session has to send now and the transport has room for. Then the timer is right. */
    #send() {
        if (this.#over) {
            return;
        }
        this.#fit();
        while (!this.#blocked) {
            if ((this.#writer.desiredSize ?? 0) <= 0) {
                this.#blocked = true;
                this.#writer.ready.then(
                    () => {
                        this.#blocked = false;
                        // A closed one says that it is ready without end: other tasks must have their turns.
                        this.#tasks.soon();
                    },
                    (error) => this.#fail(error),
                );
                break;
            }
            if (this.#sent >= BURST) {
                // What has arrived comes first.
                this.#tasks.soon();
                break;
            }
            const datagram = this.#session.pollTransmit(performance.now());
            if (datagram === undefined) {
                break;
            }
            this.#sent += 1;
            this.#writer.write(datagram).catch((error) => this.#fail(error));
        }
        this.#tell();
        const due = this.#session.pollTimeout();
        if (due !== undefined) {
            this.#tasks.at(Math.max(due, performance.now() + MIN_SLEEP));
        } else if (!this.#blocked) {
            this.#end();
        }
    }

    /** The transport may take longer datagrams after a while, or only shorter ones. */
    #fit() {
        const largest = this.#transport.datagrams.maxDatagramSize;
        // 0: it does not know yet, or is closed.
        if (largest !== this.#largest && largest > 0) {
            this.#largest = largest;
            try {
                this.#session.setLargestDatagram(largest);
            } catch (error) {
                this.#fail(error);
            }
        }
    }

    /** @param {unknown} error @param {string} what has failed */
    #fail(error, what = "the transport") {
        const words = error instanceof Error ? error.message : String(error);
        this.#lose({ by: "carrier", code: undefined, reason: `${what} failed: ${words}` });
    }

    /**
     * Nothing more can be sent.
     *
     * @param {CloseReason} reason
     */
    #lose(reason) {
        if (!this.#over) {
            this.#lost = reason;
            this.#end();
        }
    }

    #end() {
        if (this.#over) {
            return;
        }
        this.#over = true;
        this.#tasks.stop();
        let reason = this.#lost;
        try {
            this.#tell();
            // The transport's own words count only where the session has none.
            reason = this.#session.closeReason ?? reason;
        } catch {
            // The module has failed, as `#lost` says.
        }
        if (reason?.by === "violation" || reason?.by === "carrier") {
            this.#farewell = { closeCode: PROTOCOL_ERROR, reason: reason.reason };
        } else if (reason?.by === "timeout") {
            this.#farewell = { closeCode: TIMED_OUT, reason: reason.reason };
        }
        this.#onOver(reason ?? { by: "local", code: undefined, reason: "closed by this end" });
        this.#reader.cancel().catch(() => {});
        try {
            const { closeCode, reason } = this.#farewell;
            this.#transport.close({ closeCode, reason: cut(reason) });
        } catch {
            // It is closed already.
        }
    }
}

/**
 * Why a peer closed the transport.
 *
 * @param {number} code
 * @param {string} words
 * @returns {CloseReason}
 */
const reasonOf = (code, words) => {
    switch (code) {
        case BUSY:
            return { by: "refused", code: undefined, reason: "all connections of the server are taken: try again later" };
        case TIMED_OUT:
            return { by: "timeout", code: undefined, reason: "the peer heard nothing of this end" };
        default:
            return code < PROTOCOL_ERROR
                ? { by: "peer", code, reason: words }
                : { by: "refused", code: undefined, reason: `the peer refused the session: ${words}` };
    }
};

/**
 * A peer's words, without what would change how they are shown.
 *
 * @param {string} words
 */
const printable = (words) => words.replace(/\p{C}/gu, "\ufffd");

/**
 * As much of a reason as a browser sends.
 *
 * @param {string} reason
 */
const cut = (reason) => {
    const bytes = new TextEncoder().encode(reason);
    return bytes.length <= LONGEST_REASON ? reason : new TextDecoder().decode(bytes.subarray(0, LONGEST_REASON - 3));
};
