// The page as a phone shows it: Chromium with a phone's screen and touch.

import { devices } from 'playwright-core';

export const PHONE = devices['Pixel 7'];

/** What of the page does not fit the screen, and what a finger cannot meet: of 44 pixels or more. */
function misfits() {
  const found = [];
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.documentElement;
  if (scrollWidth > clientWidth || scrollHeight > clientHeight) {
    found.push(`the page of ${scrollWidth} x ${scrollHeight} scrolls in ${clientWidth} x ${clientHeight}`);
  }
  for (const { id } of document.querySelectorAll('button:not([hidden]), input, #numbers')) {
    if (id === 'again') continue;
    const { left, right, top, bottom, width, height } = document.getElementById(id).getBoundingClientRect();
    if (width === 0 && id === 'numbers') continue; // left out where the screen is low
    const inside = left >= 0 && top >= 0 && right <= clientWidth && bottom <= clientHeight;
    if (!inside || Math.min(width, height) < 43.9) found.push(`${id}: ${width} x ${height} at ${left}, ${top}`);
  }
  return found;
}

/** Upright, on its side, and a touch of the slider for the delay. */
export async function handle(page) {
  const upright = await page.evaluate(misfits);
  const { width, height } = PHONE.viewport;
  await page.setViewportSize({ width: height, height: width });
  const onItsSide = await page.evaluate(misfits);
  await page.setViewportSize({ width, height });
  const chosen = page.locator('#chosen');
  const before = await chosen.textContent();
  const slider = await page.locator('#delay').boundingBox();
  await page.touchscreen.tap(slider.x + slider.width / 2, slider.y + slider.height / 2);
  return { upright, onItsSide, before, after: await chosen.textContent() };
}
