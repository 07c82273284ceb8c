// Chromium on side b of the lab that this process runs in.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { chromium } from 'playwright-core';

const CHROMIUM = process.env.WEFTLINE_CHROMIUM ?? '/usr/bin/chromium';

/** Starts it; `lab` is the program weftline-lab. Returns the browser and a function that ends it. */
export async function open(lab) {
  const folder = mkdtempSync(join(tmpdir(), 'weftline-browser-'));
  const program = join(folder, 'chromium-on-b');
  writeFileSync(program, `#!/bin/sh\nexec '${lab}' on b -- '${CHROMIUM}' "$@"\n`);
  chmodSync(program, 0o755);
  const browser = await chromium.launch({
    executablePath: program,
    headless: true,
    // Namespaces need root, and root needs this.
    chromiumSandbox: false,
    args: [
      // Pages of the peers come from no host, and connect to one of the lab.
      '--disable-features=LocalNetworkAccessChecks,WebRtcHideLocalIpsWithMdns',
      '--autoplay-policy=no-user-gesture-required',
    ],
  });
  const close = async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { browser, close };
}

/** A page that trusts any certificate, on this screen; https://peer.invalid/ is an empty page. */
export async function page(browser, screen = { viewport: { width: 1280, height: 720 } }) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, ...screen });
  const page = await context.newPage();
  await page.route('https://peer.invalid/**', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>peer</title><body style="margin:0">' }),
  );
  return page;
}
