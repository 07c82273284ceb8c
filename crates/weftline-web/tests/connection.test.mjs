import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, describe, test } from "node:test";
import { Worker } from "node:worker_threads";

import { connect, connectOver, WeftlineError } from "weftline";

import { bytes, random, seed } from "./support/random.mjs";
import { transports } from "./support/transport.mjs";

const isError = (code, words) => (error) => {
    assert.ok(error instanceof WeftlineError, error.stack);
    assert.equal(error.code, code);
    assert.match(error.message, words ?? /./);
    return true;
};

/** Pairs of ends, which the end of the test closes. */
const open = [];
const pair = async (options = {}, client = {}, server = {}) => {
    const ends = transports(options);
    const made = await Promise.all([connectOver(ends[0], client), connectOver(ends[1], { role: "server", ...server })]);
    open.push(made);
    return [...made, ...ends];
};
afterEach(() => Promise.all(open.splice(0).map(async ([client, server]) => {
    // The other end learns it, and does not wait.
    await server.close();
    await client.closed;
})));

const losing = (share) => {
    const next = random(seed);
    return () => next() < share;
};

test(`messages arrive over a path that loses (seed ${seed})`, async () => {
    const [client, server] = await pair({ lose: losing(0.1) });
    const receipts = [];
    const sending = (async () => {
        for (let count = 0; count < 400; count++) {
            receipts.push(await server.sendMessage(new Uint8Array(3000).fill(count)));
        }
    })();
    const seen = new Set();
    for await (const { id, data, late } of client.messages()) {
        assert.equal(late, false);
        assert.ok(data.length === 3000 && data[0] === data[2999]);
        seen.add(id);
        if (seen.size === 400) {
            break;
        }
    }
    await sending;
    const delivered = await Promise.all(receipts.map((receipt) => receipt.delivered));
    assert.ok(delivered.every((one) => one === true));
    assert.ok(client.stats().received.recoveredSymbols > 0);
});

test("a message that no longer can arrive in time has expired", async () => {
    let isLost = false;
    const [, server] = await pair({ lose: () => isLost });
    isLost = true;
    const { delivered } = await server.sendMessage(new Uint8Array(100), { deadline: 30 });
    assert.equal(await delivered, false);
    isLost = false;
    const next = await server.sendMessage(new Uint8Array(100), { deadline: 5000 });
    assert.equal(await next.delivered, true);
});

test("a sender waits for room, in order, and its data may change meanwhile", async () => {
    const [client, server] = await pair({}, { session: { messageData: 1 << 20 } });
    const data = new Uint8Array(100_000);
    const sending = [];
    for (let count = 0; count < 40; count++) {
        data.fill(count);
        sending.push(server.sendMessage(data));
    }
    data.fill(255);
    const firsts = [];
    for (let count = 0; count < 40; count++) {
        firsts.push((await client.recvMessage()).data[50_000]);
    }
    assert.deepEqual(firsts.sort((a, b) => a - b), Array.from({ length: 40 }, (_, index) => index));
    await Promise.all(sending);
});

test("a message alone is not cut", async () => {
    const [client, server] = await pair();
    const longest = server.longestMessageAlone;
    assert.ok(longest > 1000 && longest < 1200);
    await server.sendMessage(new Uint8Array(longest), { alone: true });
    assert.equal((await client.recvMessage()).data.length, longest);
    await assert.rejects(server.sendMessage(new Uint8Array(longest + 100), { alone: true }), isError("argument"));
});

describe("streams", () => {
    test(`bytes arrive in order both ways, and close waits for the peer (seed ${seed})`, async () => {
        const [client, server] = await pair({ lose: losing(0.05) });
        const data = bytes(random(seed), 2_000_000);
        const echo = (async () => {
            const { readable, writable } = await server.acceptStream();
            await readable.pipeTo(writable);
        })();
        const { readable, writable } = await client.openStream();
        const writing = (async () => {
            const writer = writable.getWriter();
            await writer.write(data.subarray(0, 1_500_000));
            await writer.write(data.subarray(1_500_000));
            await writer.close();
        })();
        const chunks = [];
        for await (const chunk of readable) {
            chunks.push(chunk);
        }
        await Promise.all([writing, echo]);
        assert.ok(Buffer.concat(chunks).equals(data));
    });

    test("a reader with its own buffer reads into it, to the end", async () => {
        const [client, server] = await pair();
        const { writable } = await client.openStream();
        const writer = writable.getWriter();
        await writer.write(Uint8Array.of(1, 2, 3, 4, 5));
        const { readable } = await server.acceptStream();
        const reader = readable.getReader({ mode: "byob" });
        const first = await reader.read(new Uint8Array(3));
        assert.deepEqual([...first.value], [1, 2, 3]);
        const second = await reader.read(new Uint8Array(3));
        assert.deepEqual([...second.value], [4, 5]);
        const closing = writer.close();
        assert.equal((await reader.read(new Uint8Array(3))).done, true);
        await closing;
    });

    test("who cancels or aborts tells the peer a code", async () => {
        const [client, server] = await pair();
        const ours = await client.openStream();
        const writer = ours.writable.getWriter();
        await writer.write(new Uint8Array(10));
        const theirs = await server.acceptStream();
        await theirs.readable.cancel(7);
        await assert.rejects(writer.closed, isError("reset", /code 7/));
        const back = theirs.writable.getWriter();
        await back.write(new Uint8Array(10));
        await back.abort(9);
        await assert.rejects((async () => {
            for await (const _ of ours.readable);
        })(), (error) => isError("reset")(error) && error.peerCode === 9);
    });

    test("a read that is cancelled while it waits leaves the writing half as it is", async () => {
        const [client, server] = await pair();
        const ours = await client.openStream();
        const writer = ours.writable.getWriter();
        await writer.write(Uint8Array.of(1));
        const theirs = await server.acceptStream();
        const reader = ours.readable.getReader();
        const reading = reader.read();
        await reader.cancel();
        assert.equal((await reading).done, true);
        await writer.write(Uint8Array.of(2));
        const closing = writer.close();
        const got = [];
        for await (const chunk of theirs.readable) {
            got.push(...chunk);
        }
        await closing;
        assert.deepEqual(got, [1, 2]);
    });

    test("an abort ends a write that waits for credit, and the peer learns the code", async () => {
        const [client, server] = await pair();
        const ours = await client.openStream();
        const writer = ours.writable.getWriter();
        // More than the peer's credit and the buffers take.
        const writing = assert.rejects(writer.write(new Uint8Array(64 << 20)));
        const theirs = await server.acceptStream();
        await writer.abort(9);
        await writing;
        await assert.rejects((async () => {
            for await (const _ of theirs.readable);
        })(), (error) => isError("reset")(error) && error.peerCode === 9);
    });

    test("a close that waits is told that the peer reads no more", async () => {
        // Nothing of what is written is read, so the close waits.
        const [client, server] = await pair();
        const ours = await client.openStream();
        const writer = ours.writable.getWriter();
        await writer.write(new Uint8Array(1 << 20));
        const closing = assert.rejects(writer.close(), isError("reset", /code 7/));
        const theirs = await server.acceptStream();
        await theirs.readable.cancel(7);
        await closing;
    });

    test("what is not bytes ends the stream for the peer, too", async () => {
        const [client, server] = await pair();
        const ours = await client.openStream();
        const writer = ours.writable.getWriter();
        await writer.write(Uint8Array.of(1));
        const theirs = await server.acceptStream();
        await assert.rejects(writer.write("text"), isError("argument"));
        await assert.rejects((async () => {
            for await (const _ of theirs.readable);
        })(), isError("reset"));
    });

    test("who opens more than the peer allows waits until one is over", async () => {
        const [client, server] = await pair({}, {}, { session: { streams: 8 } });
        const streams = [];
        for (let count = 0; count < 8; count++) {
            streams.push(await client.openStream());
        }
        let isOpen = false;
        const ninth = client.openStream().then((stream) => {
            isOpen = true;
            return stream;
        });
        const closing = streams[0].writable.getWriter().close();
        const accepted = await server.acceptStream();
        assert.equal(isOpen, false);
        for await (const _ of accepted.readable);
        await accepted.writable.getWriter().close();
        for await (const _ of streams[0].readable);
        await closing;
        assert.equal((await ninth).id > streams[7].id, true);
    });
});

describe("the end", () => {
    test("the peer learns code and reason, and everything that waits is told", async () => {
        const [client, server, , end] = await pair();
        const { readable, writable } = await client.openStream();
        const waiting = [
            assert.rejects(client.recvMessage(), isError("closed", /code 5: that is all/)),
            assert.rejects(client.acceptStream(), isError("closed")),
            assert.rejects(readable.getReader().read(), isError("closed")),
        ];
        const iterated = (async () => {
            for await (const _ of client.messages()) {
                assert.fail("there is no message");
            }
        })();
        await server.close(5, "that is all");
        assert.deepEqual(await client.closed, { by: "peer", code: 5, reason: "that is all" });
        assert.equal((await server.closed).by, "local");
        await Promise.all([...waiting, iterated]);
        await assert.rejects(client.sendMessage(new Uint8Array(1)), isError("closed"));
        await assert.rejects(client.openStream(), isError("closed"));
        await assert.rejects(writable.getWriter().write(new Uint8Array(1)), isError("closed"));
        assert.deepEqual(end.closedWith, { closeCode: 5, reason: "that is all" });
        assert.ok(client.stats().received.datagrams > 0);
    });

    test("what arrived before the end can still be taken", async () => {
        const [client, server] = await pair();
        const { delivered } = await server.sendMessage(Uint8Array.of(1));
        assert.equal(await delivered, true);
        await server.close();
        await client.closed;
        assert.deepEqual([...(await client.recvMessage()).data], [1]);
        await assert.rejects(client.recvMessage(), isError("closed"));
    });

    test("a code that the wire cannot carry is refused, and the connection goes on", async () => {
        const [client, server] = await pair();
        await assert.rejects(client.close(-1), isError("argument"));
        await assert.rejects(client.close(0.5), isError("argument"));
        await server.sendMessage(new Uint8Array(1));
        await client.recvMessage();
    });

    test("a transport that fails ends the connection, with its words", async () => {
        const [client, , end] = await pair();
        const { writable } = await client.openStream();
        const receipt = await client.sendMessage(new Uint8Array(10));
        end.fail(new Error("the network is gone"));
        assert.deepEqual(await client.closed, { by: "carrier", code: undefined, reason: "the transport failed: the network is gone" });
        assert.equal(await receipt.delivered, false);
        await assert.rejects(writable.getWriter().closed, isError("closed"));
        await client.close();
    });

    test("a transport that the peer closes ends the connection, with its code", async () => {
        const [client, , , end] = await pair();
        end.close({ closeCode: 77, reason: "restarting" });
        assert.deepEqual(await client.closed, { by: "peer", code: 77, reason: "restarting" });
    });

    test("codes of the runtime are not codes of the application", async () => {
        for (const [closeCode, by, words] of [
            [0xffffffef, "peer", /^a\ufffdb$/],
            [0xfffffff0, "refused", /refused the session: a\ufffdb/],
            [0xfffffff1, "refused", /taken: try again later/],
            [0xfffffff2, "timeout", /heard nothing/],
        ]) {
            const [client, , , end] = await pair();
            end.close({ closeCode, reason: "a\u0007b" });
            const reason = await client.closed;
            assert.equal(reason.by, by);
            assert.equal(reason.code, by === "peer" ? closeCode : undefined);
            assert.match(reason.reason, words);
        }
        const [client, , end] = await pair();
        await client.close(2 ** 40, "");
        assert.equal(end.closedWith.closeCode, 0xffffffef);
    });

    test("a path that takes only tiny datagrams is refused", async () => {
        const ends = transports({ maxDatagramSize: 100 });
        await assert.rejects(connectOver(ends[0]), isError("closed", /256 or more/));
    });
});

test("no datagram is longer than the transport takes, also when that changes", async () => {
    const [client, server, , end] = await pair({ maxDatagramSize: 1024 });
    // A browser drops what it does not keep.
    assert.ok(end.datagrams.incomingHighWaterMark > 100 && end.datagrams.outgoingHighWaterMark > 1);
    assert.ok(end.sent.length > 0 && Math.max(...end.sent) <= 1024);
    end.datagrams.maxDatagramSize = 700;
    end.sent.length = 0;
    const { delivered } = await server.sendMessage(new Uint8Array(50_000));
    await client.recvMessage();
    await delivered;
    assert.ok(Math.max(...end.sent) <= 700, `${Math.max(...end.sent)}`);
});

test("a transport without room is not asked to take more", async () => {
    const [client, server, , end] = await pair({ room: 1 });
    let [writing, most] = [0, 0];
    const { writable } = end.datagrams;
    assert.equal(writable.locked, true);
    const receipts = [];
    for (let count = 0; count < 50; count++) {
        receipts.push((await server.sendMessage(new Uint8Array(1000))).delivered);
        writing = end.sent.length;
        most = Math.max(most, writing);
    }
    // 50 messages were taken at once; the transport takes about a datagram in a millisecond.
    assert.ok(most < 40, `${most} datagrams were sent at once`);
    for (let count = 0; count < 50; count++) {
        await client.recvMessage();
    }
    await Promise.all(receipts);
});

test("in a worker it works as in a page", async () => {
    const worker = new Worker(new URL("./support/worker.mjs", import.meta.url));
    const [result] = await new Promise((resolve, reject) => {
        worker.once("message", (message) => resolve([message]));
        worker.once("error", reject);
    });
    assert.deepEqual(result, { received: 100, closed: { by: "peer", code: 0, reason: "done" } });
    await worker.terminate();
});

describe("connect", () => {
    const install = (make) => {
        globalThis.WebTransport = make;
        return { [Symbol.dispose]: () => delete globalThis.WebTransport };
    };
    const undo = [];
    afterEach(() => undo.splice(0).forEach((made) => made[Symbol.dispose]?.() ?? delete globalThis.WebTransport));

    test("gives the browser what it needs", async () => {
        const ends = transports();
        let given;
        undo.push(install(function (url, options) {
            given = [url, options];
            return Object.assign(ends[0], { ready: Promise.resolve() });
        }));
        const certificateHash = new Uint8Array(32).fill(7);
        const [client, server] = await Promise.all([
            connect(new URL("https://example.org:4433/view?token=secret"), { certificateHash, preset: "auto,delay=20" }),
            connectOver(ends[1], { role: "server" }),
        ]);
        open.push([client, server]);
        assert.equal(given[0], "https://example.org:4433/view?token=secret");
        assert.deepEqual(given[1].serverCertificateHashes, [{ algorithm: "sha-256", value: certificateHash }]);
        assert.equal(given[1].requireUnreliable, true);
    });

    test("says what to do when there is no connection, and keeps secrets", async () => {
        undo.push(install(function () {
            return { ready: Promise.reject(new Error("Opening handshake failed.")), closed: Promise.reject(new Error("no")) };
        }));
        await assert.rejects(connect("https://example.org/view?token=secret"), (error) => {
            isError("connect", /no connection to https:\/\/example\.org\/view \(Opening handshake failed\.\): .*UDP/)(error);
            assert.doesNotMatch(error.message, /secret/);
            return true;
        });
    });

    test("says what is missing", async () => {
        await assert.rejects(connect("https://example.org"), isError("unsupported", /Chrome/));
        const ends = transports();
        await assert.rejects(connectOver(ends[0], { preset: "auot" }), isError("argument", /use one of/));
    });
});

test("the modules are where the package says", () => {
    for (const part of ["codec", "session"]) {
        const file = new URL(import.meta.resolve(`weftline/weftline_${part}_bg.wasm`));
        assert.ok(WebAssembly.validate(readFileSync(file)));
    }
});
