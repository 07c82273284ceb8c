// One measurement, on side a of a lab: the server and the source run here, Chromium on side b.
//
//     LAB_BEGAN=SECONDS node one.mjs ORDER RESULT
//
// ORDER is a file of JSON from `measure.mjs`; RESULT is written.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

import { open, page as newPage } from './chromium.mjs';
import { peer } from './peers/index.mjs';
import { PHONE, handle } from './phone.mjs';
import { count, install, shown } from './witness.mjs';

const ADDRESS = '10.77.0.1';
const PORT = 8443;

const [orderFile, resultFile] = process.argv.slice(2);
const order = JSON.parse(readFileSync(orderFile, 'utf8'));
const began = Number(process.env.LAB_BEGAN) * 1000;
const now = () => performance.timeOrigin + performance.now();

/** Bytes that side a has put into the path, and taken out of it, with all headers. */
function bytes() {
  const line = readFileSync('/proc/net/dev', 'utf8').split('\n').find((text) => text.includes('lab0:'));
  const fields = line.split(':')[1].trim().split(/\s+/).map(Number);
  return { sent: fields[8], received: fields[0] };
}

/** Starts the server and the source that feeds it; `said(pattern)` is the first line that matches. */
function start(chosen) {
  const [program, args] = chosen.server({
    programs: order.programs,
    page: order.page,
    address: ADDRESS,
    port: PORT,
  });
  const server = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const sourceFile = fileURLToPath(new URL('source.mjs', import.meta.url));
  const { file, index } = order.video;
  const source = spawn(process.execPath, [sourceFile, file, index, order.log, chosen.form], {
    stdio: ['ignore', server.stdin, 'inherit'],
  });
  server.stdin.destroy();
  const lines = [];
  let wake = () => {};
  let gone = false;
  createInterface({ input: server.stdout }).on('line', (line) => {
    lines.push(line);
    wake();
  });
  server.on('exit', () => {
    gone = true;
    wake();
  });
  const said = async (pattern) => {
    const end = now() + 10_000;
    const timer = setTimeout(() => wake(), 10_100);
    timer.unref();
    for (;;) {
      const line = lines.find((text) => pattern.test(text));
      if (line !== undefined) return line;
      if (now() > end) throw new Error(`${program} says only: ${lines.join(' | ')}`);
      if (gone) throw new Error(`${program} ended: ${lines.join(' | ')}`);
      await new Promise((resolve) => (wake = resolve));
    }
  };
  return { server, source, said };
}

/** Waits until the page has shown that many frames. */
async function untilShown(page, frames, seconds) {
  const end = now() + seconds * 1000;
  while ((await count(page)) < frames) {
    if (now() > end) return false;
    await sleep(100);
  }
  return true;
}

const chosen = peer(order.peer);
const { server, source, said } = start(chosen);
const { browser, close } = await open(order.lab);
const page = await newPage(browser, order.phone ? PHONE : undefined);
const trouble = [];
page.on('pageerror', (error) => trouble.push(`page: ${error}`));
page.on('console', (message) => {
  if (['error', 'warning'].includes(message.type())) trouble.push(message.text());
});
await install(page);
const result = { trouble, statistics: null };
try {
  await chosen.page({ page, address: ADDRESS, port: PORT, said });
  result.connectedAt = now();
  result.played = await untilShown(page, 30, order.patience ?? 60);
  result.playedAt = now();
  // What follows the start is not measured.
  await sleep(order.skip * 1000);
  result.from = now();
  const before = bytes();
  await sleep(order.until ? Math.max(0, began + order.until * 1000 - now()) : order.seconds * 1000);
  result.to = now();
  const after = bytes();
  result.wire = { sent: after.sent - before.sent, received: after.received - before.received };
  await sleep(order.drain * 1000);
  result.end = now();
  result.began = began;
  Object.assign(result, await shown(page));
  if (order.phone) result.phone = await handle(page);
  result.statistics = (await chosen.statistics?.(page)) ?? null;
} catch (error) {
  result.failed = String(error?.stack ?? error);
}
if (order.picture) await page.screenshot({ path: order.picture }).catch(() => {});
await close();
for (const child of [source, server]) {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    await Promise.race([gone, sleep(2000)]);
  }
}
writeFileSync(resultFile, JSON.stringify(result));
process.exit(0);
