/** A command that is to wait in line for a project which the bridge does not know: the upstream is asked first. */

import { expect, test } from 'vitest';
import { passingClock } from '../../api/passing-clock.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import type { Sent } from '../../api/upstream-double.ts';
import { NOON_MS } from '../../builders.ts';
import { type Ask, openApi } from './api-door.ts';

const MINUTE_MS = 60_000;
const ASYNC = { prefer: 'respond-async' };
const PER_CALLER = 60;

const restartOf = (projectId: string) =>
  `/api/v2/projects/${projectId}/endpoints/ep-little-smoke-851426/restart`;

async function setUp(answer: (sent: Sent) => Response | Promise<Response>) {
  const { clock, pass, during } = passingClock(NOON_MS);
  const door = await openApi(answer, { clock, accountSettings: { caller_requests_per_minute: PER_CALLER } });
  const ask: Ask = (...request) => during(door.ask(...request));
  const waiting = async () => (await ask('GET', '/bridge/v1/commands')).body.commands.length;
  return { ask, upstream: door.upstream, clock, pass, know: door.know, waiting };
}

const missing = () => Response.json({ code: '', message: 'project not found' }, { status: 404 });
const existing = () => Response.json({ operations: [], pagination: {} });

test('is refused with 404 when the upstream has no such project, which is asked once for each command', async () => {
  const { ask, upstream, waiting } = await setUp(missing);

  const first = await ask('POST', restartOf(PROJECT_ID), ASYNC);
  const again = await ask('POST', restartOf(PROJECT_ID), ASYNC);

  for (const { status, body } of [first, again])
    expect([status, body.type]).toEqual([404, expect.stringContaining('not-found')]);
  const asked = `GET /api/v2/projects/${PROJECT_ID}/operations`;
  expect(upstream.sent.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual([
    asked,
    asked,
  ]);
  expect(await waiting()).toBe(0);
});

test('waits in line as soon as a replica that lags shows a project that was created a moment ago', async () => {
  let answer = missing;
  const { ask, pass, waiting } = await setUp(() => answer());
  expect((await ask('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(404);

  answer = existing;
  await pass(1_000);

  expect((await ask('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
  expect(await waiting()).toBe(1);
});

test('waits in line when the upstream has the project, which is asked once for several commands', async () => {
  const { ask, upstream, waiting } = await setUp(existing);

  for (let count = 0; count < 3; count++)
    expect((await ask('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);

  expect(upstream.sent).toHaveLength(1);
  expect(await waiting()).toBe(3);
});

test('waits in line without a request when the bridge has a record of the project', async () => {
  const { ask, upstream, know } = await setUp(missing);
  know(PROJECT_ID);

  expect((await ask('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
  expect(upstream.sent).toEqual([]);
});

test.each<[string, () => Response]>([
  [
    'does not answer',
    () => {
      throw new TypeError('The connection was lost');
    },
  ],
  ['is unavailable', () => new Response('{}', { status: 503 })],
  ['refuses the key of the bridge', () => Response.json({ message: 'no' }, { status: 401 })],
  ['asks for a pause', () => new Response('{}', { status: 429, headers: { 'retry-after': '1' } })],
])('waits in line while the upstream %s, and is not lost for want of an answer', async (_what, answer) => {
  const { ask, waiting } = await setUp(answer);

  expect((await ask('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
  expect(await waiting()).toBe(1);
});

test('costs a permit of its caller, so made-up projects make no flood of requests and fill no line', async () => {
  const { ask, upstream, clock, pass, waiting } = await setUp(missing);
  const statuses = new Set<number>();
  const endMs = clock.now() + MINUTE_MS;
  for (let count = 0; clock.now() < endMs; count++) {
    const madeUp = `made-up-${10_000_000 + count}`;
    statuses.add((await ask('POST', restartOf(madeUp), ASYNC)).status);
    await ask('GET', `/api/v2/projects/${madeUp}/operations`);
    await pass(MINUTE_MS / 200);
  }

  expect([...statuses].toSorted((a, b) => a - b)).toEqual([404, 429]);
  expect(upstream.sent.length).toBeLessThanOrEqual(PER_CALLER);
  expect(upstream.sent.length).toBeGreaterThan(0.8 * PER_CALLER);
  expect(await waiting()).toBe(0);
});

test('leaves its Idempotency-Key free when it is refused, and is found by it when the project has gone', async () => {
  let answer = missing;
  const { ask, pass } = await setUp(() => answer());
  const keyed = { ...ASYNC, 'idempotency-key': 'one' };
  expect((await ask('POST', restartOf(PROJECT_ID), keyed)).status).toBe(404);

  answer = existing;
  await pass(MINUTE_MS);
  const accepted = await ask('POST', restartOf(PROJECT_ID), keyed);
  expect(accepted.status).toBe(202);

  answer = missing;
  await pass(MINUTE_MS);
  const repeated = await ask('POST', restartOf(PROJECT_ID), keyed);
  expect(repeated.status).toBe(202);
  expect(repeated.body.command.command_id).toBe(accepted.body.command.command_id);
});
