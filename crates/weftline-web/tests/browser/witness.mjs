// What a page shows, observed from outside of its own code: each VideoFrame that it draws on a
// canvas is noted with the time, and the painted number is read from the picture itself.

import { script as reader } from './code.mjs';

/**
 * Runs in the page or its worker. `witness.shown` has for each drawn frame the time since 1970 in
 * ms, the painted number (-1: unreadable) and the hash of the picture.
 */
function observe() {
  if (globalThis.witness) return;
  const witness = { shown: [], pending: 0, errors: [] };
  globalThis.witness = witness;
  const buffers = [];

  async function note(frame, at) {
    const { width, height } = frame.visibleRect;
    const size = frame.allocationSize();
    let buffer = buffers.pop();
    if (!buffer || buffer.length !== size) buffer = new Uint8Array(size);
    const layout = await frame.copyTo(buffer);
    if (!['I420', 'NV12', 'I420A'].includes(frame.format)) throw new Error(`pictures are ${frame.format}`);
    const { offset, stride } = layout[0];
    const { number, hash } = readPicture(buffer.subarray(offset), stride, width, height);
    witness.shown.push([at, number, hash]);
    if (buffers.length < 4) buffers.push(buffer);
  }

  /** Notes a frame that is shown now; it may be closed afterwards. */
  witness.see = (frame) => {
    const at = performance.timeOrigin + performance.now();
    const clone = frame.clone();
    witness.pending += 1;
    note(clone, at)
      .catch((error) => witness.errors.push(String(error)))
      .finally(() => {
        witness.pending -= 1;
        clone.close();
      });
  };

  for (const name of ['CanvasRenderingContext2D', 'OffscreenCanvasRenderingContext2D']) {
    const prototype = globalThis[name]?.prototype;
    if (!prototype) continue;
    const { drawImage } = prototype;
    prototype.drawImage = function (image, ...rest) {
      if (image instanceof VideoFrame) witness.see(image);
      return drawImage.call(this, image, ...rest);
    };
  }
}

/** A script that installs the witness. */
export const script = `(() => {\n${reader}\n(${observe})();\n})()`;

/** Frames that were shown, in the order of time, from the page and all its workers. */
export async function shown(page) {
  const take = () => {
    const witness = globalThis.witness;
    return witness ? { shown: witness.shown, errors: witness.errors } : { shown: [], errors: [] };
  };
  const all = { shown: [], errors: [] };
  for (const place of [page, ...page.workers()]) {
    const seen = await place.evaluate(take);
    all.shown.push(...seen.shown);
    all.errors.push(...seen.errors);
  }
  all.shown.sort((a, b) => a[0] - b[0]);
  return all;
}

/** How many frames have been shown so far. */
export async function count(page) {
  let frames = 0;
  for (const place of [page, ...page.workers()]) {
    frames += await place.evaluate(() => globalThis.witness?.shown.length ?? 0);
  }
  return frames;
}

/** Installs the witness in the page and in every worker that it starts. */
export async function install(page) {
  await page.addInitScript({ content: script });
  page.on('worker', (worker) => {
    // A worker that has ended already shows nothing.
    worker.evaluate(script).catch(() => {});
  });
}
