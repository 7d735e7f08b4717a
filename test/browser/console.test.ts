/** Runs the console in a real Chromium, in front of the wiring of `npm start`. */

import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runBridgeCommand } from '../local/child-process.ts';
import {
  ALL_READ,
  AN_ALERT,
  FAILS_NOW,
  launch,
  type RunningBridge,
  startBridge,
} from './bridge-in-browser.ts';
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

/** Starts a bridge in real time for one test. Within seconds nothing happens there except what the test does. */
async function calmBridge(): Promise<RunningBridge> {
  const bridge = await startBridge(ALL_READ, ['--projects', '4']);
  onTestFinished(() => bridge.stop());
  return bridge;
}

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

  test('opens the link of an operation that failed just now, and sees its history', async () => {
    const bridge = await startBridge(FAILS_NOW, ['--speed', '30', '--projects', '12']);
    onTestFinished(() => bridge.stop());
    const { token, link: alertLink } = bridge;
    const { page } = await openPage(browser);

    await signIn(page, alertLink, token);

    const history = (await page.textContent('main table')) ?? '';
    expect(history).toMatch(/failed/);
    expect(await page.locator('main table').first().locator('tbody tr').count()).toBeGreaterThan(1);
    expect(history).toMatch(/poll/);
  });

  test('without the scope sees no action, and a forged one is refused', async () => {
    const { origin, awsEndpoint, accessKey, token: development } = await calmBridge();
    const scopes = 'operations:read,projects:read,computes:read';
    const issuing = runBridgeCommand(
      ['tokens', 'create', '--client', 'reader', '--scopes', scopes, '--endpoint', awsEndpoint],
      { AWS_ACCESS_KEY_ID: accessKey },
    );
    await issuing.ended();
    const [token = ''] = /opb_\S+/.exec(issuing.output()) ?? [];
    const { page } = await openPage(browser);
    const { projects } = (await (
      await page.request.get(`${origin}/api/v2/projects`, {
        headers: { authorization: `Bearer ${development}` },
      })
    ).json()) as { projects: readonly { id: string }[] };
    const project = `${origin}/console/accounts/main/projects/${projects[0]?.id}`;

    await signIn(page, project, token);

    const computes = page.locator('td a.id[href*="/endpoints/"]');
    expect(await computes.count()).toBeGreaterThan(0);
    expect(await page.locator('a.button', { hasText: /Start|Restart/ }).count()).toBe(0);
    const id = (await computes.first().textContent()) ?? '';
    const answer = await page.request.post(`${project}/endpoints/${id}/start`, {
      form: { form_key: 'x' },
      headers: { origin },
    });
    expect(answer.status()).toBe(403);
  });
});

describe('every page', () => {
  test.each(SIZES)('is accessible and fits its width: %s', async (_name, options) => {
    const { origin, token, link: alertLink } = busy;
    const { page } = await openPage(browser, options);
    await page.goto(`${origin}/console`);
    const found: Record<string, readonly string[]> = { 'signed out': await violations(page) };
    await signIn(page, `${origin}/console`, token);
    const project = alertLink.replace(/\/operations\/.*/, '');

    for (const path of [
      `${origin}/console`,
      `${origin}/console/projects`,
      `${origin}/console/projects?state=needs+a+person&order=failures`,
      `${origin}/console/search?q=a`,
      `${origin}/console/search?q=00`,
      project,
      alertLink,
      `${origin}/console/accounts/main`,
      `${origin}/console/accounts/main/freeze`,
      `${origin}/console/commands`,
      `${origin}/console/mutes`,
      `${origin}/console/tokens`,
      `${origin}/console/audit`,
      `${origin}/console/time-zone`,
      `${origin}/console/events`,
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
  });
});
