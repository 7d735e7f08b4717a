/** Finds in a running bridge a page of each kind with something to see on it, and brings it there where nothing does by itself. */

import { spawnSync } from 'node:child_process';
import type { Locator, Page } from 'playwright-core';
import type { RunningBridge } from './bridge-in-browser.ts';

/** A page is looked at once more after this time until it shows what is wanted. */
const PAUSE_MS = 2_000;

/** At ten times the speed, what takes longest (a command and its operations) needs about a minute. */
const WAIT_MS_MAX = 180_000;

/** Resolves to the first part of the page that matches. Rejects when the page does not show one in three minutes. */
async function shownOn(page: Page, url: string, selector: string): Promise<Locator> {
  for (const begun = Date.now(); Date.now() - begun < WAIT_MS_MAX; ) {
    await page.goto(url);
    const found = page.locator('main').locator(selector).first();
    if ((await found.count()) > 0) return found;
    await page.waitForTimeout(PAUSE_MS);
  }
  throw new Error(`${url} has not shown ${selector} in ${WAIT_MS_MAX / 1_000} s.`);
}

/** Resolves to the address behind the first link that matches. */
async function linkOn(page: Page, url: string, selector: string): Promise<string> {
  const link = await shownOn(page, url, selector);
  return new URL((await link.getAttribute('href')) ?? '', url).href;
}

/** Each minute of the chart of delays has a point, whose text has about eight characters. */
const LINE_OF_TWELVE_MINUTES =
  'xpath=//*[local-name()="polyline" and @class="p50" and string-length(@points) > 96]';

/** The overview has these rows first; what is acknowledged or settled stands folded below them. */
const NEEDS_A_PERSON =
  'h2:has-text("What needs a person") ~ table.dense a[href*="/operations/"]:not([href*="/events/"])';

/**
 * Acknowledges what failed last, as a person does. Only failures that happened while the bridge watched can be
 * acknowledged, so it looks again until such a failure needs a person.
 */
async function acknowledge(page: Page, overview: string): Promise<void> {
  console.log('Waiting until a new failure needs a person');
  for (const begun = Date.now(); Date.now() - begun < WAIT_MS_MAX; ) {
    await page.goto(await linkOn(page, overview, NEEDS_A_PERSON));
    const button = page.locator('main button:has-text("Acknowledge")');
    if ((await button.count()) > 0) {
      await button.click();
      await page.waitForSelector('main .notice:has-text("has acknowledged")');
      return;
    }
    await page.waitForTimeout(PAUSE_MS);
  }
  throw new Error(`No new failure needs a person after ${WAIT_MS_MAX / 1_000} s.`);
}

/** Mutes an action of a project, as a person does. */
async function mute(page: Page, operation: string): Promise<void> {
  await page.goto(operation);
  await page.click('a.button:has-text("Mute")');
  await page.fill('#reason', 'The storage of this region is moved until the evening.');
  await page.click('main button.do');
  await page.waitForURL(/\/mutes$/);
}

/**
 * Starts or restarts a compute, as a person does, and resolves to the address of the command. The upstream refuses it
 * while other operations of the project run, so it is tried again.
 */
async function startCompute(page: Page, compute: string): Promise<string> {
  for (const begun = Date.now(); Date.now() - begun < WAIT_MS_MAX; ) {
    await page.goto(await linkOn(page, compute, 'a.button:has-text("tart")'));
    await Promise.all([page.waitForEvent('load'), page.click('main button.do')]);
    if (/\/commands\/[^/]+$/.test(page.url())) return page.url();
    await page.waitForTimeout(PAUSE_MS);
  }
  throw new Error(`The compute was not started in ${WAIT_MS_MAX / 1_000} s.`);
}

/** Has an agent ask whether it may delete the project: its token has a rule for that. */
async function askForApproval(
  bridge: Pick<RunningBridge, 'origin' | 'awsEndpoint' | 'accessKey'>,
  project: string,
) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      'infra/cli/operations-bridge.ts',
      'tokens',
      'create',
      '--client',
      'agent',
      '--scopes',
      'deployer,projects:delete',
      '--approve',
      'DELETE /projects/*',
    ],
    {
      encoding: 'utf8',
      env: {
        ...process.env,
        AWS_ENDPOINT_URL: bridge.awsEndpoint,
        AWS_ACCESS_KEY_ID: bridge.accessKey,
        AWS_SECRET_ACCESS_KEY: 'unused',
        AWS_DEFAULT_REGION: 'local',
        AWS_REGION: 'local',
      },
    },
  );
  if (status !== 0) throw new Error(`The agent has no token:\n${stderr}`);
  const authorization = `Bearer ${stdout.trim()}`;
  const answer = await fetch(`${bridge.origin}/api/v2/projects/${project}`, {
    method: 'DELETE',
    headers: { authorization },
  });
  if (answer.status !== 403)
    throw new Error(`The agent was answered ${answer.status}: ${await answer.text()}`);
}

export async function signInHere(
  page: Page,
  { origin, token }: Pick<RunningBridge, 'origin' | 'token'>,
): Promise<void> {
  await page.goto(`${origin}/console`);
  await page.fill('#token', token);
  await page.click('button.do');
  await page.waitForSelector('h1:has-text("Overview")');
}

/** `page` is signed in. Resolves to the addresses by the names of their pictures. */
export async function picturedPages(
  page: Page,
  bridge: Pick<RunningBridge, 'origin' | 'awsEndpoint' | 'accessKey'>,
): Promise<Readonly<Record<string, string>>> {
  const { origin } = bridge;
  const at = (path: string) => `${origin}/console${path}`;
  console.log('Waiting for a branch and a compute');
  const branch = await linkOn(
    page,
    at('/events?detail_type=Branch+Ready'),
    'a[href*="/branches/"]:not([href*="/events/"])',
  );
  const compute = await linkOn(
    page,
    at('/events?detail_type=Compute+State+Changed'),
    'a[href*="/endpoints/"]:not([href*="/events/"])',
  );
  await acknowledge(page, at(''));
  console.log('Waiting for twelve minutes of delays');
  await shownOn(page, at('/accounts/main'), LINE_OF_TWELVE_MINUTES);
  const failed = await linkOn(page, at(''), NEEDS_A_PERSON);
  await mute(page, failed);
  console.log('Starting a compute');
  const command = await startCompute(page, compute);
  await askForApproval(bridge, /\/projects\/([^/]+)/.exec(failed)?.[1] ?? '');
  return {
    overview: at(''),
    projects: at('/projects'),
    search: at('/search?q=st'),
    project: failed.replace(/\/operations\/.*/, ''),
    operation: failed,
    branch,
    compute,
    account: at('/accounts/main'),
    accounts: at('/accounts'),
    freeze: at('/accounts/main/freeze'),
    events: at('/events'),
    event: await linkOn(page, at('/events?status=failed'), 'a[href*="/events/"]'),
    alerts: at('/alerts'),
    approvals: await shownOn(page, at('/approvals'), 'button').then(() => at('/approvals')),
    commands: at('/commands'),
    command,
    mutes: at('/mutes'),
    tokens: at('/tokens'),
    audit: at('/audit'),
    subscribe: at('/subscribe'),
    subscriptions: at('/subscriptions'),
    'time-zone': at('/time-zone'),
  };
}
