/** Acts in a real Chromium, and follows the command to its end: on a compute, and on what an alert is about. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startUpstream } from '../../infra/packages/testing/operations-bridge-testing.ts';
import { runBridgeCommand } from '../local/child-process.ts';
import { AN_ALERT, launch, startBridgeAt } from './bridge-in-browser.ts';
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

/** Starts a bridge in front of a service of one project, in which nothing happens but what the test does. */
async function quietBridge(seed: number) {
  const upstream = await startUpstream({ seed, projects: 1, sessionsPerHour: 0 });
  onTestFinished(() => upstream.close());
  const bridge = await startBridgeAt(/(1) of 1 projects? read/, upstream);
  onTestFinished(() => bridge.stop());
  const [projectId = ''] = upstream.projectIds();
  const headers = { authorization: `Bearer ${bridge.token}` };
  const endpoints = `${bridge.origin}/api/v2/projects/${projectId}/endpoints`;
  const listed = (await (await fetch(endpoints, { headers })).json()) as { endpoints: { id: string }[] };
  const endpointId = listed.endpoints[0]?.id ?? '';
  return {
    upstream,
    bridge,
    endpointId,
    projectPage: `${bridge.origin}/console/accounts/main/projects/${projectId}`,
    startCompute: () => fetch(`${endpoints}/${endpointId}/start`, { method: 'POST', headers }),
  };
}

test('a person starts a compute, and sees the command and its end without a reload', async () => {
  const { bridge } = await quietBridge(1);
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

test("a person opens an alert's link, repeats the operation that failed, and sees how the new one ends", async () => {
  const { upstream, bridge, startCompute } = await quietBridge(SEED);
  await startCompute();
  // People are alerted at once of a third failure.
  upstream.passTime(THREE_ATTEMPTS_MS);
  const alertLink = await bridge.printed(AN_ALERT);
  const { page, problems } = await openPage(browser);

  await signIn(page, alertLink, bridge.token);
  expect(await page.textContent('.verdict')).toMatch(/failed/);
  expect(await page.textContent('main')).toMatch(/running[\s\S]*failed/);
  await page.click('text=Repeat');
  await page.click('button.do');
  await page.waitForURL(/\/operations\/[^/?]+\?repeats=/);
  await page.locator('.verdict .badge', { hasText: 'finished' }).waitFor({ timeout: 60_000 });

  expect(await page.textContent('main')).toContain('It repeats the operation that had failed');
  expect(await violations(page)).toEqual([]);
  expect(problems).toEqual([]);
});

test('a person without the scope sees no action, and a forged one is refused', async () => {
  const { bridge, projectPage, endpointId } = await quietBridge(1);
  const scopes = 'operations:read,projects:read,computes:read';
  const issuing = runBridgeCommand(
    ['tokens', 'create', '--client', 'reader', '--scopes', scopes, '--endpoint', bridge.awsEndpoint],
    { AWS_ACCESS_KEY_ID: bridge.accessKey },
  );
  await issuing.ended();
  const [token = ''] = /opb_\S+/.exec(issuing.output()) ?? [];
  const { page } = await openPage(browser);

  await signIn(page, projectPage, token);

  expect(await page.textContent('main')).toContain(endpointId);
  expect(await page.locator('a.button', { hasText: /^(Start|Restart|Suspend)$/ }).count()).toBe(0);
  const answer = await page.request.post(`${projectPage}/endpoints/${endpointId}/start`, {
    form: { form_key: 'x' },
    headers: { origin: bridge.origin },
  });
  expect(answer.status()).toBe(403);
});
