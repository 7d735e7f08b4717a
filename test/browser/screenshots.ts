/**
 * `npm run screenshots` writes a picture of every page of the console, on a desktop and a phone, light and dark, to
 * docs/screenshots. A phone has a picture of the upper part of a page only.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { AN_ALERT, launch, type RunningBridge, startBridge } from './bridge-in-browser.ts';

const FOLDER = resolve(import.meta.dirname, '../../docs/screenshots');

const DESKTOP = { viewport: { width: 1100, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true };

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { ...DESKTOP, colorScheme: 'light' },
  dark: { ...DESKTOP, colorScheme: 'dark' },
  phone: { ...PHONE, colorScheme: 'light' },
  'phone-dark': { ...PHONE, colorScheme: 'dark' },
};

function pagesOf({ origin, link }: RunningBridge): Readonly<Record<string, string>> {
  const page = (path: string) => `${origin}/console${path}`;
  return {
    overview: page(''),
    projects: page('/projects'),
    search: page('/search?q=st'),
    project: link.replace(/\/operations\/.*/, ''),
    operation: link,
    account: page('/accounts/main'),
    freeze: page('/accounts/main/freeze'),
    events: page('/events'),
    commands: page('/commands'),
    mutes: page('/mutes'),
    tokens: page('/tokens'),
    audit: page('/audit'),
    subscribe: page('/subscribe'),
    'time-zone': page('/time-zone'),
  };
}

async function takePictures(browser: Browser, bridge: RunningBridge, look: string): Promise<void> {
  const context = await browser.newContext(LOOKS[look]);
  const page = await context.newPage();
  const tools = await context.newCDPSession(page);
  // The browser's own tools write WebP, which takes a third of the space of PNG.
  const take = async (name: string) => {
    const { data } = await tools.send('Page.captureScreenshot', { format: 'webp', quality: 70 });
    writeFileSync(join(FOLDER, `${name}-${look}.webp`), Buffer.from(data, 'base64'));
    console.log(`docs/screenshots/${name}-${look}.webp`);
  };
  await page.goto(`${bridge.origin}/console`);
  await take('sign-in');
  await page.fill('#token', bridge.token);
  await page.click('button.do');
  for (const [name, url] of Object.entries(pagesOf(bridge))) {
    await page.goto(url);
    await take(name);
  }
}

mkdirSync(FOLDER, { recursive: true });
const bridge = await startBridge(AN_ALERT, ['--projects', '12', '--speed', '10']);
try {
  console.log('The first alert has come. The pictures follow in two minutes, when more has happened.');
  await new Promise((done) => setTimeout(done, 120_000));
  await using browser = await launch();
  for (const look of Object.keys(LOOKS)) await takePictures(browser, bridge, look);
} finally {
  bridge.stop();
}
