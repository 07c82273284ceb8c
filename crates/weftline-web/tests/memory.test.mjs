import assert from "node:assert/strict";
import { before, test } from "node:test";

// The memory of the module is seen where it is made.
let memory;
const { instantiate } = WebAssembly;
WebAssembly.instantiate = async (...given) => {
    const made = await instantiate(...given);
    memory = (made.instance ?? made).exports.memory;
    return made;
};

const { init } = await import("weftline/session");
const { connected } = await import("./support/pair.mjs");

before(() => init());

test("100,000 messages leave the memory as large as the first 20,000", () => {
    // At a rate that is reached at once, so that not more and more is in flight.
    const pair = connected({ loss: 0.05, delay: 5, config: "auto,fixed_rate=50" });
    const message = new Uint8Array(300);
    let [sent, received] = [0, 0];
    const sizes = [];
    const heaps = [];
    const work = () => {
        while (sent < 100_000 && pair.server.sendMessage(pair.now, message, sent % 3 === 0 ? 1000 : undefined) !== undefined) {
            sent += 1;
        }
        while (pair.client.recvMessage() !== undefined) {
            received += 1;
            if (received % 20_000 === 0) {
                gc();
                sizes.push(memory.buffer.byteLength);
                heaps.push(process.memoryUsage().heapUsed);
            }
        }
        pair.events.client.length = 0;
        pair.events.server.length = 0;
        pair.lengths.length = 0;
    };
    pair.onEvent = work;
    pair.run(() => {
        work();
        return sent === 100_000 && pair.server.allAcknowledged;
    }, 3_600_000);
    assert.ok(received > 99_000, `${received} received`);
    assert.ok(sizes.length >= 4);
    assert.ok(sizes.at(-1) <= sizes[0] + (1 << 19), `the module's memory: ${sizes}`);
    assert.ok(heaps.at(-1) < heaps[0] + (1 << 20), `the heap: ${heaps}`);
});

test("sessions that were freed leave nothing", () => {
    const round = () => {
        const pair = connected({ delay: 1 });
        pair.server.sendMessage(pair.now, new Uint8Array(100_000));
        pair.run(() => pair.client.recvMessage() !== undefined);
        pair.client.free();
        pair.server.free();
    };
    for (let count = 0; count < 20; count++) {
        round();
    }
    const before = memory.buffer.byteLength;
    for (let count = 0; count < 300; count++) {
        round();
    }
    assert.equal(memory.buffer.byteLength, before);
});
