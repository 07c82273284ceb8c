// A live source: writes the frames of a video to standard output, each at its time, again from the
// start when the video ends, and notes when it gave which.
//
//     node source.mjs VIDEO INDEX LOG bare|framed|ended
//
// The log has the time of each frame, in ms since 1970, as 64-bit floats. `framed` puts the length
// (4 bytes, big endian) and 1 for a key frame (1 byte) before each. `ended` puts two access unit
// delimiters after each, for a reader that waits for what follows a frame: it knows the end at once.

import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

const [file, index, log, form] = process.argv.slice(2);
const stream = readFileSync(file);
const frames = JSON.parse(readFileSync(index, 'utf8'));
const times = openSync(log, 'w');
const start = performance.now();
let number = 0;

const DELIMITER = Buffer.from([0, 0, 0, 1, 9, 0xf0]);

function give() {
  const frame = frames[number % frames.length];
  const data = stream.subarray(frame.at, frame.at + frame.bytes);
  const at = new Float64Array([performance.timeOrigin + performance.now()]);
  writeSync(times, new Uint8Array(at.buffer));
  if (form === 'framed') {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(data.length);
    head[4] = frame.key ? 1 : 0;
    process.stdout.write(Buffer.concat([head, data]));
  } else {
    process.stdout.write(form === 'ended' ? Buffer.concat([data, DELIMITER, DELIMITER]) : data);
  }
  number += 1;
  setTimeout(give, Math.max(0, start + (number * 1000) / 30 - performance.now()));
}

function end() {
  closeSync(times);
  process.exit(0);
}
process.stdout.on('error', end);
process.on('SIGTERM', end);
give();
