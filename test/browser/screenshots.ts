/**
 * `npm run screenshots` writes a picture of every page of the console, light, dark and on a phone, to
 * docs/screenshots.
 */

import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import { launch } from './bridge-in-browser.ts';

const FOLDER = resolve(import.meta.dirname, '../../docs/screenshots');

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  light: { viewport: { width: 1100, height: 800 }, colorScheme: 'light' },
  dark: { viewport: { width: 1100, height: 800 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light', isMobile: true },
};

const bridge = spawn(
  process.execPath,
  ['infra/cli/operations-bridge.ts', 'start', '--projects', '5', '--seed', '1', '--speed', '10'],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
let output = '';
bridge.stdout.setEncoding('utf8').on('data', (text: string) => {
  output += text;
});
const found = (pattern: RegExp) => pattern.exec(output)?.[1] ?? '';

try {
  console.log('Waiting 35 seconds for events.');
  await new Promise((done) => setTimeout(done, 35_000));
  const [origin, token, alert] = [
    found(/API +(http\S+)/),
    found(/token +(opb_\S+)/),
    found(/Open: (http\S+)/),
  ];
  const pages = {
    overview: `${origin}/console`,
    project: alert.replace(/\/operations\/.*/, ''),
    operation: alert,
    events: `${origin}/console/events`,
    subscribe: `${origin}/console/subscribe?status=failed`,
  };
  await using browser = await launch();
  for (const [look, options] of Object.entries(LOOKS)) {
    const page = await (await browser.newContext(options)).newPage();
    await page.goto(pages.overview);
    await page.screenshot({ path: join(FOLDER, `sign-in-${look}.png`) });
    await page.fill('#token', token);
    await page.click('button.do');
    for (const [name, url] of Object.entries(pages)) {
      await page.goto(url);
      await page.screenshot({ path: join(FOLDER, `${name}-${look}.png`) });
      console.log(`docs/screenshots/${name}-${look}.png`);
    }
  }
} finally {
  bridge.kill('SIGKILL');
}
