// What CI checks: the page of `weftline view` in real Chromium, over a path that loses packets and is
// cut off for a while. About half a minute.
//
//     WEFTLINE_PROGRAMS=target/debug node --test check.mjs
//
// Needs root, /dev/net/tun, ffmpeg, Chromium (/usr/bin/chromium, or WEFTLINE_CHROMIUM).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { ROOT, measure, pageFolder } from './measure.mjs';
import { video } from './video.mjs';

const programs = resolve(process.env.WEFTLINE_PROGRAMS ?? join(ROOT, 'target/debug'));
const folder = join(ROOT, 'target/browser/check');

test('a link that admits nobody says so on the page, and the browser has what the page needs', { timeout: 60_000 }, async () => {
  const inside = fileURLToPath(new URL('door.mjs', import.meta.url));
  mkdirSync(folder, { recursive: true });
  const result = join(folder, 'door.json');
  const lab = spawn(
    join(programs, 'weftline-lab'),
    ['run', '--quiet', '--link', 'delay=5ms', '--', process.execPath, inside, programs, pageFolder() ?? '', result],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  const [code] = await once(lab, 'close');
  assert.equal(code, 0);
  const { has, told } = JSON.parse(readFileSync(result, 'utf8'));
  assert.deepEqual(has, { webTransport: true, h264: true, av1: true, offscreen: true });
  assert.match(told, /admits nobody/);
});

test('the page plays in order and intact over a bad path, and goes on after an outage', { timeout: 120_000 }, async () => {
  const clip = await video(join(ROOT, 'target/browser'), 20);
  const scenario = { link: 'rate=25mbit delay=30ms queue=100ms loss=iid:5%', path: 30, outage: 1.5 };
  const row = await measure({ programs, scenario, peer: 'view', seconds: 12, outageAt: 20, until: 25, folder, clip });
  const { frames, missing, corrupt, backwards, resumedMs, bytesPerByte, errors } = row;
  const seen = JSON.stringify({ frames, missing, corrupt, backwards, resumedMs, bytesPerByte, p50: row.p50, errors });
  console.log(seen);
  assert.deepEqual([corrupt, backwards, errors.length], [0, 0, 0], seen);
  assert.ok(frames >= 200, seen);
  // What the outage takes, and not much more: a machine of CI may be slow.
  assert.ok(missing <= 120, seen);
  assert.ok(resumedMs !== null && resumedMs < 3000, seen);
  assert.ok(bytesPerByte < 2, seen);
});

test('a phone shows the whole page, upright and on its side, and a touch changes the delay', { timeout: 120_000 }, async () => {
  const clip = await video(join(ROOT, 'target/browser'), 20);
  const scenario = { link: 'rate=25mbit delay=30ms queue=100ms loss=iid:5%', path: 30 };
  const row = await measure({ programs, scenario, peer: 'view', seconds: 5, folder: join(folder, 'phone'), clip, phone: true });
  const { corrupt, backwards, missing, errors, phone } = row;
  const seen = JSON.stringify({ corrupt, backwards, missing, errors, phone });
  console.log(seen);
  assert.deepEqual([corrupt, backwards, missing, errors.length], [0, 0, 0, 0], seen);
  assert.deepEqual([phone.upright, phone.onItsSide], [[], []], seen);
  // The middle of the slider is between two steps.
  assert.equal(phone.before, 'shortest', seen);
  assert.match(phone.after, /^(500|750) ms$/, seen);
});
