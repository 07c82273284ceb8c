// The client in a thread of its own, as a page runs it in a dedicated worker.

import { parentPort } from "node:worker_threads";

import { connectOver } from "weftline";

import { transports } from "./transport.mjs";

const ends = transports();
const [client, server] = await Promise.all([connectOver(ends[0]), connectOver(ends[1], { role: "server" })]);
(async () => {
    const receipts = [];
    for (let count = 0; count < 100; count++) {
        receipts.push((await server.sendMessage(new Uint8Array(2000))).delivered);
    }
    await Promise.all(receipts);
    await server.close(0, "done");
})();
let received = 0;
for await (const _ of client.messages()) {
    received += 1;
}
parentPort.postMessage({ received, closed: await client.closed });
