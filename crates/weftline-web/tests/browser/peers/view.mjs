// Weftline: `weftline view` and its page.

/** How the page shows frames: each as soon as it can. Another delay smooths, and measures only itself. */
const SOONEST = 'asap';

/** For `measure.mjs`; `options` are added to the command line, `delay` is that of the page. */
export function view({ options = [], delay = SOONEST }) {
  return {
    form: 'bare',
    server: ({ programs, address, port, page }) => [
      `${programs}/weftline`,
      ['view', '--json', '--listen', `${address}:${port}`, ...(page ? ['--page', page] : []), ...options],
    ],
    page: async ({ page, said }) => {
      const [url] = (await said(/"links"/)).match(/https:[^"]+/);
      await page.goto(url.replace('#', `?log=1&delay=${delay}#`), { waitUntil: 'commit', timeout: 60_000 });
    },
    statistics: (page) =>
      page.evaluate(() => ({ state: globalThis.weftlineView?.state, ...globalThis.weftlineView?.numbers })),
  };
}
