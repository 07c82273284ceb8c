// The connection to the server, made again when it is lost.

import { connect } from "./weftline.js";

// Pauses before further attempts, in milliseconds.
const PAUSES = [0, 250, 500, 1000, 2000, 4000];
// With nothing heard for so long a second connection is tried beside the first.
const SILENCE = 4000;
const ATTEMPT = 5000;
const CHECK = 250;
// In a silence the server is asked so often whether the path is back. While pictures come, reports take their place.
const PROBE = 100;
// What played for so long was no failure.
const STEADY = 5000;
// Codes with which the server closes.
const DONE = 0;
const BUSY = 3;
const NOT_ALLOWED = 5;
const REPLACED = 6;

// Why no further attempt is made.
export class Stop extends Error {
    constructor(headline, details) {
        super(headline);
        this.details = details;
    }
}

const REFUSED = ["This link admits nobody any more", "It has expired, or another viewer has used it. Ask for a new link."];

export class Link {
    #url;
    #token;
    #events;
    #connection;
    #secret;
    #hash;
    #heard = 0;
    // A short silence is enough to try a second connection.
    #hasty = false;
    // A second one was asked for: by it the server may have replaced this one.
    #rival = false;
    #running = false;
    #hurry = () => {};
    // The message that follows a welcome.
    greeting = () => undefined;
    onWelcome = () => {};

    // `secret` is that of an earlier welcome, if there was one.
    constructor(url, token, events, secret) {
        this.#url = url;
        this.#token = token;
        this.#events = events;
        this.#secret = secret;
    }

    // Plays until there is no use in further attempts.
    async run() {
        if (this.#running) {
            return;
        }
        this.#running = true;
        let failures = 0;
        this.#events.onState("connecting", "Connecting");
        try {
            for (;;) {
                let since = Infinity;
                try {
                    this.#use(await this.#open());
                    since = performance.now();
                    await this.#play();
                } catch (error) {
                    if (error instanceof Stop) {
                        throw error;
                    }
                    console.info(error.message ?? error);
                }
                this.#close();
                if (performance.now() - since > STEADY) {
                    failures = 0;
                }
                const pause = PAUSES[Math.min(failures, PAUSES.length - 1)];
                failures += 1;
                this.#events.onState("waiting", "The connection is lost", "Trying to connect again.");
                await new Promise((resolve) => {
                    this.#hurry = resolve;
                    setTimeout(resolve, pause);
                });
            }
        } catch (stop) {
            this.#close();
            this.#events.onState("stopped", stop.message, stop.details ?? "");
        }
        this.#running = false;
    }

    // The page is seen again, or there is a network again.
    wake() {
        this.#hurry();
        this.#hasty = true;
    }

    // There is a connection, and it is not silent.
    get isOpen() {
        return this.#connection !== undefined && this.#silence() < SILENCE;
    }

    send(message) {
        this.#connection?.sendMessage(message).catch(() => {});
    }

    stop(stop) {
        this.#fail?.(stop);
    }

    welcome({ secret, delay }) {
        this.#secret = secret;
        this.onWelcome({ secret, delay });
        this.send(this.greeting());
    }

    stats() {
        return this.#connection?.stats();
    }

    #fail;

    // Milliseconds since anything was heard: where no picture comes, probes are answered.
    #silence() {
        return performance.now() - Math.max(this.#heard, this.#connection?.stats().received.lastHeard ?? 0);
    }

    #close() {
        this.#connection?.close(0, "").catch(() => {});
        this.#connection = undefined;
    }

    #query() {
        const resume = this.#secret ? `&resume=${this.#secret}` : "";
        return `token=${this.#token}${resume}`;
    }

    // Opens a connection with the certificate that is known, or else asks for the present one.
    async #open() {
        if (this.#hash) {
            try {
                return await this.#connect();
            } catch {
                this.#hash = undefined;
            }
        }
        const asked = await fetch(`${this.#url}/certificate?${this.#query()}`, {
            cache: "no-store",
            signal: AbortSignal.timeout(ATTEMPT),
        });
        const { hash, admitted } = await asked.json();
        if (!admitted) {
            throw new Stop(...REFUSED);
        }
        this.#hash = Uint8Array.from(atob(hash), (digit) => digit.charCodeAt(0));
        return this.#connect();
    }

    async #connect() {
        const url = `${this.#url.replace(/^http:/, "https:")}/view?${this.#query()}`;
        const opening = connect(url, {
            certificateHash: this.#hash,
            session: { deliverLate: true, keepAlive: PROBE, messageSize: 4 << 20, messageData: 32 << 20 },
        });
        let timer;
        const late = new Promise((_, reject) => {
            timer = setTimeout(() => reject(new Error("the server does not answer")), ATTEMPT);
        });
        try {
            return await Promise.race([opening, late]);
        } catch (error) {
            opening.then((connection) => connection.close(0, "too late"), () => {});
            throw error;
        } finally {
            clearTimeout(timer);
        }
    }

    #use(connection) {
        this.#connection?.close(0, "replaced by the page").catch(() => {});
        this.#connection = connection;
        this.#heard = performance.now();
        this.#hasty = false;
        this.#rival = false;
    }

    // Takes messages until the connection is over, or replaced by none.
    async #play() {
        let opening;
        let over = false;
        const failed = new Promise((_, reject) => {
            this.#fail = reject;
        });
        failed.catch(() => {});
        const pump = async (connection) => {
            for await (const message of connection.messages()) {
                if (connection === this.#connection) {
                    this.#events.onMessage(message);
                }
            }
            const reason = await connection.closed;
            // The server closes the first one when it admits the second.
            await opening;
            if (connection === this.#connection) {
                throw this.#judge(reason);
            }
        };
        const start = (connection) => pump(connection).catch((error) => this.#fail(error));
        start(this.#connection);
        const check = setInterval(() => {
            const silence = this.#silence();
            this.#hasty &&= silence > CHECK;
            if (opening || silence < (this.#hasty ? CHECK : SILENCE)) {
                return;
            }
            this.#rival = true;
            this.#events.onState("waiting", "The connection is silent", "Trying to connect again.");
            opening = this.#open().then((connection) => {
                if (over) {
                    connection.close(0, "not needed").catch(() => {});
                    return;
                }
                // Even if the first one has come back: for the server it may be replaced.
                this.#use(connection);
                start(connection);
            }).catch((error) => !over && error instanceof Stop && this.#fail(error)).finally(() => {
                opening = undefined;
            });
        }, CHECK);
        try {
            await failed;
        } finally {
            over = true;
            clearInterval(check);
        }
    }

    #judge({ by, code, reason }) {
        if (by === "peer") {
            switch (code) {
                case DONE:
                    return new Stop("The stream has ended", "");
                case NOT_ALLOWED:
                    return new Stop(...REFUSED);
                case REPLACED:
                    if (this.#rival) {
                        break;
                    }
                    return new Stop("This link is open in another place", "It was opened again with the same page.");
                case BUSY:
                    // The place of a session that was lost is free after a while.
                    if (this.#secret) {
                        break;
                    }
                    return new Stop("All places are taken", "Try again when another viewer has left.");
                default:
            }
        }
        return new Error(reason || `the connection ended (${by})`);
    }
}
