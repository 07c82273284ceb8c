// What does the engine cost a page? A video of 20 Mbit/s, in virtual time: 30 messages a second, 2 % of the datagrams lost.
//
//   packaging/web
//   node crates/weftline-web/bench/engine.mjs [SECONDS]
//
// Prints the processor time of each end as a share of the time that passes.

import { init, Session } from "../dist/npm/session.js";

const SECONDS = Number(process.argv[2] ?? 60);
const RATE = 20e6;
const FRAMES = 30;
const DELAY = 20; // ms

await init();
const cost = { client: 0, server: 0 };
const ends = { client: new Session("auto", "client"), server: new Session("auto", "server") };
const timed = (role, call) => {
    const start = performance.now();
    const result = call(ends[role]);
    cost[role] += performance.now() - start;
    return result;
};

const flying = [];
let state = 1;
const lost = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32 < 0.02;
};
let [received, bytes, datagrams] = [0, 0, 0];
const frame = new Uint8Array(RATE / 8 / FRAMES);
let frames = 0;
for (let now = 0; now < SECONDS * 1000; now += 0.25) {
    // Before HELLO a peer takes short messages only.
    if (now >= 100 && now - 100 >= (frames * 1000) / FRAMES) {
        timed("server", (session) => session.sendMessage(now, frame, 1000));
        frames += 1;
    }
    while (flying[0]?.at <= now) {
        const { to, datagram } = flying.shift();
        timed(to, (session) => session.handleDatagram(now, datagram));
    }
    for (const [role, to] of [["client", "server"], ["server", "client"]]) {
        timed(role, (session) => {
            if (session.pollTimeout() <= now) {
                session.handleTimeout(now);
            }
            while (session.pollEvent() !== undefined);
        });
        for (let datagram; (datagram = timed(role, (session) => session.pollTransmit(now))) !== undefined; ) {
            datagrams += 1;
            if (!lost()) {
                flying.push({ at: now + DELAY, to, datagram });
            }
        }
    }
    for (let message; (message = timed("client", (session) => session.recvMessage())) !== undefined; ) {
        received += 1;
        bytes += message.data.length;
    }
}
const share = (role) => `${((cost[role] / (SECONDS * 1000)) * 100).toFixed(1)} %`;
console.log(`${received} of ${frames} messages, ${((bytes * 8) / SECONDS / 1e6).toFixed(1)} Mbit/s, ${datagrams} datagrams`);
console.log(`the receiver: ${share("client")} of a processor, the sender: ${share("server")}`);
console.log(`recovered symbols: ${ends.client.stats().received.recoveredSymbols}`);
