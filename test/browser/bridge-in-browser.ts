/** `npm start` in a process of its own, and a real Chromium in front of it. */

import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { runCommand } from '../local/child-process.ts';

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function launch(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM_PATH'] ?? BROWSERS.find((path) => existsSync(path));
  if (executablePath === undefined)
    throw new Error(
      'There is no Chromium; install one (Debian: apt-get install chromium) or name it in CHROMIUM_PATH.',
    );
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--force-prefers-reduced-motion'] });
}

export interface RunningBridge {
  readonly origin: string;
  readonly token: string;
  readonly awsEndpoint: string;
  /** Where the first alert's link leads. */
  readonly alertLink: string;
}

/** Seed 1 has an operation that has failed before the bridge comes, so that an alert is there at once. */
const FAILED_BEFORE = /Open: (http\S+)/;

/** One that fails while the bridge watches, and the link of the alert that follows. */
export const FAILS_NOW = /(?:running|scheduling) -> failed[\s\S]*?Open: (http\S+)/;

export async function startBridge(
  alert = FAILED_BEFORE,
  options: readonly string[] = [],
): Promise<RunningBridge> {
  const command = runCommand('infra/local/start.ts', ['--projects', '4', '--seed', '1', ...options]);
  await command.until(alert);
  const output = command.output();
  const found = (pattern: RegExp) => pattern.exec(output)?.[1] ?? '';
  return {
    origin: found(/API +(http\S+)/),
    token: found(/token +(opb_\S+)/),
    awsEndpoint: found(/local AWS +(http\S+)/),
    alertLink: found(alert),
  };
}
