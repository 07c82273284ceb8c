// What the viewer sees and touches. The worker does the rest.

import { Speaker } from "./speaker.js";

const by = (id) => document.getElementById(id);
// Delays in milliseconds; the first one is "as soon as possible".
const DELAYS = [undefined, 50, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 10000];
const parameters = new URLSearchParams(location.search);
const log = parameters.get("log") === "1";
const entries = [];
window.weftlineView = entries;

const show = ({ state, headline, details = "" }) => {
    entries.state = state;
    document.body.dataset.state = state;
    by("headline").textContent = headline;
    by("details").textContent = details;
    by("state").textContent = { playing: "Live", stopped: "Stopped" }[state] ?? "Connecting";
    by("again").hidden = state !== "stopped" || fatal !== undefined;
};

const words = (delay) => {
    if (delay === undefined) {
        return "shortest";
    }
    return delay < 1000 ? `${delay} ms` : `${delay / 1000} s`;
};

// What is missing here, for people.
const missing = () => {
    const secure = "Open it over https, or over http on the host itself (localhost).";
    const browser = "Chrome, Edge and Firefox of the last years and Safari 26.4 have it.";
    if (!self.isSecureContext) {
        return ["The browser does not trust this page's address", secure];
    }
    if (!("WebTransport" in self)) {
        return ["This browser has no WebTransport", browser];
    }
    if (!("VideoDecoder" in self)) {
        return ["This browser has no WebCodecs", browser];
    }
    if (!("OffscreenCanvas" in self) || !HTMLCanvasElement.prototype.transferControlToOffscreen) {
        return ["This browser cannot draw in a worker", browser];
    }
    if (!location.hash.slice(1)) {
        return ["The link is not complete", "It ends with # and 32 digits, which say that you may watch."];
    }
    return undefined;
};

const fatal = missing();

// With the secret of its welcome a page that is loaded again is the same page. A browser may keep nothing.
const kept = (token, secret) => {
    try {
        if (secret) {
            sessionStorage.setItem(token, secret);
        }
        return sessionStorage.getItem(token) ?? undefined;
    } catch {
        return undefined;
    }
};

// The screen does not go dark while pictures come. A hidden page loses that.
let awake;
const stayAwake = () => {
    void awake?.then((lock) => lock?.release());
    awake = entries.state === "playing" ? navigator.wakeLock?.request("screen").catch(() => {}) : undefined;
};

const begin = () => {
    const worker = new Worker("worker.js", { type: "module" });
    const speaker = new Speaker();
    const canvas = by("screen").transferControlToOffscreen();
    const asked = parameters.get("delay");
    const number = Math.min(10_000, Math.max(50, Number(asked)));
    const chosen = asked === null || asked === "asap" || !Number.isFinite(number) ? undefined : number;
    let delay = asked === null ? null : chosen;

    const showDelay = (ms) => {
        by("chosen").textContent = words(ms);
        by("delay").setAttribute("aria-valuetext", words(ms));
        const steps = DELAYS.map((step) => Math.abs((step ?? 0) - (ms ?? 0)));
        by("delay").value = steps.indexOf(Math.min(...steps));
    };
    const setDelay = (ms) => {
        delay = ms;
        showDelay(ms);
        worker.postMessage({ delay });
        speaker.clear();
    };
    by("delay").max = DELAYS.length - 1;
    showDelay(delay ?? undefined);
    by("delay").addEventListener("input", () => setDelay(DELAYS[by("delay").valueAsNumber]));

    const setSound = async (on) => {
        by("sound").setAttribute("aria-pressed", on);
        by("sound").setAttribute("aria-label", on ? "Sound is on" : "Sound is off");
        worker.postMessage({ sound: on });
        await (on ? speaker.start() : speaker.stop());
    };
    by("sound").disabled = !("AudioDecoder" in self);
    by("sound").addEventListener("click", () => setSound(by("sound").getAttribute("aria-pressed") !== "true"));

    by("full").hidden = !document.fullscreenEnabled;
    by("full").addEventListener("click", () => {
        void (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen());
    });
    let failed = false;
    by("again").addEventListener("click", () => (failed ? location.reload() : worker.postMessage({ again: true })));
    const wake = () => {
        if (document.visibilityState === "visible") {
            worker.postMessage({ wake: true });
            stayAwake();
        }
    };
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);

    const percent = (share) => `${(100 * share).toFixed(1)} %`;
    worker.onmessage = ({ data }) => {
        if (data.log) {
            entries.push(data.log);
        } else if (data.sound) {
            speaker.play(data.sound);
        } else if (data.numbers) {
            const { behind, loss, repairs, rtt, rate, size, skipped } = data.numbers;
            entries.numbers = data.numbers;
            by("behind").textContent = `${Math.round(behind)} ms`;
            by("loss").textContent = percent(loss);
            by("repairs").textContent = percent(repairs);
            by("rtt").textContent = rtt > 0 ? `${Math.round(rtt)} ms` : "–";
            by("rate").textContent = rate === undefined ? "–" : `${rate.toFixed(2)} Mbit/s`;
            by("picture").textContent = size || "–";
            by("skipped").textContent = skipped;
        } else if ("suggested" in data) {
            kept(token, data.secret);
            // The server's choice, unless the viewer has made one.
            if (delay === null) {
                setDelay(data.suggested);
            }
        } else if (data.state) {
            show(data);
            stayAwake();
        }
    };
    worker.onerror = (event) => {
        failed = true;
        show({ state: "stopped", headline: "The page failed", details: event.message });
    };
    const [url, token] = [location.origin, location.hash.slice(1)];
    const secret = kept(token);
    worker.postMessage({ begin: { canvas, url, token, secret, delay: chosen, logs: log } }, [canvas]);
};

if (fatal) {
    show({ state: "stopped", headline: fatal[0], details: fatal[1] });
} else {
    begin();
}
// Another link in the same page.
window.addEventListener("hashchange", () => location.reload());
