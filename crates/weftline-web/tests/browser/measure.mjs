// Measures live video in Chromium over emulated paths: scenarios x transports, and a table.
//
//     node measure.mjs [--programs DIR] [--only SCENARIO,...] [--peers 'NAME ...'] [--seconds N]
//                      [--rounds N] [--out DIR]
//
// Needs root, /dev/net/tun, ffmpeg, Chromium, and the programs in DIR (target/release unless given).

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { figures } from './figures.mjs';
import { NAMES } from './peers/index.mjs';
import { video } from './video.mjs';

export const ROOT = resolve(fileURLToPath(new URL('../../../..', import.meta.url)));

/** One-way delay of the path in ms, losses on the way to the page, and what may be asked of a page. */
export const SCENARIOS = {
  far: { link: 'rate=25mbit delay=120ms queue=100ms loss=iid:6%', path: 120, seconds: 600 },
  bursts: { link: 'rate=25mbit delay=30ms queue=100ms loss=ge:10%,4', path: 30, seconds: 180 },
  clean: { link: 'rate=25mbit delay=120ms queue=100ms', path: 120, seconds: 30 },
  outage: { link: 'rate=25mbit delay=30ms queue=100ms', path: 30, seconds: 60, outage: 5 },
};

/** The page that `packaging/web` has built; without it the program's own. */
export function pageFolder() {
  const folder = join(ROOT, 'crates/weftline-web/dist/page');
  return existsSync(join(folder, 'index.html')) ? folder : null;
}

/** Runs one measurement in a lab of its own; returns its figures. */
export async function measure({ programs, scenario, peer, seconds, folder, clip, seed = 1, outageAt = 30, until, phone }) {
  mkdirSync(folder, { recursive: true });
  const { outage } = scenario;
  const file = (name) => join(folder, name);
  const link = outage ? `${scenario.link} down=${outageAt}s..${outageAt + outage}s` : scenario.link;
  const order = {
    peer,
    programs,
    page: pageFolder(),
    lab: join(programs, 'weftline-lab'),
    video: { file: clip.file, index: clip.index },
    log: file('given.bin'),
    skip: 3,
    seconds,
    // The end of the measured time, if it is fixed: seconds after the lab began.
    until,
    phone,
    drain: 3,
    patience: 60,
    picture: file('page.png'),
  };
  writeFileSync(file('order.json'), JSON.stringify(order));
  rmSync(file('result.json'), { force: true });
  const inside = fileURLToPath(new URL('one.mjs', import.meta.url));
  const quoted = [process.execPath, inside, file('order.json'), file('result.json')].map((word) => `'${word}'`);
  const lab = spawn(
    order.lab,
    [
      ...['run', '--link', link, '--seed', `${seed}`, '--counters', file('counters.json')],
      ...['--', 'sh', '-c', `LAB_BEGAN=$(date +%s.%N) exec ${quoted.join(' ')}`],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  const [code] = await once(lab, 'close');
  if (code !== 0) throw new Error(`weftline-lab ended with ${code}`);
  const result = JSON.parse(readFileSync(file('result.json'), 'utf8'));
  if (result.failed) throw new Error(result.failed);
  const log = readFileSync(order.log);
  const given = [...new Float64Array(log.buffer.slice(log.byteOffset, log.byteOffset + 8 * Math.floor(log.length / 8)))];
  const counters = JSON.parse(readFileSync(file('counters.json'), 'utf8'));
  const down = outage && {
    start: result.began + outageAt * 1000,
    end: result.began + (outageAt + outage) * 1000,
  };
  if (down && result.from > down.start - 1000) throw new Error('the page played only after the outage had begun');
  const { row, perFrame } = figures({ ...result, given, frames: clip.frames, outage: down });
  const { valid, problems, emulator_cpu: emulator } = counters;
  Object.assign(row, {
    peer,
    path: scenario.path,
    startMs: result.playedAt - result.connectedAt,
    played: result.played,
    valid,
    problems,
    emulator,
    trouble: result.trouble.slice(0, 5),
    errors: result.errors.slice(0, 5),
    statistics: result.statistics,
    phone: result.phone,
  });
  writeFileSync(file('row.json'), json(row));
  writeFileSync(file('frames.json'), JSON.stringify(perFrame));
  return row;
}

const json = (value) => JSON.stringify(value, (_, part) => (part === Infinity ? 'lost' : part), 1);

function ms(value) {
  if (value === null || value === undefined) return '-';
  if (value === Infinity) return 'lost';
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : value.toFixed(0);
}

/** A table of rows, as Markdown. */
export function table(rows) {
  const head = [
    ...['path', 'transport', 'frames', 'missing', 'corrupt', 'p50', 'p99', 'p99.9', 'p99 beyond the path', 'p99 of the shown'],
    ...['bytes/byte', 'back', 'freezes', 'longest', 'next frame'],
  ];
  const lines = rows.map((row) => [
    row.scenario,
    row.peer,
    row.frames,
    row.missing,
    row.corrupt,
    ms(row.p50),
    ms(row.p99),
    ms(row.p999),
    ms(row.p99 - row.path),
    ms(row.p99Shown),
    row.bytesPerByte.toFixed(2),
    row.backPerByte.toFixed(2),
    row.freezes,
    ms(row.longestGap),
    ms(row.resumedMs),
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

async function main() {
  const { values } = parseArgs({
    options: {
      programs: { type: 'string', default: join(ROOT, 'target/release') },
      only: { type: 'string', default: Object.keys(SCENARIOS).join(',') },
      peers: { type: 'string', default: NAMES.join(' ') },
      seconds: { type: 'string' },
      rounds: { type: 'string', default: '1' },
      out: { type: 'string', default: join(ROOT, 'target/browser') },
    },
  });
  const clip = await video(values.out, 120);
  const rows = [];
  for (const name of values.only.split(',')) {
    const scenario = SCENARIOS[name];
    if (!scenario) throw new Error(`unknown scenario ${name}: use ${Object.keys(SCENARIOS).join(', ')}`);
    for (let round = 1; round <= Number(values.rounds); round++) {
      for (const peer of values.peers.split(' ')) {
        const folder = join(values.out, `${name}-${peer.replace(/[^\w.=-]+/g, '_')}-${round}`);
        const seconds = Number(values.seconds ?? scenario.seconds);
        try {
          const row = await measure({ programs: resolve(values.programs), scenario, peer, seconds, folder, clip, seed: round });
          row.scenario = name;
          rows.push(row);
          console.error(table([row]).split('\n').at(-1), row.valid ? '' : `NOT VALID: ${row.problems}`);
        } catch (error) {
          console.error(`${name} ${peer}: ${error.stack}`);
          process.exitCode = 1;
        }
        writeFileSync(join(values.out, 'rows.json'), json(rows));
      }
    }
  }
  console.log(table(rows));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
