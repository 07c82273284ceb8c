// When work is done: in a task of its own, or at a time.

/**
 * Runs one function: soon, in a task after those that wait already, or at a time. Calls before it runs are one.
 *
 * A timer only asks for a task. A browser lets timers that timers set wait for 4 ms at least, but not those that
 * such a task sets.
 */
export class Tasks {
    /** @type {() => void} */
    #run;
    #channel = new MessageChannel();
    #asked = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #timer;
    /** When the timer is due. */
    #due = Infinity;

    /** @param {() => void} run */
    constructor(run) {
        this.#run = run;
        this.#channel.port1.onmessage = () => {
            if (this.#asked) {
                this.#asked = false;
                this.#run();
            }
        };
    }

    /** Runs the function in a task of its own, after what has arrived already. */
    soon() {
        if (!this.#asked) {
            this.#asked = true;
            this.#channel.port2.postMessage(0);
        }
    }

    /**
     * Runs the function at this time of `performance.now()`, instead of at the time given before.
     *
     * @param {number} due
     */
    at(due) {
        if (due === this.#due && this.#timer !== undefined) {
            return;
        }
        clearTimeout(this.#timer);
        this.#due = due;
        // A longer wait than a timer can hold is cut: an early run is harmless. Whole milliseconds are cut, not
        // rounded up, by some: never early, so that the function has something to do.
        const wait = Math.min(Math.max(Math.ceil(due - performance.now()), 0), 0x7fffffff);
        this.#timer = setTimeout(() => {
            this.#timer = undefined;
            this.soon();
        }, wait);
    }

    /** Runs the function no more. */
    stop() {
        clearTimeout(this.#timer);
        this.#asked = false;
        this.#channel.port1.onmessage = null;
        this.#channel.port1.close();
    }
}
