// Two sessions over a path with losses, in virtual time.

import { Session } from "weftline/session";

import { random } from "./random.mjs";

export class Pair {
    now = 0;
    /** Events of each end, in order. */
    events = { client: [], server: [] };
    /** Lengths of all datagrams that were sent. */
    lengths = [];
    /** The application wants to be asked at this time. */
    alarm;
    /** Called for each event, with the end's name and the event. */
    onEvent = () => {};
    #flying = [];
    #next;
    #path;

    /** `loss`: share of datagrams; `delay`: ms one way; `jitter`: at most this much more, so that some overtake others. */
    constructor({ config = "auto", options = {}, seed = 1, loss = 0, delay = 20, jitter = 0 } = {}) {
        this.#next = random(seed);
        this.#path = { loss, delay, jitter };
        for (const role of ["client", "server"]) {
            this[role] = new Session(config, role, { seed, ...options });
        }
    }

    /** Changes the path from now on. */
    setPath(change) {
        Object.assign(this.#path, change);
    }

    /** Runs until `done` returns true; fails at `end` (ms). */
    run(done = () => false, end = this.now + 60_000) {
        for (;;) {
            this.#settle();
            if (done()) {
                return;
            }
            this.#settle();
            const times = [this.client.pollTimeout(), this.server.pollTimeout(), this.#flying[0]?.at, this.alarm];
            const next = Math.min(...times.filter((time) => time !== undefined));
            if (next > end) {
                throw new Error(`not done after ${this.now} ms`);
            }
            this.now = Math.max(this.now, next);
            this.alarm = this.alarm > this.now ? this.alarm : undefined;
            while (this.#flying[0]?.at <= this.now) {
                const { to, datagram } = this.#flying.shift();
                this[to].handleDatagram(this.now, datagram);
            }
            for (const role of ["client", "server"]) {
                if (this[role].pollTimeout() <= this.now) {
                    this[role].handleTimeout(this.now);
                }
            }
        }
    }

    /** Runs until nothing more happens: both sessions are over. */
    runOut() {
        this.run(() => this.client.pollTimeout() === undefined && this.server.pollTimeout() === undefined);
    }

    #settle() {
        for (let worked = true; worked; ) {
            worked = false;
            for (const [role, to] of [["client", "server"], ["server", "client"]]) {
                for (let event; (event = this[role].pollEvent()) !== undefined; worked = true) {
                    this.events[role].push(event);
                    this.onEvent(role, event);
                }
                for (let datagram; (datagram = this[role].pollTransmit(this.now)) !== undefined; worked = true) {
                    this.lengths.push(datagram.length);
                    this.#send(to, datagram);
                }
            }
        }
    }

    #send(to, datagram) {
        const { loss, delay, jitter } = this.#path;
        if (this.#next() < loss) {
            return;
        }
        const at = this.now + delay + jitter * this.#next();
        const place = this.#flying.findLastIndex((other) => other.at <= at) + 1;
        this.#flying.splice(place, 0, { at, to, datagram });
    }
}

/** A pair whose ends know each other. */
export const connected = (options) => {
    const pair = new Pair(options);
    const isConnected = (role) => pair.events[role].some((event) => event.type === "connected");
    pair.run(() => isConnected("client") && isConnected("server"));
    return pair;
};
