/** Watches an open list in a real Chromium while events come: nothing that a person holds is lost, and a tab is modest. */

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AN_ALERT, launch, type RunningBridge, startBridge } from './bridge-in-browser.ts';
import { openPage, signIn } from './page-in-browser.ts';

let browser: Browser;
let bridge: RunningBridge;
beforeAll(async () => {
  browser = await launch();
  bridge = await startBridge(AN_ALERT, ['--projects', '12', '--speed', '30']);
}, 170_000);
afterAll(async () => {
  bridge.stop();
  await browser.close();
});

/** The page of the event in the first row. */
const FIRST = 'document.querySelector("main tbody a[href*=\'/events/\']").href';
const ROW = 'main tbody tr:nth-child(3)';

test('rows come in place: the focus and the selection stay, and a pause holds the list', async () => {
  const { page, problems } = await openPage(browser);
  await signIn(page, `${bridge.origin}/console/events`, bridge.token);
  const newest = () => page.evaluate<string>(FIRST);
  const newer = (than: string) => expect.poll(newest, { timeout: 90_000 }).not.toBe(than);
  await page.focus(`${ROW} a`);
  await page.evaluate(
    `getSelection().selectAllChildren(document.querySelector(${JSON.stringify(`${ROW} time`)}))`,
  );
  const held = 'JSON.stringify([getSelection().toString(), document.activeElement.href])';
  const before = await page.evaluate<string>(held);
  expect(before).toMatch(/\d\d:\d\d.*http/);

  await newer(await newest());

  expect(await page.evaluate<string>(held)).toBe(before);
  expect(await page.locator('main tr.fresh').count()).toBeGreaterThan(0);

  await page.click('[data-pause]');
  expect(await page.textContent('[data-pause]')).toBe('○ Paused. Go on');
  const paused = await newest();
  const { page: other } = await openPage(browser);
  await signIn(other, `${bridge.origin}/console/events`, bridge.token);
  await expect.poll(() => other.evaluate<string>(FIRST), { timeout: 90_000 }).not.toBe(paused);
  expect(await newest()).toBe(paused);

  await page.click('[data-pause]');
  await newer(paused);
  expect(problems).toEqual([]);
}, 300_000);

test('a tab of a busy account asks for at most 100 kB a minute', async () => {
  const { page } = await openPage(browser);
  const tools = await page.context().newCDPSession(page);
  await tools.send('Network.enable');
  await signIn(page, `${bridge.origin}/console/events`, bridge.token);
  let bytes = 0;
  const first = Promise.withResolvers<void>();
  tools.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
    if (bytes > 5_000) first.resolve();
  });
  await first.promise;
  bytes = 0;

  await page.waitForTimeout(60_000);

  expect(bytes).toBeLessThan(100_000);
}, 200_000);

test('lists whose rows are no events are live, too: a mute that somebody else sets appears', async () => {
  const { page, problems } = await openPage(browser);
  await signIn(page, `${bridge.origin}/console/mutes`, bridge.token);
  await page.fill('#reason', 'half a sentence');

  const response = await fetch(`${bridge.origin}/bridge/v1/mutes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bridge.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ action: 'start_compute', duration_seconds: 600, reason: 'set elsewhere' }),
  });
  expect(response.status).toBeLessThan(300);

  await expect.poll(() => page.textContent('main'), { timeout: 60_000 }).toContain('set elsewhere');
  expect(await page.inputValue('#reason')).toBe('half a sentence');
  expect(problems).toEqual([]);
}, 120_000);

test('? opens the help, and Escape closes it', async () => {
  const { page } = await openPage(browser);
  await signIn(page, `${bridge.origin}/console/alerts`, bridge.token);

  await page.keyboard.press('?');
  expect(await page.isVisible('#help')).toBe(true);
  await page.keyboard.press('Escape');

  expect(await page.isVisible('#help')).toBe(false);
});
