/** Searches in a real Chromium, by keyboard alone, and without scripts. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALL_READ, launch, type RunningBridge, startBridge } from './bridge-in-browser.ts';
import { openPage, signIn, violations } from './page-in-browser.ts';

let browser: Browser;
let bridge: RunningBridge;
beforeAll(async () => {
  browser = await launch();
  bridge = await startBridge(ALL_READ, ['--projects', '4']);
}, 120_000);
afterAll(async () => {
  bridge.stop();
  await browser.close();
});

interface Project {
  readonly id: string;
  readonly name: string;
}

async function aProject(page: Page): Promise<Project> {
  const headers = { authorization: `Bearer ${bridge.token}` };
  const answer = await page.request.get(`${bridge.origin}/api/v2/projects`, { headers });
  const { projects } = (await answer.json()) as { readonly projects: readonly Project[] };
  const [project] = projects;
  if (project === undefined) throw new Error('The service has no project');
  return project;
}

test('a person presses / on any page, and the whole id of a project leads to its page', async () => {
  const { page, problems } = await openPage(browser);
  await signIn(page, `${bridge.origin}/console/events`, bridge.token);
  const { id } = await aProject(page);

  await page.keyboard.press('/');
  await page.keyboard.type(id);
  await page.keyboard.press('Enter');

  await page.waitForURL(`**/projects/${id}`);
  expect(await page.textContent('main')).toContain(id);
  expect(problems).toEqual([]);
});

test('a part of the id finds the project, without scripts, on a page in which axe finds nothing', async () => {
  const { page } = await openPage(browser, { javaScriptEnabled: false });
  await signIn(page, `${bridge.origin}/console`, bridge.token);
  const { id } = await aProject(page);

  await page.fill('#search', id.slice(0, -3));
  await page.click('form.search button');

  await page.click(`main a[href$="/projects/${id}"]`);
  await page.waitForURL(`**/projects/${id}`);
  const { page: looked } = await openPage(browser);
  await signIn(looked, `${bridge.origin}/console/search?q=${id.slice(0, -3)}`, bridge.token);
  expect(await violations(looked)).toEqual([]);
});

test('text that nothing has says so, and is shown as text', async () => {
  const { page } = await openPage(browser);
  await signIn(page, `${bridge.origin}/console`, bridge.token);

  await page.fill('#search', '<img src=x onerror=alert(1)>');
  await page.keyboard.press('Enter');
  await page.waitForURL(/search\?q=/);

  expect(await page.textContent('main')).toMatch(/“<img src=x onerror=alert\(1\)>”\s*Nothing matches/);
});
