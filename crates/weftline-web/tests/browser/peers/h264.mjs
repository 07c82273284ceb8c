// H.264 frames in RTP packets (RFC 6184, non-interleaved mode).

/** Bytes of payload in a packet. */
const MOST = 1150;

/** The NAL units of a frame in Annex B form. */
export function units(frame) {
  const starts = [];
  for (let at = frame.indexOf('000001', 0, 'hex'); at >= 0; at = frame.indexOf('000001', at + 3, 'hex')) {
    starts.push(at + 3);
  }
  return starts.map((start, n) => {
    let end = n + 1 < starts.length ? starts[n + 1] - 3 : frame.length;
    while (end > start && frame[end - 1] === 0) end -= 1;
    return frame.subarray(start, end);
  });
}

/** The payloads of a frame's packets: delimiters are left out, long units are cut (FU-A). */
export function payloads(frame) {
  const packets = [];
  for (const unit of units(frame)) {
    const type = unit[0] & 31;
    if (type === 9) continue;
    if (unit.length <= MOST) {
      packets.push(unit);
      continue;
    }
    for (let at = 1; at < unit.length; at += MOST - 2) {
      const end = Math.min(unit.length, at + MOST - 2);
      const place = (at === 1 ? 0x80 : 0) | (end === unit.length ? 0x40 : 0);
      packets.push(Buffer.concat([Buffer.from([(unit[0] & 0xe0) | 28, place | type]), unit.subarray(at, end)]));
    }
  }
  return packets;
}
