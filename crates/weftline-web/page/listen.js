// Sound in the worker: decodes Opus, and gives the page samples with their times.

// Without a chosen delay sound needs a little room, or it crackles.
const ROOM = 60;

export class Listen {
    #clock;
    #post;
    #decoder;
    #channels;
    #inside = new Map();
    on = false;

    constructor(clock, post) {
        this.#clock = clock;
        this.#post = post;
    }

    decode(frame) {
        if (!this.on || typeof AudioDecoder === "undefined") {
            return;
        }
        if (!this.#decoder || this.#decoder.state === "closed" || this.#channels !== frame.channels) {
            this.reset();
            this.#decoder = new AudioDecoder({
                output: (sound) => this.#output(sound),
                error: () => this.reset(),
            });
            this.#channels = frame.channels;
            this.#decoder.configure({ codec: "opus", sampleRate: 48000, numberOfChannels: frame.channels });
        }
        const timestamp = Math.round(frame.show * 1000);
        this.#inside.set(timestamp, frame);
        if (this.#inside.size > 200) {
            this.#inside.delete(this.#inside.keys().next().value);
        }
        this.#decoder.decode(new EncodedAudioChunk({ type: "key", timestamp, data: frame.data }));
    }

    reset() {
        if (this.#decoder && this.#decoder.state !== "closed") {
            this.#decoder.close();
        }
        this.#decoder = undefined;
        this.#inside.clear();
    }

    #output(sound) {
        const frame = this.#inside.get(sound.timestamp);
        this.#inside.delete(sound.timestamp);
        if (frame) {
            const channels = [];
            for (let plane = 0; plane < sound.numberOfChannels; plane += 1) {
                const samples = new Float32Array(sound.numberOfFrames);
                sound.copyTo(samples, { planeIndex: plane, format: "f32-planar" });
                channels.push(samples);
            }
            const at = performance.timeOrigin + this.#clock.at(frame) + (this.#clock.delay === undefined ? ROOM : 0);
            const buffers = channels.map((samples) => samples.buffer);
            this.#post({ sound: { at, rate: sound.sampleRate, channels } }, buffers);
        }
        sound.close();
    }
}
