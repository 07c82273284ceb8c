// Peer: plain WebTransport streams. The server is `streams-server`; the page below decodes frames in
// order and draws them at once. Nothing is given up.

import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('streams-server/target/release/streams-server', import.meta.url));

/** Runs in the page: plays what the server at `url` sends. `one`: all frames are on one stream. */
async function play({ url, hash, one }) {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [1280, 720];
  document.body.append(canvas);
  const context = canvas.getContext('2d', { alpha: false });
  const decoder = new VideoDecoder({
    output: (frame) => {
      context.drawImage(frame, 0, 0);
      frame.close();
    },
    error: (error) => globalThis.witness.errors.push(String(error)),
  });
  decoder.configure({ codec: 'avc1.42E01F', optimizeForLatency: true });

  const waiting = new Map();
  let next;
  function take(number, isKey, data) {
    next ??= number;
    waiting.set(number, { isKey, data });
    for (; waiting.has(next); next++) {
      const frame = waiting.get(next);
      waiting.delete(next);
      const type = frame.isKey ? 'key' : 'delta';
      decoder.decode(new EncodedVideoChunk({ type, timestamp: Math.round((next * 1e6) / 30), data: frame.data }));
    }
  }

  /** Reads frames from a stream: number, length (4 bytes each), 1 for a key frame, data. */
  async function read(stream) {
    let bytes = new Uint8Array(1 << 17);
    let filled = 0;
    for await (const piece of stream) {
      if (filled + piece.length > bytes.length) {
        const longer = new Uint8Array(2 * (filled + piece.length));
        longer.set(bytes.subarray(0, filled));
        bytes = longer;
      }
      bytes.set(piece, filled);
      filled += piece.length;
      let at = 0;
      while (filled - at >= 9) {
        const view = new DataView(bytes.buffer, at);
        const length = view.getUint32(4);
        if (filled - at < 9 + length) break;
        take(view.getUint32(0), view.getUint8(8) === 1, bytes.slice(at + 9, at + 9 + length));
        at += 9 + length;
      }
      bytes.copyWithin(0, at, filled);
      filled -= at;
    }
  }

  const value = Uint8Array.from(hash.match(/../g), (byte) => parseInt(byte, 16));
  const transport = new WebTransport(url, { serverCertificateHashes: [{ algorithm: 'sha-256', value }] });
  transport.closed.catch((error) => globalThis.witness.errors.push(`closed: ${error}`));
  await transport.ready;
  // The frame that comes first is the first of all: later streams may overtake it.
  const streams = transport.incomingUnidirectionalStreams.getReader();
  (async () => {
    for (;;) {
      const { value: stream, done } = await streams.read();
      if (done) return;
      const reading = read(stream).catch((error) => globalThis.witness.errors.push(`stream: ${error}`));
      if (one) await reading;
    }
  })();
}

/** The peer, for `measure.mjs`: how to start its server, and how to play in a page. */
export function streams({ one, control }) {
  return {
    form: 'framed',
    server: ({ address, port }) => [
      SERVER,
      [`${address}:${port}`, one ? 'one' : 'frames', control],
    ],
    page: async ({ page, address, port, said }) => {
      const { hash } = JSON.parse(await said(/^\{/));
      await page.goto('https://peer.invalid/');
      await page.evaluate(play, { url: `https://${address}:${port}/`, hash, one });
    },
  };
}
