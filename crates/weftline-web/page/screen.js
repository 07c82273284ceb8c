// Decodes pictures and draws each at its time.

// A picture is decoded this long before it is shown: decoded ones take much memory.
export const LEAD = 120;
// One that is drawn later than this after its time is late.
const LATE = 20;
const MOST_DECODED = 60;
// Decoders give pictures out of order by less than this.
const MOST_REORDERED = 32;
// A decoder that is full and gives nothing for so long has failed.
const STALL = 2000;

export class Screen {
    #canvas;
    #pen;
    #clock;
    #decoder;
    #codec;
    #decoded = [];
    // What is in the decoder, by time stamp.
    #inside = new Map();
    #timer;
    #stalled;
    #onError;
    // A shown picture, or one that was decoded and not shown.
    onShown = () => {};
    shown = 0;
    hidden = 0;
    size = "";
    // Milliseconds that pictures were behind the server's clock, without the path.
    behind = 0;

    constructor(canvas, clock, onError) {
        this.#canvas = canvas;
        this.#pen = canvas.getContext("2d", { alpha: false, desynchronized: true });
        this.#clock = clock;
        this.#onError = onError;
    }

    // There is room for a further picture.
    get ready() {
        return this.#inside.size + this.#decoded.length < MOST_DECODED;
    }

    decode(frame) {
        try {
            if (frame.key && (frame.codec !== this.#codec || this.#decoder?.state !== "configured")) {
                this.#configure(frame.codec);
            }
            const timestamp = Math.round(frame.show * 1000);
            this.#inside.set(timestamp, frame);
            const type = frame.key ? "key" : "delta";
            this.#decoder.decode(new EncodedVideoChunk({ type, timestamp, data: frame.data }));
            frame.bytes = frame.data.length;
            frame.data = undefined;
            clearTimeout(this.#stalled);
            if (!this.ready) {
                this.#stalled = setTimeout(() => this.ready || this.#fail(new Error("it gives no pictures")), STALL);
            }
        } catch (error) {
            this.#fail(error);
        }
    }

    // Draws what is due; after a change of the delay, too.
    draw() {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        const now = performance.now();
        let due;
        while (this.#decoded.length > 0 && this.#clock.at(this.#decoded[0].frame) <= now) {
            if (due) {
                this.#done(due, null);
                this.hidden += 1;
            }
            due = this.#decoded.shift();
        }
        if (due) {
            const { picture, frame } = due;
            const { displayWidth: width, displayHeight: height } = picture;
            if (this.#canvas.width !== width || this.#canvas.height !== height) {
                [this.#canvas.width, this.#canvas.height] = [width, height];
            }
            this.#pen.drawImage(picture, 0, 0, width, height);
            this.size = `${width} × ${height}`;
            this.shown += 1;
            const time = performance.now();
            this.behind = time - frame.show - this.#clock.offset;
            this.#done(due, time);
        }
        if (this.#decoded.length > 0) {
            const wait = this.#clock.at(this.#decoded[0].frame) - performance.now();
            this.#timer = setTimeout(() => this.draw(), Math.max(0, wait));
        }
    }

    reset() {
        clearTimeout(this.#stalled);
        if (this.#decoder && this.#decoder.state !== "closed") {
            this.#decoder.close();
        }
        this.#decoder = undefined;
        this.#inside.clear();
        this.#decoded.splice(0).forEach(({ picture }) => picture.close());
    }

    #configure(codec) {
        if (!this.#decoder || this.#decoder.state === "closed") {
            const decoder = new VideoDecoder({
                output: (picture) => this.#output(picture),
                error: (error) => decoder === this.#decoder && this.#fail(error),
            });
            this.#decoder = decoder;
        }
        this.#codec = codec;
        this.#decoder.configure({ codec, optimizeForLatency: true });
    }

    #output(picture) {
        const frame = this.#inside.get(picture.timestamp);
        if (!frame) {
            picture.close();
            return;
        }
        this.#inside.delete(picture.timestamp);
        // What a decoder swallows does not count for ever.
        for (const [timestamp, { number }] of this.#inside) {
            if (number + MOST_REORDERED < frame.number) {
                this.#inside.delete(timestamp);
            }
        }
        this.#decoded.push({ picture, frame });
        this.draw();
        this.onRoom?.();
    }

    #done({ picture, frame }, time) {
        picture.close();
        const late = time === null || (this.#clock.delay !== undefined && time > this.#clock.at(frame) + LATE);
        this.onShown(frame, time, late);
    }

    #fail(error) {
        this.reset();
        this.#onError(error, this.#codec);
    }
}
