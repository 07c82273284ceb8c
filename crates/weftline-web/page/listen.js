// Sound in the worker: decodes Opus in order, and gives the page samples with their times.

import { Order } from "./order.js";

// Without a chosen delay sound needs a little room, or it crackles.
const ROOM = 60;
// A missing packet is waited for until the next one is due in so many milliseconds.
const LEAD = 40;
const LOOK = 10;

export class Listen {
    #clock;
    #post;
    #decoder;
    #channels;
    #order = new Order();
    // The number that follows the last packet.
    #next;
    #timer;
    // What is in the decoder, oldest first: the time stamps of what it gives count samples, and not packets.
    #inside = [];
    on = false;

    constructor(clock, post) {
        this.#clock = clock;
        this.#post = post;
    }

    // A packet has arrived now.
    add(frame, now) {
        if (!this.on || typeof AudioDecoder === "undefined") {
            return;
        }
        // Each packet can be decoded without the ones before it.
        frame.key = true;
        this.#order.add(frame, now);
        this.#release();
    }

    // Sound is off.
    stop() {
        clearTimeout(this.#timer);
        this.#order.reset();
        this.#next = undefined;
        this.#reset();
    }

    #at(frame) {
        return this.#clock.at(frame) + (this.#clock.delay === undefined ? ROOM : 0);
    }

    // Decodes what is next; after a gap, only when that is due.
    #release() {
        clearTimeout(this.#timer);
        const now = performance.now();
        const due = (frame) => frame.number === this.#next || this.#at(frame) - now < LEAD;
        for (let frame = this.#order.next(now, due); frame; frame = this.#order.next(now, due)) {
            this.#next = frame.number + 1;
            try {
                this.#decode(frame);
            } catch {
                // No packet of Opus, or a decoder that has failed.
                this.#reset();
            }
        }
        if (this.#order.size > 0) {
            this.#timer = setTimeout(() => this.#release(), LOOK);
        }
    }

    #decode(frame) {
        if (!this.#decoder || this.#decoder.state === "closed" || this.#channels !== frame.channels) {
            this.#reset();
            const decoder = new AudioDecoder({
                output: (sound) => this.#output(sound),
                error: () => decoder === this.#decoder && this.#reset(),
            });
            this.#decoder = decoder;
            this.#channels = frame.channels;
            this.#decoder.configure({ codec: "opus", sampleRate: 48000, numberOfChannels: frame.channels });
        }
        const timestamp = Math.round(frame.show * 1000);
        this.#inside.push(frame);
        if (this.#inside.length > 200) {
            this.#inside.shift();
        }
        this.#decoder.decode(new EncodedAudioChunk({ type: "key", timestamp, data: frame.data }));
    }

    #reset() {
        if (this.#decoder && this.#decoder.state !== "closed") {
            this.#decoder.close();
        }
        this.#decoder = undefined;
        this.#inside.length = 0;
    }

    #output(sound) {
        try {
            const frame = this.#inside.shift();
            if (!frame) {
                return;
            }
            const channels = [];
            for (let plane = 0; plane < sound.numberOfChannels; plane += 1) {
                const samples = new Float32Array(sound.numberOfFrames);
                sound.copyTo(samples, { planeIndex: plane, format: "f32-planar" });
                channels.push(samples);
            }
            const at = performance.timeOrigin + this.#at(frame);
            const buffers = channels.map((samples) => samples.buffer);
            this.#post({ sound: { number: frame.number, at, rate: sound.sampleRate, channels } }, buffers);
        } finally {
            sound.close();
        }
    }
}
