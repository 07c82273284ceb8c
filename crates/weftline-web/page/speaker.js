// Sound in the page: plays samples at their times.

// Samples follow the last ones unless they are off by more than this, in seconds.
const SLACK = 0.05;

export class Speaker {
    #context;
    #end = 0;

    // Browsers allow sound after a click or a key only.
    async start() {
        this.#context ??= new AudioContext({ latencyHint: "interactive", sampleRate: 48000 });
        await this.#context.resume();
    }

    async stop() {
        await this.#context?.suspend();
    }

    play({ at, rate, channels }) {
        const context = this.#context;
        if (!context || context.state !== "running") {
            return;
        }
        const now = performance.timeOrigin + performance.now();
        let begin = context.currentTime + (at - now) / 1000 - (context.outputLatency || 0);
        if (Math.abs(begin - this.#end) < SLACK) {
            begin = this.#end;
        }
        if (begin < context.currentTime) {
            return;
        }
        const buffer = context.createBuffer(channels.length, channels[0].length, rate);
        channels.forEach((samples, channel) => buffer.copyToChannel(samples, channel));
        const source = new AudioBufferSourceNode(context, { buffer });
        source.connect(context.destination);
        source.start(begin);
        this.#end = begin + buffer.duration;
    }
}
