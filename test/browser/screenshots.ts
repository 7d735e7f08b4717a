/**
 * `npx node test/browser/screenshots.ts` writes a picture of every page of the console, on a desktop and a phone, light and dark, to
 * docs/screenshots. A picture shows the upper part of a page. `npx node test/browser/screenshots.ts phone` makes those of one look.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { launch, type RunningBridge, startBridge } from './bridge-in-browser.ts';
import { picturedPages, signInHere } from './pictured-pages.ts';

const FOLDER = resolve(import.meta.dirname, '../../docs/screenshots');

/** WebP of this quality shows text without a visible fault, and all pictures together take some 2 MB. */
const QUALITY = 30;

const DESKTOP = { viewport: { width: 1100, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true };

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { ...DESKTOP, colorScheme: 'light' },
  dark: { ...DESKTOP, colorScheme: 'dark' },
  phone: { ...PHONE, colorScheme: 'light' },
  'phone-dark': { ...PHONE, colorScheme: 'dark' },
};

interface Signed {
  readonly bridge: RunningBridge;
  readonly pages: Readonly<Record<string, string>>;
}

/** A phone has one more picture, of the open menu. */
async function takePictures(browser: Browser, { bridge, pages }: Signed, look: string): Promise<void> {
  const context = await browser.newContext(LOOKS[look]);
  const page = await context.newPage();
  const tools = await context.newCDPSession(page);
  // The browser's own tools write WebP, which takes a third of the space of PNG.
  const take = async (name: string) => {
    const { data } = await tools.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY });
    writeFileSync(join(FOLDER, `${name}-${look}.webp`), Buffer.from(data, 'base64'));
    console.log(`docs/screenshots/${name}-${look}.webp`);
  };
  await page.goto(`${bridge.origin}/console`);
  await take('sign-in');
  await signInHere(page, bridge);
  for (const [name, url] of Object.entries(pages)) {
    await page.goto(url);
    await take(name);
  }
  if (look.startsWith('phone')) {
    await page.click('details.menu > summary');
    await take('menu');
  }
  await context.close();
}

async function findPages(browser: Browser, bridge: RunningBridge): Promise<Signed['pages']> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await signInHere(page, bridge);
  const pages = await picturedPages(page, bridge);
  await context.close();
  return pages;
}

const asked = process.argv.slice(2);
const unknown = asked.find((look) => !Object.hasOwn(LOOKS, look));
if (unknown !== undefined)
  throw new Error(`There is no look ${unknown}; there are ${Object.keys(LOOKS).join(', ')}.`);
const looks = asked.length === 0 ? Object.keys(LOOKS) : asked;
mkdirSync(FOLDER, { recursive: true });
const bridge = await startBridge(/(12) of 12 projects read/, ['--projects', '12', '--speed', '10']);
try {
  await using browser = await launch();
  const pages = await findPages(browser, bridge);
  for (const look of looks) await takePictures(browser, { bridge, pages }, look);
} finally {
  bridge.stop();
}
