// From what was given and what was shown to the figures of a row.

const FPS = 30;

/** The value that a share of the sorted values does not exceed. */
function quantile(sorted, share) {
  return sorted[Math.min(sorted.length, Math.max(1, Math.ceil(sorted.length * share))) - 1];
}

/**
 * Numbers as they were painted count from 0 again when the video does. What is shown is close to
 * what was shown before it: that gives the number in the stream.
 */
function unwrapped(painted, last, total, newest) {
  const base = last ?? newest;
  let number = painted + Math.round((base - painted) / total) * total;
  if (number > newest) number -= total;
  return number;
}

/**
 * `given`: the time of each frame at the source; `shown`: time, painted number and hash of each
 * picture; `frames`: the video. Times are in ms since 1970.
 */
export function figures({ given, shown, frames, from, to, wire, outage }) {
  const firstShown = new Map();
  let corrupt = 0;
  let backwards = 0;
  let last;
  const times = [];
  for (const [at, painted, hash] of shown) {
    const newest = given.findLastIndex((time) => time <= at);
    const intact = painted >= 0 && painted < frames.length && frames[painted].hash === hash;
    if (!intact) {
      if (at >= from) corrupt += 1;
      continue;
    }
    const number = unwrapped(painted, last, frames.length, newest);
    if (last !== undefined && number < last) backwards += 1;
    if (firstShown.has(number)) continue;
    firstShown.set(number, at);
    last = number;
    if (at >= from && at <= to) times.push(at);
  }
  const delays = [];
  const shownDelays = [];
  const perFrame = [];
  let missing = 0;
  let video = 0;
  given.forEach((time, number) => {
    if (time < from || time >= to) return;
    video += frames[number % frames.length].bytes;
    const at = firstShown.get(number);
    // A frame that is missing has waited for ever.
    const delay = at === undefined ? Infinity : at - time;
    if (at === undefined) missing += 1;
    else shownDelays.push(delay);
    delays.push(delay);
    perFrame.push([number, at === undefined ? null : delay]);
  });
  const sorted = delays.toSorted((a, b) => a - b);
  const gaps = times.slice(1).map((at, n) => at - times[n]);
  const freezes = gaps.filter((gap) => gap > 200);
  const row = {
    frames: delays.length,
    shown: delays.length - missing,
    missing,
    corrupt,
    backwards,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    p999: quantile(sorted, 0.999),
    longest: sorted.at(-1),
    p99Shown: quantile(shownDelays.toSorted((a, b) => a - b), 0.99),
    bytesPerByte: wire.sent / video,
    backPerByte: wire.received / video,
    mbit: (video * 8) / (to - from) / 1000,
    freezes: freezes.length,
    longestGap: Math.max(0, ...gaps),
  };
  if (outage) {
    // The next frame that is shown after the path's return; and when delay is as before.
    const next = shown.find(([at, painted]) => at >= outage.end && painted >= 0);
    row.resumedMs = next ? next[0] - outage.end : null;
    const before = quantile(
      perFrame.filter(([n]) => given[n] < outage.start - 1000).map(([, delay]) => delay ?? Infinity).toSorted((a, b) => a - b),
      0.9,
    );
    const caught = perFrame.find(([n, delay]) => given[n] >= outage.end - 1000 && delay !== null && delay <= before + 50);
    row.liveAgainMs = caught ? given[caught[0]] + caught[1] - outage.end : null;
  }
  return { row, perFrame };
}
