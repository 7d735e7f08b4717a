/**
 * Signs in and out in a real Chromium at a real OpenID provider. The provider has another site than the bridge, so the
 * browser applies its rules for cookies between sites.
 */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBridgeWithProvider } from '../console/sign-in/bridge-with-provider.ts';
import { launch } from './bridge-in-browser.ts';
import { openPage, violations } from './page-in-browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

async function signInAtProvider(page: Page, name: string): Promise<void> {
  await page.click('#provider');
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
}

describe.each([
  ['with scripts', true],
  ['without scripts', false],
])('a person %s', (_name, javaScriptEnabled) => {
  test('signs in at the provider, comes to the page of the link, and signs out of both', async () => {
    const bridge = await startBridgeWithProvider({ providerHost: 'localhost' });
    const link = `${bridge.origin}/console/events?status=failed`;
    const { page } = await openPage(browser, { javaScriptEnabled });

    await page.goto(link);
    await signInAtProvider(page, 'ada');
    await page.waitForURL(link);
    expect(await page.textContent('footer.bottom')).toContain('ada@example.com');

    await page.click('text=Sign out');
    await page.waitForURL(`${bridge.origin}/console/signed-out`);
    await page.click('text=Sign out at localhost');
    await page.click('button[type=submit]');
    await page.waitForURL(`${bridge.origin}/console`);
    expect(await page.textContent('h1')).toBe('Sign in');

    await page.click('#provider');
    expect(await page.locator('input[name=login]').count()).toBe(1);
  });
});

test('a person who has signed in follows a link of another site, and sees the page of the link', async () => {
  const bridge = await startBridgeWithProvider({ providerHost: 'localhost' });
  const link = `${bridge.origin}/console/events`;
  const { page } = await openPage(browser);
  await page.goto(bridge.console);
  await signInAtProvider(page, 'ada');
  await page.waitForURL(bridge.console);
  bridge.provider.replaceBy((_request, response) =>
    response.setHeader('content-type', 'text/html').end(`<a href="${link}">A failure</a>`),
  );
  await page.goto(`${bridge.provider.issuer}/a-mail`);

  await page.click('text=A failure');

  await page.waitForSelector('h1:has-text("Events")');
  expect(page.url()).toBe(link);
});

describe('the pages of a sign-in', () => {
  test.each([
    ['desktop', { viewport: { width: 1200, height: 900 } }],
    ['dark phone', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const, isMobile: true }],
  ])('are accessible and fit their width: %s', async (_name, options) => {
    const bridge = await startBridgeWithProvider({ providerHost: 'localhost' });
    bridge.provider.setClaims({ groups: ['everybody'], email: 'eve@example.com' });
    const { page } = await openPage(browser, options);
    const found: Record<string, readonly string[]> = {};
    const look = async (name: string) => {
      found[name] = await violations(page);
      const overflow = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect([name, overflow]).toEqual([name, 0]);
    };

    await page.goto(bridge.console);
    await look('sign in');
    await signInAtProvider(page, 'eve');
    await page.waitForURL(/\/console\/sign-in\/callback/);
    expect(await page.textContent('h1')).toBe('No access');
    await look('no role');
    await page.goto(`${bridge.console}/signed-out`);
    await look('signed out');

    expect(Object.entries(found).filter(([, each]) => each.length > 0)).toEqual([]);
  });
});
