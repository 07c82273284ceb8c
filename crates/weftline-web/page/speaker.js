// Sound in the page: plays samples at their times.

// A packet follows the one before it unless it is off by more than this, in seconds: the device's clock goes in steps.
const SLACK = 0.05;
// A late beginning leaves so much room, in seconds.
const ROOM = 0.02;
// One late packet is left out. After so many in a row all sound comes later.
const LATE = 3;

export class Speaker {
    #context;
    // What is playing or will be.
    #sources = new Set();
    #end = 0;
    #last;
    // Sound comes so much later than asked for, in seconds: a wireless device may take longer than the delay.
    #lag = 0;
    #late = 0;

    // Browsers allow sound after a click or a key only.
    async start() {
        this.#context ??= new AudioContext({ latencyHint: "interactive", sampleRate: 48000 });
        await this.#context.resume();
    }

    async stop() {
        this.clear();
        await this.#context?.suspend();
    }

    // Forgets what is not played yet.
    clear() {
        this.#sources.forEach((source) => source.stop());
        this.#sources.clear();
        this.#end = 0;
        this.#lag = 0;
        this.#late = 0;
    }

    play({ number, at, rate, channels }) {
        const context = this.#context;
        if (!context || context.state !== "running") {
            return;
        }
        const room = (at - performance.timeOrigin - performance.now()) / 1000;
        let begin = context.currentTime + room - (context.outputLatency || 0) + this.#lag;
        const off = begin - this.#end;
        if (off < -SLACK) {
            // The clock or the delay has changed: what was meant for later is wrong.
            this.#sources.forEach((source) => source.stop());
        } else if (off < (number === this.#last + 1 ? SLACK : 0)) {
            begin = this.#end;
        }
        if (begin < context.currentTime) {
            this.#late += 1;
            // It was due before the device could play it, or that happens now and then.
            if (room < 0 || this.#late < LATE) {
                return;
            }
            this.#lag += context.currentTime + ROOM - begin;
            begin = context.currentTime + ROOM;
        }
        this.#late = 0;
        const buffer = context.createBuffer(channels.length, channels[0].length, rate);
        channels.forEach((samples, channel) => buffer.copyToChannel(samples, channel));
        const source = new AudioBufferSourceNode(context, { buffer });
        source.connect(context.destination);
        source.addEventListener("ended", () => this.#sources.delete(source));
        this.#sources.add(source);
        source.start(begin);
        this.#end = begin + buffer.duration;
        this.#last = number;
    }
}
