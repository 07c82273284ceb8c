// The messages between server and page: docs/reference/view-protocol.md.

const VIDEO = 1;
const SOUND = 2;
const WELCOME = 3;
const VERSION = 1;
const DELAY = 1;
const AGAIN = 2;
const HEAD = 30;

const text = new TextDecoder();

// Reads a message; undefined: this page does not know it. Times are in milliseconds.
export const read = (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const kind = bytes[0];
    if (kind === WELCOME && bytes.length >= 4) {
        const known = bytes[1] === VERSION;
        return { kind: "welcome", known, delay: view.getUint16(2), secret: text.decode(bytes.subarray(4)) };
    }
    if ((kind !== VIDEO && kind !== SOUND) || bytes.length <= HEAD) {
        return undefined;
    }
    const frame = {
        kind: kind === VIDEO ? "video" : "sound",
        key: (bytes[1] & 1) === 1,
        number: view.getUint32(2),
        show: Number(view.getBigUint64(6)) / 1000,
        came: Number(view.getBigUint64(14)) / 1000,
        wall: Number(view.getBigUint64(22)) / 1000,
    };
    let body = HEAD;
    if (kind === SOUND) {
        frame.channels = bytes[body];
        body += 1;
    } else if (frame.key) {
        const end = body + 1 + bytes[body];
        frame.codec = text.decode(bytes.subarray(body + 1, end));
        frame.group = frame.number;
        body = end;
    } else {
        if (bytes.length < body + 4) {
            return undefined;
        }
        frame.group = view.getUint32(body);
        body += 4;
    }
    frame.data = bytes.subarray(body);
    return frame;
};

export const delayMessage = (ms) => new Uint8Array([DELAY, ms >> 8, ms & 255]);
export const againMessage = () => new Uint8Array([AGAIN]);
