/** Starts `npm start` in a process of its own, and a real Chromium in front of it. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

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
  readonly accessKey: string;
  /** The first group of the awaited pattern matched this: the link of an alert. */
  readonly link: string;
  /** Resolves to what the first group of the pattern matches, once the output matches. */
  printed(pattern: RegExp): Promise<string>;
  stop(): void;
}

/** Matches when every project has been read for the first time. */
export const ALL_READ = /(4) of 4 projects read/;

/** Matches the link of an alert. An operation fails sooner or later, and people are alerted if it has not recovered in five minutes; at thirty times the speed this takes seconds. */
export const AN_ALERT = /Open: (http\S+\/operations\/\S+)/;

/** Resolves once the output matches. `stop` ends only this process. */
export function startBridge(until: RegExp, options: readonly string[]): Promise<RunningBridge> {
  return start(until, ['--seed', '1', '--trouble', ...options], {});
}

/** Starts what `npm start` starts: a calm world with its story. */
export function startCalmBridge(until: RegExp): Promise<RunningBridge> {
  return start(until, [], {});
}

/** Starts the bridge in front of an upstream that the test has started. */
export function startBridgeAt(
  until: RegExp,
  upstream: { readonly baseUrl: string; readonly apiKey: string },
): Promise<RunningBridge> {
  return start(until, ['--upstream', upstream.baseUrl], { UPSTREAM_API_KEY: upstream.apiKey });
}

async function start(
  until: RegExp,
  options: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<RunningBridge> {
  const child = spawn(process.execPath, ['infra/cli/operations-bridge.ts', 'start', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...variables },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const found = (pattern: RegExp) => pattern.exec(output)?.[1] ?? '';
  const printed = async (pattern: RegExp) => {
    while (!pattern.test(output)) {
      if (child.exitCode !== null)
        throw new Error(`The bridge ended before its output matched ${String(pattern)}: ${output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return found(pattern);
  };
  return {
    link: await printed(until),
    origin: found(/API +(http\S+)/),
    token: found(/token +(opb_\S+)/),
    awsEndpoint: found(/local AWS +(http\S+)/),
    accessKey: found(/access key +(\S+)/),
    printed,
    stop: () => void child.kill('SIGKILL'),
  };
}
