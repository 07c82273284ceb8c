import assert from "node:assert/strict";
import { before, test } from "node:test";

import { init, WeftlineError } from "weftline/session";

import { connected } from "./support/pair.mjs";
import { bytes, random, seed } from "./support/random.mjs";

before(() => init());

/** Takes all that a session gives, as a driver does. */
const drain = (session, now) => {
    const sent = [];
    while (session.pollEvent() !== undefined);
    while (session.recvMessage() !== undefined);
    for (let datagram; (datagram = session.pollTransmit(now)) !== undefined && sent.length < 1000; ) {
        sent.push(datagram);
    }
    assert.ok(sent.length < 1000, "a datagram that arrived makes a session send without end");
    return sent;
};

test(`random bytes as datagrams do nothing worse than end a session (seed ${seed})`, () => {
    const next = random(seed);
    for (let round = 0; round < 20; round++) {
        const { client, now } = connected({ seed: round });
        for (let count = 0; count < 2000; count++) {
            client.handleDatagram(now + count, bytes(next, Math.floor(next() * 1500)));
            drain(client, now + count);
            assert.ok(client.held <= client.memory, `${client.held} bytes of ${client.memory}`);
        }
        client.stats();
    }
});

test(`damaged datagrams of a real peer do nothing worse than end a session (seed ${seed})`, () => {
    const next = random(seed);
    let ends = 0;
    for (let round = 0; round < 60; round++) {
        const { client, server, now } = connected({ seed: round });
        for (let count = 0; count < 100; count++) {
            const at = now + count * 10;
            if (server.hasMessageRoom(3000)) {
                server.sendMessage(at, bytes(next, 3000), next() < 0.5 ? 100 : undefined);
            }
            if (server.pollTimeout() <= at) {
                server.handleTimeout(at);
            }
            for (const datagram of drain(server, at)) {
                for (let flips = next() * 4; flips > 0; flips--) {
                    datagram[Math.floor(next() * datagram.length)] ^= 1 << (next() * 8);
                }
                const length = next() < 0.2 ? Math.floor(next() * datagram.length) : datagram.length;
                client.handleDatagram(at, datagram.subarray(0, length));
                if (next() < 0.2) {
                    client.handleDatagram(at, datagram);
                }
            }
            drain(client, at);
            if (client.pollTimeout() <= at) {
                client.handleTimeout(at);
            }
            assert.ok(client.held <= client.memory);
        }
        if (client.closeReason !== undefined) {
            ends += 1;
            assert.match(client.closeReason.reason, /^[\x20-\x7e\u00a0-\uffff]*$/);
        }
    }
    // Both happen: the test sees sessions that go on, and sessions that end.
    assert.ok(ends < 60, `${ends} of 60 sessions ended`);
});

test(`calls in any order throw errors of Weftline, or nothing (seed ${seed})`, () => {
    const next = random(seed);
    const number = () => [0, 1, 4, 1e6, -1, 0.5, NaN, 2 ** 53 - 1][Math.floor(next() * 8)];
    for (let round = 0; round < 30; round++) {
        const { client, now } = connected({ seed: round });
        const calls = [
            () => client.write(number(), bytes(next, 100)),
            () => client.read(number(), number()),
            () => client.finish(number()),
            () => client.resetStream(number(), number()),
            () => client.stopStream(number(), number()),
            () => client.openStream(),
            () => client.acceptStream(),
            () => client.sendMessage(number(), bytes(next, 100), number()),
            () => client.sendMessageAlone(number(), bytes(next, next() * 3000)),
            () => client.setLargestDatagram(number()),
            () => client.setCongestionMarks(number()),
            () => client.hasMessageRoom(number()),
            () => client.setMessageBuffer(number()),
            () => client.handleTimeout(number()),
            () => client.pollTransmit(number()),
            () => next() < 0.01 && client.close(number(), number(), "\u0000 \ud800"),
        ];
        for (let count = 0; count < 500; count++) {
            try {
                calls[Math.floor(next() * calls.length)]();
            } catch (error) {
                assert.ok(error instanceof WeftlineError, error.stack);
            }
        }
        drain(client, now);
    }
});
