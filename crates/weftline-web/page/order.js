// Which picture is decoded next: in order, and never one that needs a picture that is missing.

const MOST = 1200;
const MOST_BYTES = 48 << 20;

export class Order {
    #waiting = new Map();
    #bytes = 0;
    #last;
    #group;
    // Nothing before the next key frame comes any more.
    #resumes = false;
    // Pictures that were given up.
    skipped = 0;
    // A key frame overtakes the pictures before it. Without a chosen delay they get this long to arrive, in milliseconds.
    patience = 200;

    // A picture has arrived now.
    add(frame, now) {
        if ((this.#last !== undefined && frame.number <= this.#last) || this.#waiting.has(frame.number)) {
            return;
        }
        frame.arrived = now;
        this.#waiting.set(frame.number, frame);
        this.#bytes += frame.data.length;
        while (this.#waiting.size > MOST || this.#bytes > MOST_BYTES) {
            this.#forget(Math.min(...this.#waiting.keys()));
        }
    }

    // The path was silent: the server begins with the newest group, and its key frame waits for no other picture.
    resume() {
        this.#resumes = true;
    }

    // The picture to decode now. `due(frame)` tells whether its time has come; undefined: all are shown as soon as
    // possible.
    next(now, due) {
        const follows = this.#last !== undefined && this.#waiting.get(this.#last + 1);
        if (follows && (follows.key || follows.group === this.#group)) {
            return !due || due(follows) ? this.#take(follows) : undefined;
        }
        const key = this.#oldestKey();
        if (!key) {
            return undefined;
        }
        const first = this.#last === undefined;
        if (due ? !due(key) : !first && !this.#resumes && now - key.arrived < this.patience) {
            return undefined;
        }
        this.skipped += first ? 0 : key.number - this.#last - 1;
        for (const number of [...this.#waiting.keys()]) {
            if (number < key.number) {
                this.#forget(number);
            }
        }
        return this.#take(key);
    }

    // Pictures that wait.
    get size() {
        return this.#waiting.size;
    }

    // The decoder begins anew: with a key frame.
    reset() {
        this.#waiting.clear();
        this.#bytes = 0;
        this.#last = undefined;
    }

    #oldestKey() {
        let oldest;
        for (const frame of this.#waiting.values()) {
            if (frame.key && (!oldest || frame.number < oldest.number)) {
                oldest = frame;
            }
        }
        return oldest;
    }

    #take(frame) {
        this.#forget(frame.number);
        this.#last = frame.number;
        this.#group = frame.group;
        this.#resumes &&= !frame.key;
        return frame;
    }

    #forget(number) {
        this.#bytes -= this.#waiting.get(number).data.length;
        this.#waiting.delete(number);
    }
}

// When a frame is to be shown: the fastest of the last seconds tells how long the path takes at least.
export class Clock {
    #now = Infinity;
    #before = Infinity;
    #turned = 0;
    // Chosen by the viewer, in milliseconds; undefined: as soon as possible.
    delay;

    // A frame arrived.
    on(frame, now) {
        if (now - this.#turned > 10_000) {
            [this.#before, this.#now, this.#turned] = [this.#now, Infinity, now];
        }
        this.#now = Math.min(this.#now, now - frame.show);
    }

    // The server's clock on this page, later by the path.
    get offset() {
        return Math.min(this.#now, this.#before);
    }

    // When this frame is to be shown.
    at(frame) {
        return frame.show + this.offset + (this.delay ?? 0);
    }
}
