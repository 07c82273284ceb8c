// The order and the times of sound in the page of `weftline view`, with a decoder and a device that are none.

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { pathToFileURL } from "node:url";

const page = (name) => import(pathToFileURL(`${process.env.WEFTLINE_PAGE}/${name}`).href);
const { Clock } = await page("order.js");
const { Listen } = await page("listen.js");
const { Speaker } = await page("speaker.js");

let now;
let sounds;
let device;

class FakeDecoder {
    state = "configured";
    constructor({ output }) {
        this.output = output;
    }
    configure({ numberOfChannels }) {
        if (numberOfChannels < 1) {
            throw new TypeError("no channels");
        }
    }
    // As Chromium does, it counts samples from the first time stamp on.
    decode(chunk) {
        this.next ??= chunk.timestamp;
        const timestamp = this.next;
        this.next += 20_000;
        this.output({ timestamp, numberOfChannels: 1, numberOfFrames: 960, sampleRate: 48000, copyTo: () => {}, close: () => {} });
    }
    close() {
        this.state = "closed";
    }
}

class FakeContext {
    state = "suspended";
    outputLatency = 0;
    get currentTime() {
        return now / 1000;
    }
    constructor() {
        device = this;
    }
    async resume() {
        this.state = "running";
    }
    async suspend() {
        this.state = "suspended";
    }
    createBuffer(_, length, rate) {
        return { duration: length / rate, copyToChannel: () => {} };
    }
}

class FakeSource extends EventTarget {
    connect() {}
    start(begin) {
        sounds.push(this);
        this.begin = begin;
    }
    stop() {
        this.stopped = true;
    }
}

beforeEach(() => {
    [now, sounds] = [0, []];
    mock.timers.enable({ apis: ["setTimeout"] });
    mock.method(performance, "now", () => now);
    Object.assign(globalThis, {
        AudioDecoder: FakeDecoder,
        AudioContext: FakeContext,
        AudioBufferSourceNode: FakeSource,
        EncodedAudioChunk: function EncodedAudioChunk(chunk) {
            Object.assign(this, chunk);
        },
    });
});
afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
});

const pass = (ms) => {
    for (let left = ms; left > 0; left -= 1) {
        now += 1;
        mock.timers.tick(1);
    }
};
const packet = (number, channels = 1) => ({ number, channels, show: number * 20.1, data: new Uint8Array(9) });

const listening = (delay) => {
    const numbers = [];
    const clock = new Clock();
    clock.delay = delay;
    const listen = new Listen(clock, ({ sound }) => numbers.push(sound.number));
    listen.on = true;
    const arrive = (...frames) => {
        for (const frame of frames) {
            clock.on(frame, now);
            listen.add(frame, now);
        }
    };
    return { listen, numbers, arrive };
};

test("packets of sound are decoded in order, and a missing one is waited for until the next one is due", () => {
    const { numbers, arrive } = listening(200);
    arrive(packet(0));
    pass(175);
    assert.deepEqual(numbers, [0]);
    arrive(packet(2), packet(1), packet(1), packet(4), packet(5), packet(0));
    assert.deepEqual(numbers, [0, 1, 2]);
    // 4 is due at 280.
    pass(60);
    assert.deepEqual(numbers, [0, 1, 2]);
    pass(20);
    assert.deepEqual(numbers, [0, 1, 2, 4, 5]);
    arrive(packet(3), packet(6));
    assert.deepEqual(numbers, [0, 1, 2, 4, 5, 6]);
});

test("packets that cannot be decoded harm no others, and sound that was off begins anew", () => {
    const { listen, numbers, arrive } = listening(undefined);
    arrive(packet(0, 0), packet(1));
    pass(30);
    assert.deepEqual(numbers, [1]);
    arrive(packet(3));
    listen.stop();
    pass(1000);
    assert.deepEqual(numbers, [1]);
    arrive(packet(50));
    pass(100);
    assert.deepEqual(numbers, [1, 50]);
});

const speaking = async (latency = 0) => {
    const speaker = new Speaker();
    await speaker.start();
    device.outputLatency = latency;
    // `ms`: when it is to be heard, from now.
    const play = (number, ms) =>
        speaker.play({ number, at: performance.timeOrigin + now + ms, rate: 48000, channels: [new Float32Array(960)] });
    return { speaker, play };
};
const begins = () => sounds.map(({ begin }) => Math.round(begin * 1000));

test("packets follow each other without a seam, and a missing one is a pause", async () => {
    const { play } = await speaking();
    play(0, 100);
    play(1, 127);
    play(2, 131);
    play(4, 180);
    assert.deepEqual(begins(), [100, 120, 140, 180]);
});

test("a device that takes longer than the delay plays later, and steadily", async () => {
    const { play } = await speaking(0.2);
    for (let number = 0; number < 10; number += 1) {
        play(number, 60 - (number % 2));
        pass(20);
    }
    // Two are left out, and the others follow the third one.
    assert.deepEqual(begins(), [60, 80, 100, 120, 140, 160, 180, 200]);
});

test("sound that is late is not played, whatever the device", async () => {
    const { play } = await speaking(0.2);
    for (let number = 0; number < 10; number += 1) {
        play(number, -10);
        pass(20);
    }
    assert.deepEqual(begins(), []);
});

test("a shorter delay and a stop leave nothing of before", async () => {
    const { speaker, play } = await speaking();
    play(0, 10_000);
    play(1, 10_020);
    // Without being told, too: packets of both delays may be on their way.
    play(2, 200);
    assert.deepEqual(sounds.map(({ stopped }) => stopped), [true, true, undefined]);
    assert.equal(begins()[2], 200);
    await speaker.stop();
    assert(sounds.every(({ stopped }) => stopped));
    assert.equal(device.state, "suspended");
});
