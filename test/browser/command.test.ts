/** Acts in a real Chromium, and follows the command to its end: on a compute, and on what an alert is about. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startUpstream } from '../../infra/packages/testing/operations-bridge-testing.ts';
import { ALL_READ, AN_ALERT, launch, startBridge, startBridgeAt } from './bridge-in-browser.ts';
import { openPage, signIn, violations } from './page-in-browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/** Resolves once the command that the page shows has come to its end, without another load of the page. */
async function awaitEnd(page: Page): Promise<void> {
  await page.waitForURL(/\/commands\/[^/]+$/);
  const loadedAt = await page.evaluate(() => performance.timeOrigin);
  await page.locator('.verdict .badge', { hasText: 'succeeded' }).waitFor({ timeout: 60_000 });
  expect(await page.evaluate(() => performance.timeOrigin)).toBe(loadedAt);
}

test('a person starts a compute, and sees the command and its end without a reload', async () => {
  const bridge = await startBridge(ALL_READ, ['--projects', '4']);
  onTestFinished(() => bridge.stop());
  const { page, problems } = await openPage(browser);
  await signIn(page, `${bridge.origin}/console/projects`, bridge.token);
  await page.locator('main table a[href*="/projects/"]').first().click();
  await page.locator('a.button', { hasText: 'Start' }).first().click();

  await page.click('button.do');
  await awaitEnd(page);

  const operations = page.locator('main table tbody tr');
  expect(await operations.locator('.badge', { hasText: 'finished' }).count()).toBeGreaterThan(0);
  expect(await page.textContent('dl.facts')).toMatch(/Sent by\s*development/);
  await operations.locator('a').first().click();
  await page.waitForURL(/\/operations\//);
  expect(await page.textContent('main')).toMatch(/startEndpoint/);
  expect(problems).toEqual([]);
});

/** With this seed the first start of the compute fails three times for good, and the second one succeeds. */
const SEED = 203;

/** The attempts of the first start are over by then. */
const THREE_ATTEMPTS_MS = 4_000_000;

test("a person opens an alert's link, repeats the operation that was given up, and sees the command's end", async () => {
  const upstream = await startUpstream({ seed: SEED, projects: 1, sessionsPerHour: 0 });
  onTestFinished(() => upstream.close());
  const bridge = await startBridgeAt(/(1) of 1 projects? read/, upstream);
  onTestFinished(() => bridge.stop());
  const headers = { authorization: `Bearer ${bridge.token}` };
  const endpoints = `${bridge.origin}/api/v2/projects/${upstream.projectIds()[0]}/endpoints`;
  const listed = (await (await fetch(endpoints, { headers })).json()) as { endpoints: { id: string }[] };
  await fetch(`${endpoints}/${listed.endpoints[0]?.id}/start`, { method: 'POST', headers });
  // People are alerted at once of a third failure.
  upstream.passTime(THREE_ATTEMPTS_MS);
  const alertLink = await bridge.printed(AN_ALERT);
  const { page, problems } = await openPage(browser);

  await signIn(page, alertLink, bridge.token);
  expect(await page.textContent('.verdict')).toMatch(/failed/);
  await page.click('text=Repeat');
  await page.click('button.do');
  await awaitEnd(page);

  expect(await page.textContent('main table')).toMatch(/start_compute[\s\S]*finished/);
  expect(await violations(page)).toEqual([]);
  expect(problems).toEqual([]);
});
