// Peer: WebRTC by werift. Standard input has frames as `source.mjs` gives them; they are sent as RTP
// with NACK and RTX. Signalling: the offer is printed as a line of JSON, the answer comes by HTTP.
//
//     SOURCE | node webrtc-server.mjs ADDRESS PORT

import { createServer } from 'node:http';

import { MediaStreamTrack, RTCPeerConnection, RTCRtpCodecParameters, RtpHeader, RtpPacket } from 'werift';

import { payloads } from './h264.mjs';

const [address, port] = process.argv.slice(2);
const parameters = 'level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f';
const h264 = new RTCRtpCodecParameters({
  mimeType: 'video/H264',
  clockRate: 90000,
  payloadType: 96,
  parameters,
  rtcpFeedback: [{ type: 'nack' }, { type: 'nack', parameter: 'pli' }],
});
const rtx = new RTCRtpCodecParameters({ mimeType: 'video/rtx', clockRate: 90000, payloadType: 97, parameters: 'apt=96' });
const connection = new RTCPeerConnection({
  codecs: { video: [h264, rtx], audio: [] },
  iceServers: [],
  iceAdditionalHostAddresses: [address],
});
const track = new MediaStreamTrack({ kind: 'video' });
connection.addTransceiver(track, { direction: 'sendonly' });
let connected = false;
connection.connectionStateChange.subscribe((state) => {
  connected = state === 'connected';
  process.stderr.write(`webrtc: ${state}\n`);
});

await connection.setLocalDescription(await connection.createOffer());
const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', async () => {
    await connection.setRemoteDescription(JSON.parse(Buffer.concat(parts)));
    response.setHeader('access-control-allow-origin', '*').end('{}');
  });
}).listen(Number(port), address, () => {
  process.stdout.write(`${JSON.stringify({ offer: connection.localDescription })}\n`);
});
server.unref();

let sequenceNumber = 1;
let number = 0;
let started = false;
function send(isKey, frame) {
  const timestamp = (number * 3000) >>> 0;
  number += 1;
  started ||= isKey && connected;
  if (!connected || !started) return;
  const all = payloads(frame);
  all.forEach((payload, n) => {
    const marker = n + 1 === all.length;
    const header = new RtpHeader({ payloadType: 96, sequenceNumber, timestamp, marker, ssrc: 1 });
    sequenceNumber = (sequenceNumber + 1) & 0xffff;
    track.writeRtp(new RtpPacket(header, payload));
  });
}

let waiting = Buffer.alloc(0);
for await (const piece of process.stdin) {
  waiting = Buffer.concat([waiting, piece]);
  while (waiting.length >= 5 && waiting.length >= 5 + waiting.readUInt32BE(0)) {
    const end = 5 + waiting.readUInt32BE(0);
    send(waiting[4] === 1, waiting.subarray(5, end));
    waiting = waiting.subarray(end);
  }
}
process.exit(0);
