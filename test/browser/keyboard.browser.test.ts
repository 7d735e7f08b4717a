/** Walks every page of the console by keyboard alone, in a real Chromium. */

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALL_READ, launch, type RunningBridge, startBridge } from './bridge-in-browser.ts';
import { openPage, signIn } from './page-in-browser.ts';

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

/** Signs in. The page does not refresh itself, because a refresh would replace what has the focus. */
async function openConsole(path: string, options: BrowserContextOptions = {}): Promise<Page> {
  const { page } = await openPage(browser, options);
  await page.route('**/console/live**', (route) => route.abort());
  await signIn(page, `${bridge.origin}${path}`, bridge.token);
  return page;
}

/**
 * Notes in the page which parts a keyboard should reach, in their order. Of a group of radio buttons it is the chosen
 * one.
 */
const NOTE_STOPS = `(() => {
  const parts = document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]');
  const isStop = (part) => part.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true }) && (part.type !== 'radio' || part.checked);
  globalThis.stops = [...parts].filter(isStop);
  return stops.length;
})()`;

/** Says which of these parts has the focus, and whether one can see that it does. */
const FOCUSED = `(() => {
  const part = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(part);
  const { top, bottom, left, right } = part.getBoundingClientRect();
  const isInView = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  return { stop: stops.indexOf(part), isVisible: isInView && outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2, html: part.outerHTML.slice(0, 90) };
})()`;

interface Focused {
  readonly stop: number;
  readonly isVisible: boolean;
  readonly html: string;
}

/** Presses Tab until the focus has left the page, and resolves to what had the focus, each part once. */
async function walk(page: Page, stopCount: number): Promise<readonly Focused[]> {
  const walked: Focused[] = [];
  // A field for a time has several stops inside.
  for (let press = 0; press < stopCount * 2 + 20; press++) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate<Focused>(FOCUSED);
    const before = walked.at(-1)?.stop ?? -1;
    // After its end, the focus is outside the page, or the page begins again.
    if (focused.stop < before) return walked;
    if (focused.stop !== before) walked.push(focused);
  }
  throw new Error(`The focus does not leave the page after ${walked.at(-1)?.html}`);
}

async function paths(page: Page): Promise<readonly string[]> {
  await page.goto(`${bridge.origin}/console/projects`);
  const project = await page.getAttribute('main td a[href*="/projects/"]', 'href');
  await page.goto(`${bridge.origin}${project}`);
  const hrefOf = async (part: string) => (await page.getAttribute(`main a[href*="/${part}/"]`, 'href')) ?? '';
  const [operation, compute] = [await hrefOf('operations'), await hrefOf('endpoints')];
  const lists = [
    '',
    '/projects',
    '/events',
    '/commands',
    '/alerts',
    '/mutes',
    '/subscriptions',
    '/subscribe',
    '/audit',
    '/tokens',
  ];
  const others = ['/search?q=st', '/time-zone', '/accounts/main', '/accounts/main/freeze'];
  return [...[...lists, ...others].map((path) => `/console${path}`), project ?? '', operation, compute];
}

test('Tab reaches every link, button and field of every page in their order, and one sees where it is', async () => {
  const page = await openConsole('/console');

  for (const path of await paths(page)) {
    await page.goto(`${bridge.origin}${path}`);
    const stopCount = await page.evaluate<number>(NOTE_STOPS);
    const walked = await walk(page, stopCount);

    expect([path, walked.map(({ stop }) => stop)]).toEqual([
      path,
      Array.from({ length: stopCount }, (_, i) => i),
    ]);
    expect([path, walked.filter(({ isVisible }) => !isVisible)]).toEqual([path, []]);
  }
}, 240_000);

describe('keys', () => {
  test('the first Tab offers to skip the navigation, and Enter goes to the content', async () => {
    const page = await openConsole('/console/events');

    await page.keyboard.press('Tab');
    expect(await page.textContent(':focus')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');

    expect(await page.evaluate('document.activeElement.closest("main") !== null')).toBe(true);
  });

  test('/ goes to the search, and Escape leaves it', async () => {
    const page = await openConsole('/console/events');

    await page.keyboard.press('/');
    expect(await page.getAttribute(':focus', 'id')).toBe('search');
    await page.keyboard.press('Escape');

    expect(await page.evaluate('document.activeElement === document.body')).toBe(true);
  });

  test('/ writes a slash in a field', async () => {
    const page = await openConsole('/console/projects');

    await page.focus('#q');
    await page.keyboard.press('/');

    expect(await page.inputValue('#q')).toBe('/');
  });
});

describe.each([360, 390])('on a phone of %d pixels', (width) => {
  const phone = { viewport: { width, height: 740 }, isMobile: true };

  test('Enter opens the menu, which shows every page, and Escape closes it', async () => {
    const page = await openConsole('/console/events', phone);
    await page.focus('details.menu > summary');
    expect(await page.textContent(':focus')).toBe('Menu: Events');

    await page.keyboard.press('Enter');
    const links = page.locator('details.menu nav a');
    const boxes = await links.evaluateAll((all) =>
      all.map((link) =>
        (
          link as unknown as { getBoundingClientRect(): { left: number; right: number; height: number } }
        ).getBoundingClientRect(),
      ),
    );
    await page.keyboard.press('Tab');
    expect(await page.textContent(':focus')).toBe('Overview');
    await page.keyboard.press('Escape');

    expect(boxes).toHaveLength(13);
    // The smallest target for a finger is 24 pixels high (WCAG 2.2, 2.5.8), and 44 are comfortable.
    expect(boxes.filter(({ left, right, height }) => left < 0 || right > width || height < 44)).toEqual([]);
    expect(await page.textContent(':focus')).toBe('Menu: Events');
    expect(await page.getAttribute('details.menu', 'open')).toBeNull();
  });

  test('the menu opens and leads on without scripts', async () => {
    const page = await openConsole('/console', { ...phone, javaScriptEnabled: false });

    await page.click('details.menu > summary');
    await page.click('details.menu >> text=Tokens');

    await page.waitForSelector('h1:has-text("Tokens")');
  });
});
