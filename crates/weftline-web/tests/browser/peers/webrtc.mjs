// Peer: WebRTC. The page plays the track in a <video>; frames are noted where they leave the jitter
// buffer and the decoder (MediaStreamTrackProcessor), so that none that a <video> leaves out counts.

import { fileURLToPath } from 'node:url';

/** Runs in the page: plays the track of the offer, and returns the answer. */
async function play({ offer, target }) {
  const video = document.createElement('video');
  Object.assign(video, { muted: true, autoplay: true, playsInline: true });
  document.body.append(video);
  const connection = new RTCPeerConnection();
  connection.ontrack = async ({ track, receiver }) => {
    if (target !== null) receiver.jitterBufferTarget = target;
    video.srcObject = new MediaStream([track]);
    const frames = new MediaStreamTrackProcessor({ track: track.clone() }).readable.getReader();
    for (;;) {
      const { value: frame, done } = await frames.read();
      if (done) return;
      globalThis.witness.see(frame);
      frame.close();
    }
  };
  await connection.setRemoteDescription(offer);
  await connection.setLocalDescription(await connection.createAnswer());
  await new Promise((resolve) => {
    const look = () => connection.iceGatheringState === 'complete' && resolve();
    connection.onicegatheringstatechange = look;
    look();
  });
  globalThis.connection = connection;
  return connection.localDescription.toJSON();
}

/** What the receiver says of its jitter buffer, retransmissions and losses. */
async function statistics() {
  const report = await globalThis.connection.getStats();
  const inbound = [...report.values()].find(({ type }) => type === 'inbound-rtp');
  const { jitterBufferDelay, jitterBufferEmittedCount, jitterBufferTargetDelay } = inbound;
  return {
    bufferMs: (1000 * jitterBufferDelay) / jitterBufferEmittedCount,
    targetMs: (1000 * jitterBufferTargetDelay) / jitterBufferEmittedCount,
    nacks: inbound.nackCount,
    keyFrameRequests: inbound.pliCount,
    retransmitted: inbound.retransmittedPacketsReceived,
    lost: inbound.packetsLost,
    dropped: inbound.framesDropped,
    decoder: inbound.decoderImplementation,
  };
}

/** The peer, for `measure.mjs`; `target`: ms of jitterBufferTarget, `null` for the browser's own choice. */
export function webrtc({ target }) {
  return {
    form: 'framed',
    server: ({ address, port }) => [
      process.execPath,
      [fileURLToPath(new URL('webrtc-server.mjs', import.meta.url)), address, `${port}`],
    ],
    page: async ({ page, address, port, said }) => {
      const { offer } = JSON.parse(await said(/^\{"offer"/));
      await page.goto('https://peer.invalid/');
      const answer = await page.evaluate(play, { offer, target });
      const response = await fetch(`http://${address}:${port}/`, { method: 'POST', body: JSON.stringify(answer) });
      if (!response.ok) throw new Error(`the answer was refused: ${response.status}`);
    },
    statistics: (page) => page.evaluate(statistics),
  };
}
