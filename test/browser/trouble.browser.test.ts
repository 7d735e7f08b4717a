/** Plays what a person on call does with trouble in a real Chromium, counted in clicks, and looks at how much fits on a screen. */

import type { Browser, Page } from 'playwright-core';
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

const GRAVE = 'main > table.dense';

/** Opens the overview, and waits until it has what is looked for. */
async function overviewWith(page: Page, selector: string): Promise<void> {
  await signIn(page, `${bridge.origin}/console`, bridge.token);
  while ((await page.locator(selector).count()) === 0) {
    await page.waitForTimeout(500);
    await page.goto(`${bridge.origin}/console`);
  }
}

/** A press leads to another page, which is awaited. */
async function press(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.locator(selector).first().click()]);
}

test('one click takes a trouble from the rows that need a person, and says who has taken it', async () => {
  const { page } = await openPage(browser);
  await overviewWith(page, `${GRAVE} button`);
  const form = page.locator(`${GRAVE} form`).first();
  const operation = await form.locator('[name=operation_id]').getAttribute('value');

  await press(page, `${GRAVE} button`);

  expect(await page.locator(`${GRAVE} [name=operation_id][value="${operation}"]`).count()).toBe(0);
  expect(await page.textContent('details#taken')).toContain('by development');
}, 120_000);

test('one click leads from a trouble to its project, which opens on it: verdict and failing operations come first', async () => {
  const { page } = await openPage(browser);
  await overviewWith(page, GRAVE);
  const [action = ''] = await page
    .locator(`${GRAVE} tbody tr:first-child td:nth-child(3) a`)
    .allTextContents();

  await press(page, `${GRAVE} tbody tr:first-child td:nth-child(2) a`);

  expect(await page.textContent('.verdict')).toContain('It needs a person');
  expect(await page.locator(`${GRAVE} tbody`).first().textContent()).toContain(action);
  const [trouble, computes] = [await page.locator(GRAVE).boundingBox(), page.locator('h2:text("Computes")')];
  expect(trouble?.y ?? 9_999).toBeLessThan((await computes.boundingBox())?.y ?? 0);
}, 120_000);

test('one click leads from an event to its page, with JSON that can be copied and a button that sends it again', async () => {
  const { page } = await openPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
  await signIn(page, `${bridge.origin}/console/events?status=finished`, bridge.token);
  const text = await page.locator('table.lines tbody tr').last().textContent();

  await press(page, 'table.lines tbody tr:last-child td:first-child a');
  await page.click('button:text("Copy the JSON")');
  const copied = JSON.parse(await page.evaluate<string>('navigator.clipboard.readText()'));
  await press(page, 'button:text("Send again")');

  expect(text).toContain(copied['detail-type']);
  expect(await page.textContent('#json')).toContain(copied.detail.id);
  expect(await page.textContent('.notice')).toContain('publishes it again');
}, 60_000);

test('a row of trouble takes one line at 1,280 px, and so does an event on a phone', async () => {
  const desktop = await openPage(browser, { viewport: { width: 1_280, height: 1_024 } });
  await overviewWith(desktop.page, GRAVE);
  const phone = await openPage(browser, { viewport: { width: 390, height: 844 }, isMobile: true });
  await signIn(phone.page, `${bridge.origin}/console/events`, bridge.token);
  const heightsOf = (page: Page, selector: string) =>
    page.locator(selector).evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));

  expect(Math.max(...(await heightsOf(desktop.page, `${GRAVE} tbody tr`)))).toBeLessThan(30);
  expect(Math.max(...(await heightsOf(phone.page, 'table.lines tbody tr')))).toBeLessThan(36);
}, 60_000);
