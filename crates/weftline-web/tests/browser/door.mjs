// On side a of a lab: a page with a token that admits nobody, and what the browser has.
//
//     node door.mjs PROGRAMS PAGE RESULT

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { open, page as newPage } from './chromium.mjs';

const [programs, folder, result] = process.argv.slice(2);
const listen = ['--listen', '10.77.0.1:8443', ...(folder ? ['--page', folder] : [])];
const view = spawn(join(programs, 'weftline'), ['view', '--json', ...listen], { stdio: ['pipe', 'pipe', 'inherit'] });
const [line] = await once(view.stdout, 'data');
const [link] = JSON.parse(line.toString().split('\n')[0]).links;
const { browser, close } = await open(join(programs, 'weftline-lab'));
const page = await newPage(browser);
await page.goto(link.replace(/#.*/, `#${'0'.repeat(32)}`));
await page.waitForFunction(() => document.body.dataset.state === 'stopped', null, { timeout: 20_000 });
const told = await page.locator('#headline').textContent();
const has = await page.evaluate(async () => {
  const decodes = async (codec) => (await VideoDecoder.isConfigSupported({ codec })).supported === true;
  return {
    webTransport: 'WebTransport' in globalThis,
    h264: await decodes('avc1.42E01F'),
    av1: await decodes('av01.0.05M.08'),
    offscreen: 'transferControlToOffscreen' in HTMLCanvasElement.prototype,
  };
});
await close();
view.kill('SIGTERM');
await once(view, 'exit');
writeFileSync(result, JSON.stringify({ has, told }));
process.exit(0);
