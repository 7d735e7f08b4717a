/** One caller who fills the line leaves places to others, whatever they queue and however fast. */

import { expect, test } from 'vitest';
import { ledgerKey } from '../../../shared/store/keys.ts';
import { ACCOUNT_ID, type ApiOptions } from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { stoppedClock } from '../../api/stopped-clock.ts';
import { type Ask, openApi } from './api-door.ts';

const restartOf = (projectId: string) =>
  `/api/v2/projects/${projectId}/endpoints/ep-little-smoke-851426/restart`;
const ASYNC = { prefer: 'respond-async', 'bridge-deadline': '86400' };
const PER_CALLER = 60;
const PER_MINUTE = 60;
const SECOND_MS = 1_000;

/** Opens the door to an account whose callers may have a request a second, with a greedy caller and a modest one. */
async function setUp(options: Partial<ApiOptions> = {}) {
  const { clock, pass } = stoppedClock();
  const { as, know, api, upstream } = await openApi(() => Response.json({ operations: [] }), {
    clock,
    accountSettings: { caller_requests_per_minute: PER_CALLER },
    ...options,
  });
  const [greedy, modest] = [await as({ client_id: 'greedy' }), await as({ client_id: 'modest' })];
  return { pass, know, api, upstream, greedy, modest };
}

/** Lets a worker look at the line of each project once in a second, one at a time for each, as the queue does. */
function startWorkers({ api }: Awaited<ReturnType<typeof setUp>>, projectIds: readonly string[]) {
  const busy = new Set<string>();
  return () => {
    for (const project_id of projectIds.filter((id) => !busy.has(id))) {
      busy.add(project_id);
      const body = JSON.stringify({ account_id: ACCOUNT_ID, project_id });
      const attributes = { ApproximateReceiveCount: '1' };
      const record = { messageId: project_id, receiptHandle: project_id, body, attributes };
      void api.invokeWorker({ Records: [record] }).finally(() => busy.delete(project_id));
    }
  };
}

/** Queues as many commands, each when the bridge says that it may be queued, and returns the statuses that are no 429 of the rate. */
async function queueAll(
  ask: Ask,
  pass: (durationMs: number) => Promise<void>,
  projectIds: readonly string[],
) {
  const statuses: number[] = [];
  for (const projectId of projectIds) {
    await pass(1.2 * SECOND_MS);
    const { status } = await ask('POST', restartOf(projectId), ASYNC);
    statuses.push(status);
  }
  return statuses;
}

test('one caller gets half of the places of a project, and another caller finds one', async () => {
  const { greedy, modest, pass, know } = await setUp();
  know(PROJECT_ID);
  const statuses = await queueAll(
    greedy,
    pass,
    Array.from({ length: 100 }, () => PROJECT_ID),
  );

  expect(statuses.filter((status) => status === 202)).toHaveLength(50);
  expect((await modest('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
  await pass(2 * SECOND_MS);
  const refused = await greedy('POST', restartOf(PROJECT_ID), ASYNC);
  expect([refused.status, refused.body.type]).toEqual([429, expect.stringContaining('queue-full')]);
});

test('one caller gets half of the places of an account, and another caller finds one', async () => {
  const { greedy, modest, pass, know } = await setUp();
  const projectIds = Array.from({ length: 1_000 }, (_, place) => `some-project-${10_000_000 + (place % 40)}`);
  for (const projectId of [PROJECT_ID, ...projectIds]) know(projectId);
  const statuses = await queueAll(greedy, pass, projectIds);

  expect(statuses.filter((status) => status === 202)).toHaveLength(500);
  expect((await modest('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
});

test('a caller queues no more commands in a minute than it may send, and hears when the next one is taken', async () => {
  const { greedy, modest, pass, know } = await setUp();
  const projectIds = Array.from({ length: 10 }, (_, place) => `some-project-${10_000_000 + place}`);
  for (const projectId of [PROJECT_ID, ...projectIds]) know(projectId);
  let acceptedCount = 0;
  for (let round = 0; round < 120; round++) {
    for (const projectId of projectIds.slice(0, 4))
      if ((await greedy('POST', restartOf(projectId), ASYNC)).status === 202) acceptedCount += 1;
    await pass(SECOND_MS / 2);
  }

  expect(acceptedCount).toBeLessThanOrEqual(PER_CALLER);
  expect(acceptedCount).toBeGreaterThan(0.8 * PER_CALLER);
  expect((await modest('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
  let refused = await greedy('POST', restartOf(PROJECT_ID), ASYNC);
  while (refused.status === 202) refused = await greedy('POST', restartOf(PROJECT_ID), ASYNC);
  expect([refused.status, refused.body.type]).toEqual([429, expect.stringContaining('rate-limited')]);
  await pass(Number(refused.headers.get('retry-after')) * SECOND_MS);
  expect((await greedy('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
});

test('a caller queues no more than the part of an instance while the table refuses the writes that count', async () => {
  const { greedy, pass, know } = await setUp({
    wrapTable: (table) => ({
      ...table,
      async update(update) {
        if (update.key.pk === ledgerKey(ACCOUNT_ID).pk) throw new Error('the write was throttled');
        return table.update(update);
      },
    }),
  });
  know(PROJECT_ID);
  const statuses: number[] = [];
  for (let second = 0; second < 60; second++) {
    statuses.push((await greedy('POST', restartOf(PROJECT_ID), ASYNC)).status);
    await pass(SECOND_MS);
  }

  const acceptedCount = statuses.filter((status) => status === 202).length;
  // The API and the worker of the test are two instances.
  expect(acceptedCount).toBeLessThanOrEqual(PER_CALLER / 2 + 1);
  expect(acceptedCount).toBeGreaterThan(0.8 * (PER_CALLER / 2));
});

test('a modest caller has its commands sent, while greedy ones want more than the account may send', async () => {
  const made = await setUp({
    accountSettings: { requests_per_minute: PER_MINUTE, poller_requests_per_minute: 640 },
    instancesMax: 2,
  });
  const { greedy, modest, pass, know, upstream } = made;
  const projectIds = Array.from({ length: 5 }, (_, place) => `some-project-${10_000_000 + place}`);
  for (const projectId of [PROJECT_ID, ...projectIds]) know(projectId);
  const look = startWorkers(made, [PROJECT_ID, ...projectIds]);
  let askedCount = 0;
  for (let second = 0; second < 240; second++) {
    if (second % 10 === 0 && second >= 60) {
      askedCount += 1;
      expect((await modest('POST', restartOf(PROJECT_ID), ASYNC)).status).toBe(202);
    }
    for (const projectId of projectIds) void greedy('POST', restartOf(projectId), ASYNC);
    look();
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    await pass(SECOND_MS);
  }

  // Its last command may still be on its way.
  const ofModest = upstream.sent.filter(({ url }) => url.includes(PROJECT_ID));
  expect(ofModest.length / askedCount).toBeGreaterThanOrEqual(0.95 - 1 / askedCount);
  expect(upstream.sent.length / 4).toBeGreaterThan(0.6 * PER_MINUTE);
  expect(upstream.sent.length / 4).toBeLessThanOrEqual(1.1 * PER_MINUTE);
});
