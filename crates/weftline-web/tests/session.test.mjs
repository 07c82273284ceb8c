import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, describe, test } from "node:test";

import { init, minDatagram, Session, WeftlineError } from "weftline/session";

import { connected, Pair } from "./support/pair.mjs";
import { bytes, random, seed } from "./support/random.mjs";

const fails = (code, call) => assert.throws(call, (error) => error instanceof WeftlineError && error.code === code);
const digest = (data) => createHash("sha256").update(data).digest("hex");

before(() => init());

describe(`over a path that loses (seed ${seed})`, () => {
    for (const preset of ["auto", "streaming,l=5", "arq", "block", "rest", "udp-rc", "rlc-block"]) {
        test(`${preset}: every message arrives once, both ways`, () => {
            const pair = connected({ config: preset, seed, loss: 0.1, jitter: 5 });
            const next = random(seed);
            const messages = Array.from({ length: 300 }, () => bytes(next, 1 + Math.floor(next() * 4000)));
            const expected = messages.map(digest).sort();
            const got = { client: [], server: [] };
            const sent = { client: 0, server: 0 };
            const work = (role) => {
                while (sent[role] < messages.length && pair[role].sendMessage(pair.now, messages[sent[role]]) !== undefined) {
                    sent[role] += 1;
                }
                for (let message; (message = pair[role].recvMessage()) !== undefined; ) {
                    assert.equal(message.late, false);
                    got[role].push(digest(message.data));
                }
            };
            pair.onEvent = work;
            work("client");
            work("server");
            pair.run(() => got.client.length >= 300 && got.server.length >= 300 && pair.client.allAcknowledged);
            assert.deepEqual(got.client.sort(), expected);
            assert.deepEqual(got.server.sort(), expected);
        });
    }

    test("symbols are recovered, and the counters say so", () => {
        const pair = connected({ seed, loss: 0.2 });
        for (let round = 0; round < 200; round++) {
            pair.server.sendMessage(pair.now, new Uint8Array(1000));
        }
        let got = 0;
        pair.run(() => {
            while (pair.client.recvMessage() !== undefined) {
                got += 1;
            }
            return got === 200;
        });
        const stats = pair.client.stats();
        assert.ok(stats.received.recoveredSymbols > 0);
        assert.ok(stats.received.data >= 200_000);
        assert.ok(pair.server.stats().path.minRtt >= 40 && pair.server.stats().path.minRtt < 50);
        assert.deepEqual(Object.keys(stats), ["sent", "received", "dropped", "stalls", "path"]);
        const numbers = Object.values(stats).flatMap((part) => (typeof part === "number" ? [part] : Object.values(part)));
        assert.equal(numbers.length, 9 + 12 + 4 + 1 + 7);
        assert.ok(numbers.every(Number.isFinite), JSON.stringify(stats));
    });

    test("a stream arrives whole and in order, and both ends learn its end", () => {
        const pair = connected({ seed, loss: 0.1, jitter: 10 });
        const data = bytes(random(seed), 1_000_000);
        const stream = pair.client.openStream();
        let written = 0;
        let accepted;
        const chunks = [];
        let ended = false;
        const write = () => {
            while (written < data.length) {
                const taken = pair.client.write(stream, data.subarray(written, written + 65_536));
                written += taken;
                if (taken === 0) {
                    return;
                }
                if (written === data.length) {
                    pair.client.finish(stream);
                }
            }
        };
        pair.onEvent = (role, event) => {
            if (role === "client" && event.type === "streamWritable") {
                assert.equal(event.stream, stream);
                write();
            } else if (event.type === "streamOpened") {
                accepted = pair.server.acceptStream();
            }
            for (let chunk; accepted !== undefined && !ended && (chunk = pair.server.read(accepted, 50_000)) !== undefined; ) {
                ended = chunk === null;
                chunk === null || chunks.push(chunk);
            }
        };
        write();
        pair.run(() => ended && pair.events.client.some((event) => event.type === "streamFinished"));
        assert.equal(digest(Buffer.concat(chunks)), digest(data));
        fails("end", () => pair.client.write(stream, new Uint8Array(1)));
    });
});

test("a message with a deadline is delivered in time, or expires: each has one fate", () => {
    const pair = connected({ seed, loss: 0.3, delay: 20 });
    const fates = new Map();
    const sentAt = new Map();
    pair.onEvent = (role, event) => {
        if (event.type === "messageDelivered" || event.type === "messageExpired") {
            assert.ok(!fates.has(event.message));
            fates.set(event.message, event.type);
        }
    };
    const data = new Uint8Array(1000);
    const view = new DataView(data.buffer);
    let received = 0;
    let sent = 0;
    let nextAt = pair.now;
    pair.run(() => {
        if (sent < 300 && pair.now >= nextAt) {
            view.setFloat64(0, pair.now);
            sentAt.set(pair.server.sendMessage(pair.now, data, 45), pair.now);
            pair.alarm = nextAt = pair.now + 10;
            sent += 1;
        }
        for (let message; (message = pair.client.recvMessage()) !== undefined; received++) {
            const at = new DataView(message.data.buffer).getFloat64(0);
            assert.equal(message.late, false);
            // The ends' clocks are not compared: to the receiver the shortest way takes no time.
            assert.ok(pair.now - at <= 45 + 20 + 1, `delivered after ${pair.now - at} ms`);
        }
        return fates.size === 300;
    });
    assert.equal(sentAt.size, 300);
    const delivered = [...fates.values()].filter((fate) => fate === "messageDelivered").length;
    assert.ok(delivered > 150 && received > 150, `${delivered} delivered, ${received} received`);
    assert.ok(delivered < 300, "nobody lost anything at 30 % within a round trip");
});

test("late messages come only to those who ask for them", () => {
    for (const deliverLate of [true, false]) {
        const pair = connected({ options: { deliverLate }, delay: 20 });
        pair.server.sendMessage(pair.now, new Uint8Array(5));
        pair.run(() => pair.client.recvMessage() !== undefined);
        // The receiver knows how long the way usually is.
        pair.setPath({ delay: 120 });
        pair.server.sendMessage(pair.now, new Uint8Array(10), 60);
        pair.server.sendMessage(pair.now, new Uint8Array(20));
        const got = [];
        pair.run(() => {
            for (let message; (message = pair.client.recvMessage()) !== undefined; ) {
                got.push([message.data.length, message.late]);
            }
            return got.some(([length]) => length === 20);
        });
        assert.deepEqual(got.sort(), deliverLate ? [[10, true], [20, false]] : [[20, false]]);
    }
});

test("a stream that is reset or stopped tells the code of the application", () => {
    const pair = connected();
    const stream = pair.client.openStream();
    pair.client.write(stream, new Uint8Array(10));
    pair.run(() => pair.server.acceptStream() === stream);
    pair.server.stopStream(stream, 5);
    pair.run(() => pair.events.client.some((event) => event.type === "streamStopped" && event.code === 5));
    assert.throws(() => pair.client.write(stream, new Uint8Array(1)), { code: "reset", peerCode: 5 });

    const other = pair.client.openStream();
    pair.client.write(other, new Uint8Array(10));
    pair.client.resetStream(other, 2 ** 40);
    let accepted;
    pair.run(() => (accepted ??= pair.server.acceptStream()) !== undefined);
    assert.throws(() => {
        pair.run(() => pair.server.read(accepted, 100) === null);
    }, { code: "reset", peerCode: 2 ** 40 });
});

test("a close reaches the peer with its code and its words, and both sessions end", () => {
    const pair = connected({ loss: 0.2, seed });
    pair.client.close(pair.now, 7, "enough");
    assert.deepEqual(pair.client.closeReason, { by: "local", code: undefined, reason: "closed by this end" });
    fails("closed", () => pair.client.sendMessage(pair.now, new Uint8Array(1)));
    fails("closed", () => pair.client.openStream());
    pair.run(() => pair.server.closeReason !== undefined);
    assert.deepEqual(pair.server.closeReason, { by: "peer", code: 7, reason: "enough" });
    assert.equal(pair.events.server.at(-1).type, "closed");
    pair.runOut();
});

test("a session that hears nothing ends", () => {
    const pair = connected({ config: "auto,idle=5" });
    pair.setPath({ loss: 1 });
    pair.runOut();
    assert.equal(pair.client.closeReason.by, "timeout");
    assert.match(pair.client.closeReason.reason, /5 s/);
});

test("no datagram is longer than the path takes", () => {
    const pair = new Pair();
    pair.client.setLargestDatagram(600);
    pair.server.setLargestDatagram(minDatagram());
    pair.run(() => pair.events.server.length > 0);
    pair.server.sendMessage(pair.now, new Uint8Array(10_000));
    pair.client.sendMessage(pair.now, new Uint8Array(10_000));
    pair.run(() => pair.server.recvMessage() !== undefined);
    pair.run(() => pair.client.recvMessage() !== undefined);
    assert.ok(Math.max(...pair.lengths) <= 600);
    fails("argument", () => pair.client.setLargestDatagram(minDatagram() - 1));
});

test("equal seeds give equal datagrams; without one they are random", () => {
    const first = (options) => new Session("auto", "client", options).pollTransmit(0);
    assert.deepEqual(first({ seed: 5 }), first({ seed: 5 }));
    const lengths = (options) => {
        const pair = connected(options);
        pair.server.sendMessage(pair.now, new Uint8Array(50_000));
        pair.run(() => pair.client.recvMessage() !== undefined);
        return pair.lengths;
    };
    assert.deepEqual(lengths({ seed: 9, loss: 0.1 }), lengths({ seed: 9, loss: 0.1 }));
});

test("time never goes backwards, whatever the caller says", () => {
    const pair = connected();
    const due = pair.client.pollTimeout();
    for (const bad of [0, -5, NaN, -Infinity, pair.now - 1000]) {
        pair.client.handleTimeout(bad);
        pair.client.handleDatagram(bad, new Uint8Array(3));
        pair.client.pollTransmit(bad);
    }
    assert.equal(pair.client.closeReason, undefined);
    assert.equal(pair.client.pollTimeout(), due);
});

test("what makes no sense is refused with words that help", () => {
    assert.throws(() => new Session("auot", "client"), /use one of .*auto/);
    assert.throws(() => new Session("auto,delya=5", "client"), /delay/);
    assert.throws(() => new Session("auto", "clinet"), /client or server/);
    assert.throws(() => new Session("auto", "client", { streams: 1 }), /limits.streams = 1/);
    assert.throws(() => new Session("auto", "client", { keepAlive: -1 }), /keepAlive is -1/);
    assert.throws(() => new Session("auto", "client", { seed: 0.5 }), /seed is 0.5/);
    const pair = connected();
    assert.throws(() => pair.client.sendMessage(0, new Uint8Array(2 << 20)), /use a stream/);
    fails("argument", () => pair.client.sendMessage(0, new Uint8Array(1), -1));
    fails("argument", () => pair.client.sendMessage(0, new ArrayBuffer(5)));
    fails("argument", () => pair.client.handleDatagram(0, "text"));
    fails("argument", () => pair.client.read(17, 100));
    fails("argument", () => pair.client.read(pair.client.openStream(), 0));
    fails("argument", () => pair.client.close(0, -1, ""));
});
