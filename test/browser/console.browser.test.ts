/** Runs the console in a real Chromium, in front of the wiring of `npm start`. */

import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AN_ALERT, launch, type RunningBridge, startBridge } from './bridge-in-browser.ts';
import { openPage, signIn, violations } from './page-in-browser.ts';

let browser: Browser;
/** This bridge runs at thirty times the speed, and the tests that only read share it. */
let busy: RunningBridge;
beforeAll(async () => {
  browser = await launch();
  busy = await startBridge(AN_ALERT, ['--projects', '12', '--speed', '30']);
}, 170_000);
afterAll(async () => {
  busy.stop();
  await browser.close();
});

const SIZES: readonly (readonly [string, BrowserContextOptions])[] = [
  ['light', { viewport: { width: 1200, height: 900 }, colorScheme: 'light' }],
  ['dark', { viewport: { width: 1200, height: 900 }, colorScheme: 'dark' }],
  ['phone', { viewport: { width: 390, height: 844 }, colorScheme: 'light', isMobile: true }],
];

describe('a person on call', () => {
  test("opens an alert's link, signs in and sees what failed; nothing is loaded from other sites", async () => {
    const { token, link: alertLink } = busy;
    const { page, foreign, problems, transferredBytes } = await openPage(browser);

    await signIn(page, alertLink, token);

    expect(await page.textContent('h1')).toMatch(/^\w+$/);
    expect(await page.textContent('.verdict')).toMatch(/failed|running|finished/);
    expect(await page.textContent('dl.facts')).toMatch(/Alerts\s*email, \d+ sent/);
    expect(await page.getAttribute('time', 'title')).toMatch(/ UTC$/);
    expect(foreign).toEqual([]);
    expect(problems).toEqual([]);
    expect(transferredBytes()).toBeLessThan(60_000);
  });
});

describe('every page', () => {
  test.each(SIZES)(
    'is accessible and fits its width: %s',
    async (_name, options) => {
      const { origin, token, link: alertLink } = busy;
      const { page } = await openPage(browser, options);
      await page.goto(`${origin}/console`);
      const found: Record<string, readonly string[]> = { 'signed out': await violations(page) };
      await signIn(page, `${origin}/console`, token);
      const project = alertLink.replace(/\/operations\/.*/, '');
      await page.goto(`${origin}/console/events`);
      const href = await page.locator('main td a[href*="/events/"]').first().getAttribute('href');
      const event = new URL(href ?? '', origin).href;

      for (const path of [
        `${origin}/console`,
        `${origin}/console/projects`,
        `${origin}/console/projects?state=needs+a+person&order=failures`,
        `${origin}/console/search?q=a`,
        `${origin}/console/search?q=00`,
        project,
        alertLink,
        event,
        `${origin}/console/accounts`,
        `${origin}/console/accounts/main`,
        `${origin}/console/accounts/main/freeze`,
        `${origin}/console/commands`,
        `${origin}/console/mutes`,
        `${origin}/console/tokens`,
        `${origin}/console/audit`,
        `${origin}/console/time-zone`,
        `${origin}/console/events`,
        `${origin}/console/alerts`,
        `${origin}/console/subscriptions`,
        `${origin}/console/subscribe?status=failed`,
        `${origin}/console/nothing`,
        `${origin}/bridge/v1/docs`,
      ]) {
        await page.goto(path);
        found[path] = await violations(page);
        const overflow = await page.evaluate<number>(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        expect([path, overflow]).toEqual([path, 0]);
      }

      expect(Object.entries(found).filter(([, each]) => each.length > 0)).toEqual([]);
      // On a busy machine axe takes seconds for a page.
    },
    240_000,
  );
});
