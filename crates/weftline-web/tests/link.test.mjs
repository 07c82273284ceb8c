// When the page of `weftline view` connects again, and when it stops, with connections that are none.

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, mock, test } from "node:test";
import { pathToFileURL } from "node:url";

// The module beside a `connect` of this test.
const folder = mkdtempSync(join(tmpdir(), "weftline-link-"));
after(() => rmSync(folder, { recursive: true }));
copyFileSync(join(process.env.WEFTLINE_PAGE, "link.js"), join(folder, "link.js"));
writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
writeFileSync(join(folder, "weftline.js"), "export const connect = (...args) => globalThis.fakeConnect(...args);");
const { Link, Stop } = await import(pathToFileURL(join(folder, "link.js")).href);

let now;
let connections;
// Whether the server answers; a promise: it does so then.
let answer;

class Fake {
    heard = 0;
    #end;
    constructor(url) {
        this.url = url;
        this.closed = new Promise((resolve) => {
            this.#end = resolve;
        });
    }
    async *messages() {
        await this.closed;
    }
    stats() {
        return { received: { lastHeard: this.heard } };
    }
    async close(code, reason) {
        this.end({ by: "local", code, reason });
    }
    end(reason) {
        this.over ??= reason;
        this.#end(reason);
    }
}

const settle = async () => {
    for (let turn = 0; turn < 50; turn += 1) {
        await Promise.resolve();
    }
};
// Time goes on; what `each` does happens every 50 ms.
const pass = async (ms, each = () => {}) => {
    for (let left = ms; left > 0; left -= 50) {
        now += 50;
        each();
        mock.timers.tick(50);
        await settle();
    }
};

const begin = async (secret) => {
    const states = [];
    const events = { onMessage: () => {}, onState: (...state) => states.push(state) };
    const link = new Link("https://here", "token", events, secret);
    void link.run();
    await settle();
    return { link, states, stopped: () => states.find(([state]) => state === "stopped")?.[1] };
};

beforeEach(() => {
    [now, connections, answer] = [1000, [], true];
    mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
    mock.method(performance, "now", () => now);
    mock.method(console, "info", () => {});
    mock.method(globalThis, "fetch", async () => ({ json: async () => ({ hash: "AAAA", admitted: true }) }));
    globalThis.fakeConnect = async (url) => {
        if (!(await answer)) {
            throw new Error("no");
        }
        connections.push(new Fake(url));
        return connections.at(-1);
    };
});
afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
});

test("a source that shows nothing is no reason to connect again", async () => {
    const { link } = await begin();
    const hear = () => connections.forEach((connection) => (connection.heard = now));
    await pass(20_000, hear);
    link.wake();
    await pass(2000, hear);
    assert.equal(connections.length, 1);
});

test("a silent connection is replaced after 4 s, and at once when the page is seen again", async () => {
    const { link } = await begin();
    await pass(3900);
    assert.equal(connections.length, 1);
    await pass(400);
    assert.equal(connections.length, 2);
    assert.equal(connections[0].over.reason, "replaced by the page");
    await pass(500);
    link.wake();
    await pass(300);
    assert.equal(connections.length, 3);
});

test("the page is not another page for itself", async () => {
    for (const isOpenFirst of [true, false]) {
        connections = [];
        const { stopped } = await begin();
        let open;
        answer = new Promise((resolve) => (open = resolve));
        await pass(4300);
        // The first one comes back, and the server closes it for the second one.
        const back = () => connections[0].end({ by: "peer", code: 6, reason: "newer" });
        for (const step of isOpenFirst ? [open, back] : [back, open]) {
            step(true);
            await settle();
        }
        await pass(100);
        assert.equal(stopped(), undefined);
        assert.equal(connections.length, 2);
        assert.equal(connections[1].over, undefined);
        // Another page really.
        connections[1].end({ by: "peer", code: 6, reason: "newer" });
        await settle();
        assert.match(stopped(), /another place/);
        answer = true;
    }
});

test("an attempt that was too late may have replaced the connection all the same", async () => {
    const { stopped } = await begin();
    answer = new Promise(() => {});
    await pass(4300);
    await pass(6000, () => (connections[0].heard = now));
    connections[0].end({ by: "peer", code: 6, reason: "newer" });
    answer = true;
    // The last attempt is given up first.
    await pass(20_000);
    assert.equal(stopped(), undefined);
    assert(connections.length >= 2);
});

test("after a stop no connection comes back", async () => {
    const { link, stopped, states } = await begin();
    let open;
    answer = new Promise((resolve) => (open = resolve));
    await pass(4300);
    link.stop(new Stop("This browser cannot play the stream"));
    await settle();
    assert.equal(stopped(), "This browser cannot play the stream");
    open(true);
    await pass(20_000);
    assert.equal(connections.length, 2);
    assert(connections.every(({ over }) => over));
    assert.equal(states.at(-1)[0], "stopped");
});

test("all places are taken: that stops newcomers, and not those who watched before", async () => {
    const busy = { by: "peer", code: 3, reason: "full" };
    const newcomer = await begin();
    connections[0].end(busy);
    await settle();
    assert.match(newcomer.stopped(), /places/);
    connections = [];
    const before = await begin("secret");
    assert.match(connections[0].url, /&resume=secret$/);
    connections[0].end(busy);
    await pass(100);
    assert.equal(before.stopped(), undefined);
    assert.equal(connections.length, 2);
});

test("connections that fail as soon as they are open are made more and more rarely, and all are closed", async () => {
    await begin();
    const fail = () => connections.forEach((connection) => connection.over ?? connection.end({ by: "peer", code: 2, reason: "" }));
    fail();
    await pass(60_000, fail);
    assert(connections.length >= 12 && connections.length <= 24, `${connections.length}`);
    // One that plays for a while is a new beginning.
    const hear = () => connections.forEach((connection) => (connection.heard = now));
    await pass(10_000, hear);
    const count = connections.length;
    fail();
    await pass(100, hear);
    assert.equal(connections.length, count + 1);
});

test("what fails while a message is handled closes the connection", async () => {
    const { link } = await begin();
    link.stop(new Error("a message that makes no sense"));
    await settle();
    await pass(50);
    assert(connections[0].over);
    assert.equal(connections.length, 2);
});
