// A connection: messages and streams over a session that a driver moves.

import { Driver } from "./driver.js";
import { WeftlineError } from "./objects.js";
import { bytesOf, Ends } from "./stream.js";

/** @typedef {import("./weftline_session.js").CloseReason} CloseReason */
/** @typedef {import("./weftline_session.js").Message} Message */
/** @typedef {import("./weftline_session.js").Session} Session */
/** @typedef {import("./weftline_session.js").SessionEvent} SessionEvent */
/** @typedef {import("./weftline_session.js").Stats} Stats */
/** @typedef {import("./driver.js").Transport} Transport */
/** @typedef {import("./stream.js").Stream} Stream */

/**
 * What becomes of a message that was sent: `delivered` resolves to true when the peer has it, and to false when its
 * deadline or the connection's end came first. It never rejects.
 *
 * @typedef {{ delivered: Promise<boolean> }} Receipt
 */

/**
 * @template T
 * @typedef {{ resolve: (value: T) => void, reject: (error: unknown) => void }} Waiting
 */

/**
 * A connection to a peer. `connect` makes it.
 */
export class Connection {
    /** @type {Session} */
    #session;
    /** @type {Driver} */
    #driver;
    /** @type {Waiting<void> | undefined} */
    #connecting;
    /** @type {Waiting<Message>[]} */
    #receivers = [];
    /** Messages for which there was no room: a function sends one, and returns whether there was. */
    /** @type {(() => boolean)[]} */
    #senders = [];
    /** @type {Map<number, (delivered: boolean) => void>} */
    #fates = new Map();
    /** @type {Waiting<Stream>[]} */
    #openers = [];
    /** @type {Waiting<Stream>[]} */
    #accepters = [];
    /** @type {Map<number, Ends>} */
    #streams = new Map();
    /** @type {CloseReason | undefined} */
    #reason;
    /** @type {(reason: CloseReason) => void} */
    #resolveClosed = () => {};
    /** @type {() => void} */
    #resolveGone = () => {};
    /** @type {Promise<void>} */
    #gone;

    /**
     * Resolves once the connection is over, with who or what ended it. It never rejects.
     *
     * @type {Promise<CloseReason>}
     */
    closed;

    /**
     * Resolves once the peer's limits are known.
     *
     * @internal
     * @type {Promise<void>}
     */
    ready;

    /**
     * Use `connect`.
     *
     * @internal
     * @param {Session} session
     * @param {Transport} transport
     */
    constructor(session, transport) {
        this.#session = session;
        this.closed = new Promise((resolve) => {
            this.#resolveClosed = resolve;
        });
        this.#gone = new Promise((resolve) => {
            this.#resolveGone = resolve;
        });
        this.ready = new Promise((resolve, reject) => {
            this.#connecting = { resolve, reject };
        });
        this.#driver = new Driver(
            session,
            transport,
            (event) => this.#on(event),
            (reason) => {
                this.#over(reason);
                this.#resolveGone();
            },
        );
    }

    /**
     * Sends a message: the peer gets it whole, in no particular order. With a `deadline`, in milliseconds from now, it
     * is worth nothing to the peer later, and nothing more is spent on it then. Resolves once there was room for it;
     * `alone` keeps it in a datagram of its own (at most `longestMessageAlone` bytes).
     *
     * @param {Uint8Array | ArrayBuffer | ArrayBufferView} data is copied before this returns or waits for room
     * @param {{ deadline?: number, alone?: boolean }} [options]
     * @returns {Promise<Receipt>}
     */
    async sendMessage(data, { deadline, alone = false } = {}) {
        this.#check();
        let bytes = bytesOf(data);
        const begun = performance.now();
        /** @type {Receipt | undefined} */
        let receipt;
        const send = () => {
            const now = performance.now();
            const left = deadline === undefined ? undefined : deadline - (now - begun);
            if (left !== undefined && left < 0 && now > begun) {
                receipt = { delivered: Promise.resolve(false) };
                return true;
            }
            const id = alone ? this.#session.sendMessageAlone(now, bytes, left) : this.#session.sendMessage(now, bytes, left);
            if (id === undefined) {
                return false;
            }
            receipt = { delivered: new Promise((resolve) => this.#fates.set(id, resolve)) };
            this.#driver.changed();
            return true;
        };
        if (this.#senders.length > 0 || !send()) {
            bytes = bytes.slice();
            await new Promise((resolve, reject) => {
                this.#senders.push(() => {
                    try {
                        this.#check();
                        if (!send()) {
                            return false;
                        }
                        resolve(undefined);
                    } catch (error) {
                        reject(error);
                    }
                    return true;
                });
            });
        }
        return /** @type {Receipt} */ (/** @type {unknown} */ (receipt));
    }

    /** The longest message that `sendMessage` takes with `alone`, in bytes. It follows the path. */
    get longestMessageAlone() {
        return this.#session.messageAloneMax;
    }

    /**
     * The next message of the peer. Rejects with `closed` once the connection is over and no message is left.
     *
     * @returns {Promise<Message>}
     */
    async recvMessage() {
        if (this.#receivers.length === 0) {
            const message = this.#session.recvMessage();
            if (message !== undefined) {
                this.#driver.changed();
                return message;
            }
        }
        this.#check();
        return new Promise((resolve, reject) => this.#receivers.push({ resolve, reject }));
    }

    /**
     * The peer's messages, until the connection is over; `closed` tells why it is.
     *
     * @returns {AsyncGenerator<Message, void, void>}
     */
    async *messages() {
        for (;;) {
            let message;
            try {
                message = await this.recvMessage();
            } catch (error) {
                if (error instanceof WeftlineError && error.code === "closed") {
                    return;
                }
                throw error;
            }
            yield message;
        }
    }

    /**
     * Opens a stream, which both ends can write to and read from. Waits while the peer allows no more. Closing its
     * `writable` resolves when the peer has everything.
     *
     * @returns {Promise<Stream>}
     */
    async openStream() {
        this.#check();
        if (this.#openers.length === 0) {
            const id = this.#session.openStream();
            if (id !== undefined) {
                return this.#stream(id);
            }
        }
        return new Promise((resolve, reject) => this.#openers.push({ resolve, reject }));
    }

    /**
     * The next stream that the peer opens.
     *
     * @returns {Promise<Stream>}
     */
    async acceptStream() {
        if (this.#accepters.length === 0) {
            const id = this.#session.acceptStream();
            if (id !== undefined) {
                return this.#stream(id);
            }
        }
        this.#check();
        return new Promise((resolve, reject) => this.#accepters.push({ resolve, reject }));
    }

    /**
     * Counters and estimates, as they are now.
     *
     * @returns {Stats}
     */
    stats() {
        return this.#session.stats();
    }

    /** Whether the peer has everything that was written, finished or sent. */
    get allAcknowledged() {
        return this.#session.allAcknowledged;
    }

    /**
     * Ends the connection, for the peer too; code 0 says that all went well. Resolves when the last datagram has left.
     * To be sure that the peer has everything, wait for what was sent first: for `delivered` of messages, and for
     * the `close` of streams.
     *
     * @param {number} [code] 0 to 2^53 - 1
     * @param {string} [reason] for people
     * @returns {Promise<void>}
     */
    async close(code = 0, reason = "") {
        this.#driver.close(code, reason);
        await this.#gone;
    }

    /** Throws if the connection is over. */
    #check() {
        const error = this.#error();
        if (error !== undefined) {
            throw error;
        }
    }

    #error() {
        const reason = this.#reason ?? this.#session.closeReason;
        if (reason === undefined) {
            return undefined;
        }
        const by = reason.by === "peer" ? `the peer closed the connection with code ${reason.code}: ` : "the connection is over: ";
        return new WeftlineError("closed", by + reason.reason, reason.code === undefined ? {} : { peerCode: reason.code });
    }

    /** @param {number} id */
    #stream(id) {
        const changed = () => this.#driver.changed();
        const gone = () => this.#streams.delete(id);
        const ends = new Ends(this.#session, id, changed, () => this.#error(), gone);
        this.#streams.set(id, ends);
        this.#driver.changed();
        return ends.stream;
    }

    /** @param {SessionEvent} event */
    #on(event) {
        switch (event.type) {
            case "connected":
                this.#connecting?.resolve();
                break;
            case "messageReceived":
                this.#receive();
                break;
            case "messageWritable":
                while (this.#senders[0]?.() === true) {
                    this.#senders.shift();
                }
                break;
            case "messageDelivered":
            case "messageExpired":
                this.#fates.get(event.message)?.(event.type === "messageDelivered");
                this.#fates.delete(event.message);
                break;
            case "streamOpened":
                serve(this.#accepters, () => this.#session.acceptStream(), (id) => this.#stream(id));
                break;
            case "streamsAvailable":
                serve(this.#openers, () => this.#session.openStream(), (id) => this.#stream(id));
                break;
            case "streamReadable":
                this.#streams.get(event.stream)?.readable.notify();
                break;
            case "streamWritable":
                this.#streams.get(event.stream)?.writable.notify();
                break;
            case "streamFinished": {
                const ends = this.#streams.get(event.stream);
                if (ends !== undefined) {
                    ends.finished = true;
                    ends.writable.notify();
                }
                break;
            }
            case "streamStopped":
                this.#streams.get(event.stream)?.stopped(event.code);
                break;
            case "closed":
                this.#over(/** @type {CloseReason} */ (this.#session.closeReason));
                break;
        }
    }

    #receive() {
        serve(this.#receivers, () => this.#session.recvMessage(), (message) => message);
        // What was taken is credit for the peer.
        this.#driver.changed();
    }

    /** @param {CloseReason} reason */
    #over(reason) {
        if (this.#reason !== undefined) {
            return;
        }
        try {
            // What arrived is the application's.
            serve(this.#receivers, () => this.#session.recvMessage(), (message) => message);
        } catch {
            // The module has failed: nothing more can be had of it.
        }
        this.#reason = reason;
        const error = /** @type {WeftlineError} */ (this.#error());
        this.#connecting?.reject(error);
        for (const waiting of [this.#receivers, this.#openers, this.#accepters]) {
            for (const { reject } of waiting.splice(0)) {
                reject(error);
            }
        }
        for (const sender of this.#senders.splice(0)) {
            sender();
        }
        for (const ends of this.#streams.values()) {
            ends.over();
        }
        for (const resolve of this.#fates.values()) {
            resolve(false);
        }
        this.#fates.clear();
        this.#resolveClosed(reason);
    }
}

/**
 * Gives those that wait what there is.
 *
 * @template T, U
 * @param {Waiting<U>[]} waiting
 * @param {() => T | undefined} take
 * @param {(taken: T) => U} made
 */
const serve = (waiting, take, made) => {
    while (waiting.length > 0) {
        const taken = take();
        if (taken === undefined) {
            return;
        }
        waiting.shift()?.resolve(made(taken));
    }
};
