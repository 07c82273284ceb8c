// Peer: Media over QUIC. `moq` of moq-cli publishes the stream and serves it; the page has <moq-watch>.

import { fileURLToPath } from 'node:url';

const PLAYER = fileURLToPath(new URL('moq-player/dist/player.js', import.meta.url));

/** Runs in the page: plays the broadcast of the server at `url`. */
function play({ url, hash, latency }) {
  const player = document.createElement('moq-watch');
  player.connection.webtransport = { serverCertificateHashes: [{ value: hash }] };
  player.connection.websocket = { enabled: false };
  Object.assign(player, { url, latency, name: 'live', muted: true, visible: 'always' });
  player.append(document.createElement('canvas'));
  document.body.append(player);
  globalThis.player = player;
}

/** How long the player holds frames back, in ms. */
function statistics() {
  const { jitter, buffer } = globalThis.player.sync.out;
  return { jitterMs: jitter.peek(), bufferMs: buffer.peek() };
}

/** The peer, for `measure.mjs`; `latency`: ms that the player holds frames back, or its default, `real-time`. */
export function moq({ latency }) {
  return {
    form: 'ended',
    server: ({ address, port }) => [
      'moq',
      [
        ...['--log-level', 'warn', '--listen', `${address}:${port}`, '--listen-tls-generate', address, '--auth-public', '**'],
        ...['--broadcast', 'live', 'import', 'avc3'],
      ],
    ],
    page: async ({ page, address, port }) => {
      const response = await fetch(`http://${address}:${port}/certificate.sha256`);
      const hash = (await response.text()).trim();
      await page.goto('https://peer.invalid/');
      await page.addScriptTag({ path: PLAYER });
      await page.evaluate(play, { url: `https://${address}:${port}/`, hash, latency });
    },
    statistics: (page) => page.evaluate(statistics),
  };
}
