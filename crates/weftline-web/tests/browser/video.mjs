// The video: 720p, 30 frames a second, H.264 baseline without B frames, a key frame each two
// seconds, with the number of each frame painted as bar codes. Made once by ffmpeg, then kept.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { HEIGHT, WIDTH, readPicture, squares } from './code.mjs';

export const FRAMES_PER_SECOND = 30;
const GROUP = 60;
/** Changes with what is below, so that an older video is not used. */
const VERSION = 1;

/**
 * The video of that many seconds, made if it is not in `folder`.
 *
 * Returns `{file, index, frames}`: for each frame its place in the file, its length, whether it is
 * a key frame, and the hash of its picture.
 */
export async function video(folder, seconds) {
  const name = join(folder, `video-${VERSION}-${seconds}s`);
  const file = `${name}.h264`;
  const index = `${name}.json`;
  if (!existsSync(index)) {
    mkdirSync(folder, { recursive: true });
    await encode(file, seconds);
    const frames = split(readFileSync(file));
    const pictures = await decode(file);
    if (frames.length !== seconds * FRAMES_PER_SECOND || pictures.length !== frames.length) {
      throw new Error(`the video has ${frames.length} frames and ${pictures.length} pictures`);
    }
    pictures.forEach(({ number, hash }, n) => {
      if (number !== n) throw new Error(`picture ${n} reads as ${number}`);
      frames[n].hash = hash;
    });
    writeFileSync(`${index}.part`, JSON.stringify(frames));
    renameSync(`${index}.part`, index);
  }
  return { file, index, frames: JSON.parse(readFileSync(index, 'utf8')) };
}

async function ended(child, what) {
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${what} failed (${code})`);
}

async function encode(file, seconds) {
  const count = seconds * FRAMES_PER_SECOND;
  const codes = `${file}.codes`;
  writeFileSync(codes, Buffer.concat(Array.from({ length: count }, (_, n) => squares(n))));
  const size = `${WIDTH}x${HEIGHT}`;
  const filter = [
    `[1:v]scale=${WIDTH}:32:flags=neighbor,format=yuv420p,split[top][bottom]`,
    // A moving picture with noise: frames of real and varying sizes.
    '[0:v]noise=alls=6:allf=t,format=yuv420p[picture]',
    '[picture][top]overlay=0:0[half]',
    `[half][bottom]overlay=0:${HEIGHT - 32}`,
  ].join(';');
  const x264 = `keyint=${GROUP}:min-keyint=${GROUP}:scenecut=0:aud=1:sliced-threads=0:threads=2:slices=1`;
  const ffmpeg = spawn(
    'ffmpeg',
    [
      ...['-y', '-loglevel', 'error'],
      ...['-f', 'lavfi', '-i', `testsrc2=s=${size}:r=${FRAMES_PER_SECOND}`],
      ...['-f', 'rawvideo', '-pix_fmt', 'gray', '-s', '40x1', '-r', `${FRAMES_PER_SECOND}`, '-i', codes],
      ...['-filter_complex', filter, '-frames:v', `${count}`],
      ...['-c:v', 'libx264', '-profile:v', 'baseline', '-preset', 'veryfast', '-tune', 'zerolatency'],
      ...['-b:v', '2M', '-maxrate', '2500k', '-bufsize', '1500k', '-x264-params', x264],
      ...['-pix_fmt', 'yuv420p', '-f', 'h264', file],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  await ended(ffmpeg, 'ffmpeg (encoding)');
}

/** The frames of an Annex B stream in which each begins with an access unit delimiter. */
export function split(stream) {
  const DELIMITER = Buffer.from([0, 0, 0, 1, 9]);
  const frames = [];
  for (let at = stream.indexOf(DELIMITER); at >= 0; ) {
    const next = stream.indexOf(DELIMITER, at + DELIMITER.length);
    const end = next < 0 ? stream.length : next;
    // A key frame's access unit has the parameter sets before the picture (type 5).
    const key = stream.subarray(at, Math.min(end, at + 256)).includes(Buffer.from([0, 0, 0, 1, 0x67]));
    frames.push({ at, bytes: end - at, key });
    at = next;
  }
  return frames;
}

/** What the pictures of the encoded video look like: they are what a player must show, to the bit. */
async function decode(file) {
  const ffmpeg = spawn(
    'ffmpeg',
    ['-loglevel', 'error', '-f', 'h264', '-i', file, '-vf', 'extractplanes=y', '-f', 'rawvideo', '-pix_fmt', 'gray', '-'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const done = ended(ffmpeg, 'ffmpeg (decoding)');
  const size = WIDTH * HEIGHT;
  const picture = Buffer.alloc(size);
  const pictures = [];
  let filled = 0;
  for await (const piece of ffmpeg.stdout) {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.copy(picture, filled, at, Math.min(piece.length, at + size - filled));
      at += taken;
      filled += taken;
      if (filled === size) {
        pictures.push(readPicture(picture, WIDTH, WIDTH, HEIGHT));
        filled = 0;
      }
    }
  }
  await done;
  return pictures;
}
