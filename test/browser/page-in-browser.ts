/** Opens pages in a real Chromium, signs in with a token, and asks axe what it finds. */

import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';

/** Opens a page in a context of its own, which is closed when the test has finished. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const foreign: string[] = [];
  const problems: string[] = [];
  let transferredBytes = 0;
  page.on(
    'request',
    (request) => void (new URL(request.url()).hostname === '127.0.0.1' || foreign.push(request.url())),
  );
  page.on('response', async (response) => {
    transferredBytes += (await response.body().catch(() => Buffer.alloc(0))).length;
  });
  page.on('pageerror', (error) => void problems.push(error.message));
  page.on(
    'console',
    (message) =>
      void (message.type() === 'error' && !message.text().includes('401') && problems.push(message.text())),
  );
  return { page, foreign, problems, transferredBytes: () => transferredBytes };
}

/** Signs in with a token, and comes to `url`. */
export async function signIn(page: Page, url: string, token: string): Promise<void> {
  await page.goto(url);
  await page.fill('#token', token);
  await page.click('button.do');
  await page.waitForURL(url);
}

/** Resolves to what axe finds on the page, one line for each rule. */
export async function violations(page: Page): Promise<readonly string[]> {
  // The browser's own tools evaluate the script, because the page's content security policy would refuse it.
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate(() =>
    (globalThis as never as { axe: typeof axe }).axe.run(),
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}
