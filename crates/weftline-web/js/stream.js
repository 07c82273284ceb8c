// A stream of a connection, as the two streams of the web platform.

import { WeftlineError } from "./objects.js";

/** Bytes handed over at a time: what is copied at once. */
const CHUNK = 64 * 1024;

/** @typedef {import("./weftline_session.js").Session} Session */

/**
 * A stream: bytes in order, both ways.
 *
 * @typedef {{
 *     id: number,
 *     readable: ReadableStream<Uint8Array<ArrayBuffer>>,
 *     writable: WritableStream<Uint8Array>,
 * }} Stream
 */

/**
 * Waits for something that another call makes happen, again and again.
 */
export class Signal {
    /** @type {(() => void)[]} */
    #waiting = [];

    /** @returns {Promise<void>} */
    wait() {
        return new Promise((resolve) => this.#waiting.push(resolve));
    }

    notify() {
        const waiting = this.#waiting;
        this.#waiting = [];
        for (const resolve of waiting) {
            resolve();
        }
    }
}

/** The application's code of an error, or 0. */
const codeOf = (/** @type {unknown} */ reason) => {
    const { peerCode } = /** @type {{ peerCode?: unknown }} */ (reason ?? {});
    const code = typeof reason === "number" ? reason : peerCode;
    return typeof code === "number" && Number.isSafeInteger(code) && code >= 0 ? code : 0;
};

/** What a connection keeps of a stream while an end of it is open. */
export class Ends {
    readable = new Signal();
    writable = new Signal();
    finished = false;
    #session;
    #id;
    #changed;
    #closed;
    #gone;
    /** The halves that are not over. @type {Set<"read" | "write">} */
    #open = new Set(/** @type {const} */ (["read", "write"]));
    /** @type {WritableStreamDefaultController | undefined} */
    #controller;
    /** Why nothing more is written. @type {WeftlineError | undefined} */
    #stopped;
    /** @type {Stream} */
    stream;

    /**
     * @param {Session} session
     * @param {number} id
     * @param {() => void} changed the session was called
     * @param {() => WeftlineError | undefined} closed why the session is over
     * @param {() => void} gone both ends are over
     */
    constructor(session, id, changed, closed, gone) {
        this.#session = session;
        this.#id = id;
        this.#changed = changed;
        this.#closed = closed;
        this.#gone = gone;
        const readable = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (
            new ReadableStream({
                type: "bytes",
                pull: (controller) => this.#pull(controller),
                cancel: (reason) => this.#cancel(reason),
            })
        );
        const writable = new WritableStream({
            start: (controller) => {
                this.#controller = controller;
                // At once: `abort` of the sink is called only after a write that waits, which would wait on.
                controller.signal.addEventListener("abort", () => this.#abort(controller.signal.reason));
            },
            write: (chunk) => this.#write(chunk),
            close: () => this.#finish(),
        });
        this.stream = { id, readable, writable };
    }

    /** The peer reads no more. @param {number} code */
    stopped(code) {
        const words = `the peer no longer reads this stream (code ${code})`;
        this.#stopped = new WeftlineError("reset", words, { peerCode: code });
        this.#controller?.error(this.#stopped);
        this.writable.notify();
        this.#end("write");
    }

    /** The session is over: what waits learns it. */
    over() {
        this.readable.notify();
        this.writable.notify();
        this.#controller?.error(this.#closed());
    }

    /** @param {"read" | "write"} half */
    #end(half) {
        if (this.#open.delete(half) && this.#open.size === 0) {
            this.#gone();
        }
    }

    /** Waits until the stream's writing half may go on. */
    async #turn() {
        await this.writable.wait();
        if (this.finished) {
            return;
        }
        const over = this.#stopped ?? this.#closed();
        if (over !== undefined) {
            throw over;
        }
        this.#controller?.signal.throwIfAborted();
    }

    /** @param {ReadableByteStreamController} controller */
    async #pull(controller) {
        for (;;) {
            let chunk;
            try {
                chunk = this.#session.read(this.#id, CHUNK);
            } catch (error) {
                this.#end("read");
                throw error;
            }
            if (chunk !== undefined) {
                this.#changed();
                if (chunk === null) {
                    this.#end("read");
                    controller.close();
                    controller.byobRequest?.respond(0);
                } else {
                    controller.enqueue(/** @type {Uint8Array<ArrayBuffer>} */ (chunk));
                }
                return;
            }
            await this.readable.wait();
        }
    }

    /** @param {unknown} reason */
    #cancel(reason) {
        this.#session.stopStream(this.#id, codeOf(reason));
        this.#changed();
        this.readable.notify();
        this.#end("read");
    }

    /** @param {unknown} chunk */
    async #write(chunk) {
        let rest;
        try {
            rest = bytesOf(chunk);
        } catch (error) {
            // It ends the stream, so the peer must not wait for more.
            this.#abort(undefined);
            throw error;
        }
        while (rest.length > 0) {
            const written = this.#session.write(this.#id, rest.subarray(0, CHUNK));
            rest = rest.subarray(written);
            if (written > 0) {
                this.#changed();
            } else {
                await this.#turn();
            }
        }
    }

    async #finish() {
        this.#session.finish(this.#id);
        this.#changed();
        while (!this.finished) {
            await this.#turn();
        }
        this.#end("write");
    }

    /** @param {unknown} reason */
    #abort(reason) {
        this.#session.resetStream(this.#id, codeOf(reason));
        this.#changed();
        this.writable.notify();
        this.#end("write");
    }
}

/**
 * Bytes of the application.
 *
 * @param {unknown} data
 * @returns {Uint8Array}
 */
export const bytesOf = (data) => {
    if (data instanceof Uint8Array) {
        return data;
    }
    if (ArrayBuffer.isView(data)) {
        return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    }
    if (data instanceof ArrayBuffer) {
        return new Uint8Array(data);
    }
    throw new WeftlineError("argument", "bytes are a Uint8Array, an ArrayBuffer or a view of one: encode text with TextEncoder");
};
