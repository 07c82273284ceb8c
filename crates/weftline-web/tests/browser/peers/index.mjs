// The transports that are measured, by name.

import { moq } from './moq.mjs';
import { streams } from './streams.mjs';
import { view } from './view.mjs';
import { webrtc } from './webrtc.mjs';

const PEERS = {
  view: () => view({}),
  // For runs of losses: more repairs, of which most are needed.
  'view-bursts': () => view({ options: ['--preset', 'auto,deadline=110,share=0.6'] }),
  'streams-bbr': () => streams({ one: false, control: 'bbr' }),
  'streams-cubic': () => streams({ one: false, control: 'cubic' }),
  'one-stream-bbr': () => streams({ one: true, control: 'bbr' }),
  'one-stream-cubic': () => streams({ one: true, control: 'cubic' }),
  moq: () => moq({ latency: 'real-time' }),
  'moq-0': () => moq({ latency: 0 }),
  webrtc: () => webrtc({ target: null }),
  'webrtc-0': () => webrtc({ target: 0 }),
};

export const NAMES = Object.keys(PEERS);

/** The peer of that name; after `view:` comes a preset of `weftline view`, after `@` the page's delay in ms. */
export function peer(name) {
  const [, preset, delay] = name.match(/^view:([^@]+)(?:@(\d+))?$/) ?? [];
  if (preset) return view({ options: ['--preset', preset], delay });
  const make = PEERS[name];
  if (!make) throw new Error(`unknown transport ${name}: use ${NAMES.join(', ')}`);
  return make();
}
