// The instruments themselves: what they must notice.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { HEIGHT, WIDTH, readPicture, squares } from './code.mjs';
import { figures } from './figures.mjs';
import { payloads, units } from './peers/h264.mjs';

/** The luma of a grey picture with the bar codes of a number. */
function picture(number) {
  const luma = new Uint8Array(WIDTH * HEIGHT).fill(120);
  squares(number).forEach((value, square) => {
    for (const top of [0, HEIGHT - 32]) {
      for (let y = top; y < top + 32; y++) luma.fill(value ? 235 : 16, y * WIDTH + square * 32, y * WIDTH + square * 32 + 32);
    }
  });
  return luma;
}

test('a painted number is read, and one wrong square is noticed', () => {
  for (const number of [0, 1, 3599, 0xabcdef]) {
    assert.equal(readPicture(picture(number), WIDTH, WIDTH, HEIGHT).number, number);
  }
  for (const square of [0, 17, 39]) {
    for (const top of [0, HEIGHT - 32]) {
      const luma = picture(77);
      const was = luma[(top + 16) * WIDTH + square * 32 + 16];
      for (let y = top; y < top + 32; y++) luma.fill(251 - was, y * WIDTH + square * 32, y * WIDTH + square * 32 + 32);
      assert.equal(readPicture(luma, WIDTH, WIDTH, HEIGHT).number, -1, `square ${square}`);
    }
  }
});

test('a picture that differs somewhere has another hash', () => {
  const luma = picture(5);
  const { hash } = readPicture(luma, WIDTH, WIDTH, HEIGHT);
  luma[360 * WIDTH + 700] ^= 1;
  assert.notEqual(readPicture(luma, WIDTH, WIDTH, HEIGHT).hash, hash);
});

test('frames that are late, missing, corrupt or out of order are counted', () => {
  const frames = Array.from({ length: 60 }, (_, n) => ({ bytes: 1000, hash: n + 1000 }));
  const given = Array.from({ length: 150 }, (_, n) => (n * 1000) / 30);
  const shown = [];
  for (let n = 0; n < 150; n++) {
    if (n === 100) continue;
    const delay = n === 70 ? 90 : 40;
    shown.push([given[n] + delay, n % 60, n === 120 ? 1 : (n % 60) + 1000]);
  }
  shown.sort((a, b) => a[0] - b[0]);
  const wire = { sent: 130_000, received: 10_000 };
  const { row } = figures({ given, shown, frames, from: given[10], to: given[110], wire });
  assert.deepEqual([row.frames, row.missing, row.corrupt, row.backwards], [100, 1, 1, 1]);
  assert.ok(Math.abs(row.p50 - 40) < 1e-6 && row.longest === Infinity && Math.abs(row.p99Shown - 90) < 1e-6);
  assert.equal(row.bytesPerByte, 1.3);
  assert.equal(row.freezes, 0);
});

test('after an outage, the next frame is that after the return of the path', () => {
  const frames = Array.from({ length: 600 }, (_, n) => ({ bytes: 1000, hash: n }));
  const given = Array.from({ length: 300 }, (_, n) => (n * 1000) / 30);
  const outage = { start: 4000, end: 6000 };
  const shown = given.flatMap((time, n) => (time < 4000 || time > 6100 ? [[time + 40, n, n]] : []));
  const { row } = figures({ given, shown, frames, from: 0, to: 9000, wire: { sent: 1, received: 1 }, outage });
  assert.equal(row.freezes, 1);
  assert.ok(row.resumedMs > 130 && row.resumedMs < 180, `${row.resumedMs}`);
});

test('the units of a frame are in its packets, long ones in pieces', () => {
  const long = Buffer.concat([Buffer.from([0x65]), Buffer.alloc(5000, 7)]);
  const frame = Buffer.concat([
    Buffer.from([0, 0, 0, 1, 9, 0xf0]),
    Buffer.from([0, 0, 0, 1, 0x67, 1, 2, 3]),
    Buffer.from([0, 0, 1]),
    long,
  ]);
  assert.deepEqual(units(frame).map((unit) => unit.length), [2, 4, 5001]);
  const [parameters, ...pieces] = payloads(frame);
  assert.equal(parameters[0], 0x67);
  assert.ok(pieces.every((piece) => piece.length <= 1150 && (piece[0] & 31) === 28));
  const again = Buffer.concat([Buffer.from([(pieces[0][0] & 0xe0) | (pieces[0][1] & 31)]), ...pieces.map((p) => p.subarray(2))]);
  assert.deepEqual(again, long);
  assert.deepEqual([pieces[0][1] & 0xc0, pieces.at(-1)[1] & 0xc0], [0x80, 0x40]);
});
