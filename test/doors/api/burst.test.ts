/** An unmodified client at full speed: what one caller sends at once, and what is held for it. */

import { expect, test } from 'vitest';
import { ledgerKey } from '../../../shared/store/keys.ts';
import { ACCOUNT_ID } from '../../api/api-under-test.ts';
import { stoppedClock } from '../../api/stopped-clock.ts';
import { NOON_MS } from '../../builders.ts';
import { openApi } from './api-door.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const LIST = '/api/v2/projects';
const USUAL = { requests_per_minute: 250, poller_requests_per_minute: 350 };

async function setUp(
  accountSettings: object = {},
  token: { readonly settles?: boolean } = {},
  answer: () => Response = () => Response.json({ projects: [] }),
) {
  const { clock, pass } = stoppedClock();
  const { api, as, upstream } = await openApi(answer, {
    clock,
    accountSettings: { ...USUAL, ...accountSettings },
  });
  const ask = await as(token);
  const turns = async () => {
    for (let turn = 0; turn < 300; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  /** Lets time pass in steps, until the answers of the requests are there. */
  const statusesOf = async (count: number, headers: Record<string, string> = {}, steps = 0) => {
    const answers = Array.from({ length: count }, () => ask('GET', LIST, headers));
    for (let step = 0; step < steps; step++) {
      await turns();
      await pass(SECOND_MS / 10);
    }
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  return { as, ask, memory: api.memory, statusesOf, upstream, pass, turns };
}

const countOf = (statuses: readonly number[], status: number) =>
  statuses.filter((each) => each === status).length;

test('a caller who is alone sends thirty requests at once on an idle bridge', async () => {
  const { statusesOf } = await setUp();

  expect(countOf(await statusesOf(30), 200)).toBe(30);
});

test('the next ones of the same second are held for it, in as many places as the caller has', async () => {
  const { statusesOf, upstream } = await setUp({ caller_waits_max: 5 });
  const statuses = await statusesOf(45, {}, 25);

  expect([countOf(statuses, 200), countOf(statuses, 429)]).toEqual([34 + 5, 6]);
  expect(upstream.sent).toHaveLength(34 + 5);
});

test('a read is held as long as its caller wants, and not at all with wait=0', async () => {
  const { ask, statusesOf, pass, turns } = await setUp({ caller_requests_per_minute: 10 });
  expect(countOf(await statusesOf(12), 429)).toBe(2);
  await pass(50 * SECOND_MS);

  expect((await ask('GET', LIST, { prefer: 'wait=0' })).status).toBe(429);
  const held = ask('GET', LIST, { prefer: 'wait=20' });
  await turns();
  await pass(14 * SECOND_MS);
  expect((await held).status).toBe(200);
});

test('a read of a caller with --settle waits for its limit as its commands do', async () => {
  const { ask, statusesOf, pass, turns } = await setUp({ caller_requests_per_minute: 10 }, { settles: true });
  await statusesOf(10);
  await pass(50 * SECOND_MS);

  const held = ask('GET', LIST);
  await turns();
  await pass(14 * SECOND_MS);
  expect((await held).status).toBe(200);
});

test('after the clock was set back a caller is answered as before, and takes nothing from others in advance', async () => {
  const { as, statusesOf, pass } = await setUp();
  expect(countOf(await statusesOf(5), 200)).toBe(5);
  await pass(-HOUR_MS);

  const other = await as({ client_id: 'another' });
  expect(await statusesOf(2, {}, 2)).toEqual([200, 200]);
  expect((await other('GET', LIST, { prefer: 'wait=0' })).status).toBe(200);
});

test('a pause that the upstream has asked for ends within five minutes, also when the clock was set back meanwhile', async () => {
  const refused = () => new Response('{}', { status: 429, headers: { 'retry-after': '30' } });
  const answers = [refused];
  const { ask, statusesOf, pass } = await setUp({}, {}, () =>
    (answers.pop() ?? (() => Response.json({ projects: [] })))(),
  );
  expect((await ask('GET', LIST, { prefer: 'wait=0' })).status).toBe(429);
  await pass(-HOUR_MS);
  expect(await statusesOf(1, { prefer: 'wait=0' }, 2)).toEqual([429]);
  await pass(5 * 60 * SECOND_MS);

  expect(await statusesOf(1, { prefer: 'wait=0' }, 2)).toEqual([200]);
});

test('a full ledger that a wrong clock has written holds callers back for no longer than a minute', async () => {
  const { ask, upstream, pass, memory } = await setUp();
  memory.sync.update({
    key: ledgerKey(ACCOUNT_ID),
    set: { ledger_version: 1, given: { r: [[Math.floor(NOON_MS / SECOND_MS) + 7_200, 700]] }, lately: [] },
  });
  for (let second = 0; second < 70; second++) {
    await ask('GET', LIST, { prefer: 'wait=0' });
    await pass(SECOND_MS);
  }

  expect(upstream.sent.length).toBeGreaterThan(0);
});
