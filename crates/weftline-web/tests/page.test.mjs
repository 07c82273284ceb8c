// The parts of the page of `weftline view` that need no browser: its messages, and the order of pictures.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const page = (name) => import(pathToFileURL(`${process.env.WEFTLINE_PAGE}/${name}`).href);
const { Clock, Order } = await page("order.js");
const { againMessage, delayMessage, read } = await page("wire.js");

const picture = (number, group = 0) => ({ number, key: number === group, group, data: new Uint8Array(10), show: number * 33 });

// The numbers of all pictures that are decoded now.
const decoded = (order, now = 0, due = undefined) => {
    const numbers = [];
    for (let frame = order.next(now, due); frame; frame = order.next(now, due)) {
        numbers.push(frame.number);
    }
    return numbers;
};

test("pictures are decoded in order, each once, from a key frame on", () => {
    const order = new Order();
    for (const number of [1, 2]) {
        order.add(picture(number), 0);
    }
    assert.deepEqual(decoded(order), []);
    order.add(picture(0), 0);
    assert.deepEqual(decoded(order), [0, 1, 2]);
    order.add(picture(1), 0);
    order.add(picture(4), 0);
    assert.deepEqual(decoded(order), []);
    order.add(picture(3), 0);
    assert.deepEqual(decoded(order), [3, 4]);
});

test("a picture whose predecessor is missing is never decoded", () => {
    let seed = 7;
    const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    for (let round = 0; round < 200; round += 1) {
        const order = new Order();
        const all = [];
        for (let number = 0; number < 60; number += 1) {
            if (random() > 0.15) {
                all.push([number + 8 * random(), picture(number, number - (number % 10))]);
            }
        }
        all.sort(([a], [b]) => a - b);
        let last;
        for (const [at, frame] of all) {
            order.add(frame, at * 33);
            for (const number of decoded(order, at * 33 + 50)) {
                assert(number === last + 1 || number % 10 === 0, `${number} after ${last}`);
                assert(last === undefined || number > last);
                last = number;
            }
        }
    }
});

test("after a gap it goes on with a key frame: after a pause, or when that is due", () => {
    const order = new Order();
    [0, 1, 3].forEach((number) => order.add(picture(number), 0));
    assert.deepEqual(decoded(order), [0, 1]);
    [picture(5, 5), picture(6, 5)].forEach((frame) => order.add(frame, 1000));
    assert.deepEqual(decoded(order, 1000 + order.patience - 1), []);
    assert.deepEqual(decoded(order, 1000 + order.patience), [5, 6]);
    assert.equal(order.skipped, 3);
    [picture(10, 10)].forEach((frame) => order.add(frame, 2000));
    assert.deepEqual(decoded(order, 9999, () => false), []);
    assert.deepEqual(decoded(order, 2000, () => true), [10]);
});

test("after a silence a key frame waits for no picture before it, and the next one does", () => {
    const order = new Order();
    [0, 1].forEach((number) => order.add(picture(number), 0));
    assert.deepEqual(decoded(order), [0, 1]);
    order.resume();
    order.add(picture(3), 5000);
    assert.deepEqual(decoded(order, 5000), []);
    [picture(5, 5), picture(6, 5)].forEach((frame) => order.add(frame, 5000));
    assert.deepEqual(decoded(order, 5000), [5, 6]);
    order.add(picture(10, 10), 5100);
    assert.deepEqual(decoded(order, 5100), []);
    order.add(picture(7, 5), 5110);
    assert.deepEqual(decoded(order, 5110), [7]);
});

test("pictures wait until they are due, and what waits is bounded", () => {
    const order = new Order();
    for (let number = 0; number < 5000; number += 1) {
        order.add(picture(number, number - (number % 100)), 0);
    }
    assert(order.size <= 1200);
    assert.deepEqual(decoded(order, 0, () => false), []);
    assert.equal(decoded(order, 0, () => true).length, 1200);
    order.reset();
    order.add(picture(3, 3), 0);
    assert.deepEqual(decoded(order), [3]);
});

test("the fastest frame is the measure of the others", () => {
    const clock = new Clock();
    for (const [show, at] of [[0, 120], [33, 140], [66, 250]]) {
        clock.on({ show }, at);
    }
    assert.equal(clock.at({ show: 100 }), 207);
    clock.delay = 200;
    assert.equal(clock.at({ show: 100 }), 407);
    // A clock that runs slow is followed.
    for (let at = 1000; at < 60_000; at += 1000) {
        clock.on({ show: at - 500 }, at);
    }
    assert.equal(clock.offset, 500);
});

test("messages are those of the document", () => {
    const head = (kind, flags) => [kind, flags, 0, 0, 0, 7, ...[1000, 2000, 3000].flatMap((n) => [0, 0, 0, 0, 0, 0, n >> 8, n & 255])];
    const bytes = (...parts) => Uint8Array.from(parts.flat());
    const ascii = (text) => [...text].map((letter) => letter.charCodeAt(0));
    const key = read(bytes(head(1, 1), 4, ascii("avc1"), 9, 9));
    assert.deepEqual({ ...key, data: [...key.data] }, {
        kind: "video", key: true, number: 7, show: 1, came: 2, wall: 3, codec: "avc1", group: 7, data: [9, 9],
    });
    const delta = read(bytes(head(1, 0), 0, 0, 0, 5, 9));
    assert.deepEqual([delta.key, delta.group, ...delta.data], [false, 5, 9]);
    const sound = read(bytes(head(2, 0), 2, 9));
    assert.deepEqual([sound.kind, sound.channels, ...sound.data], ["sound", 2, 9]);
    const welcome = read(bytes(3, 1, 0, 200, ascii("abc")));
    assert.deepEqual(welcome, { kind: "welcome", known: true, delay: 200, secret: "abc" });
    for (const other of [[], [9], [3, 1], [1], head(1, 0), [...head(1, 0), 0]]) {
        assert.equal(read(bytes(other)), undefined);
    }
    assert.deepEqual([...delayMessage(10_000)], [1, 0x27, 0x10]);
    assert.deepEqual([...againMessage()], [2]);
});
