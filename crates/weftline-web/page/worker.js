// The session, decoding and drawing. Messages with the page are plain objects.

import { Listen } from "./listen.js";
import { Clock, Order } from "./order.js";
import { LEAD, Screen } from "./screen.js";
import { Link, Stop } from "./link.js";
import { againMessage, delayMessage, read } from "./wire.js";

// Frames are worth something for so long if the viewer chose no delay.
const PATIENCE = 500;
// After a silence of so long the server sends the newest group.
const SILENCE = 500;
const TELL = 500;
// Counters of this many past tellings give the shares of loss and repair.
const PAST = 10;

const clock = new Clock();
const order = new Order();
let screen;
let link;
let log = false;
let isPlaying = false;
let bytes = 0;
// When the last message came.
let heard = 0;
const past = [];

const post = (message, transfer = []) => self.postMessage(message, transfer);
const listen = new Listen(clock, post);

const tellState = (state, headline, details = "") => {
    isPlaying = state === "playing";
    post({ state, headline, details });
};

const begin = ({ canvas, url, token, secret, delay, logs }) => {
    log = logs;
    screen = new Screen(canvas, clock, onDecoderError);
    screen.onRoom = decode;
    screen.onShown = onShown;
    const onState = (state, ...words) => {
        // The last pictures are still to be shown.
        const wait = state === "stopped" && isPlaying ? clock.delay ?? 0 : 0;
        setTimeout(() => tellState(state, ...words), wait);
    };
    link = new Link(url, token, { onMessage, onState }, secret);
    clock.delay = delay;
    link.greeting = () => delayMessage(clock.delay ?? PATIENCE);
    link.onWelcome = ({ secret, delay: suggested }) => post({ secret, suggested });
    void link.run();
    setInterval(tellNumbers, TELL);
};

const setDelay = (delay) => {
    clock.delay = delay;
    link.send(link.greeting());
    decode();
    screen.draw();
};

const onMessage = (message) => {
    const frame = read(message.data);
    if (!frame) {
        return;
    }
    if (frame.kind === "welcome") {
        if (!frame.known) {
            throw new Stop("Reload this page", "The server speaks another version of the protocol than this page.");
        }
        link.welcome(frame);
        return;
    }
    const now = performance.now();
    if (now - heard > SILENCE) {
        order.resume();
    }
    heard = now;
    bytes += frame.data.length;
    clock.on(frame, now);
    if (frame.kind === "sound") {
        listen.add(frame, now);
        return;
    }
    frame.late = message.late;
    order.add(frame, now);
    decode();
};

let timer;
// Gives the decoder what is next.
function decode() {
    clearTimeout(timer);
    const due = clock.delay === undefined ? undefined : (frame) => clock.at(frame) - LEAD <= performance.now();
    for (;;) {
        if (!screen.ready) {
            return;
        }
        const frame = order.next(performance.now(), due);
        if (!frame) {
            break;
        }
        screen.decode(frame);
    }
    if (order.size > 0) {
        timer = setTimeout(decode, 10);
    }
}

function onShown(frame, time, late) {
    if (time !== null && !isPlaying && link.isOpen) {
        tellState("playing", "Live");
    }
    if (log) {
        post({
            log: {
                frame: frame.number,
                key: frame.key,
                bytes: frame.bytes,
                sentMs: frame.wall,
                shownMs: time === null ? null : performance.timeOrigin + time,
                late: late || frame.late,
            },
        });
    }
}

let failures = 0;
function onDecoderError(error, codec) {
    order.reset();
    failures += 1;
    VideoDecoder.isConfigSupported({ codec }).catch(() => ({ supported: false })).then(({ supported }) => {
        if (!supported) {
            link.stop(new Stop("This browser cannot play the stream", `It has no decoder for ${codec}.`));
        } else {
            link.send(againMessage());
            console.warn(`the decoder failed (${error.message}); it begins anew`);
        }
    });
}

const tellNumbers = () => {
    const stats = link.stats();
    if (!stats) {
        past.length = 0;
        bytes = 0;
        return;
    }
    // A repair that is asked for takes a round trip.
    order.patience = Math.min(600, Math.max(150, 2 * stats.path.rtt));
    const { sourceSymbols, repairSymbols, recoveredSymbols, abandonedSymbols } = stats.received;
    const now = { sourceSymbols, repairSymbols, lost: recoveredSymbols + abandonedSymbols, bytes, time: performance.now() };
    // Another connection counts from zero.
    if (past[0]?.sourceSymbols > sourceSymbols) {
        past.length = 0;
    }
    past.push(now);
    const first = past.length > PAST ? past.shift() : past[0];
    const since = (name) => now[name] - first[name];
    const symbols = since("sourceSymbols") + since("lost");
    post({
        numbers: {
            behind: screen.behind + stats.path.minRtt / 2,
            loss: symbols > 0 ? since("lost") / symbols : 0,
            repairs: symbols > 0 ? since("repairSymbols") / symbols : 0,
            rtt: stats.path.rtt,
            rate: since("time") > 0 ? (since("bytes") * 8) / since("time") / 1000 : undefined,
            size: screen.size,
            shown: screen.shown,
            skipped: order.skipped,
            failures,
        },
    });
};

self.onmessage = ({ data }) => {
    if (data.begin) {
        begin(data.begin);
    } else if ("delay" in data) {
        setDelay(data.delay);
    } else if ("sound" in data) {
        listen.on = data.sound;
        if (!data.sound) {
            listen.stop();
        }
    } else if (data.wake) {
        link.wake();
    } else if (data.again) {
        void link.run();
    }
};
