/** Tests the bridge's own routes, over what commands through it have recorded. */

import { describe, expect, test } from 'vitest';
import { decideHealth, type Observed } from '../../functions/api/bridge/health-routes.ts';
import { type AccountTrouble, nextStatus } from '../../shared/records/account-status.ts';
import { decideNextRecord } from '../../shared/records/operation-record.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { alertChannelKey } from '../../shared/store/keys.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from './api-under-test.ts';

const PROJECT_ID = anOperation().project_id;
const OTHER_ID = 'other-pond-12345678';
const idOf = (number: number) => `a07f8772-1877-4da9-a939-${String(number).padStart(12, '0')}`;

function setUp() {
  let nowMs = NOON_MS;
  const sleepers: (() => void)[] = [];
  const clock: Clock = {
    now: () => nowMs,
    sleep: (durationMs) => {
      nowMs += durationMs;
      sleepers.shift()?.();
      return Promise.resolve();
    },
  };
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'k',
    clock,
  });
  const store = createBridgeStore(api.memory, ACCOUNT_ID, clock);
  const move = async (
    number: number,
    status: string,
    fields: { project_id?: string; published?: boolean } = {},
  ) => {
    const project_id = fields.project_id ?? PROJECT_ID;
    const recorded = await store.readOperation(project_id, idOf(number));
    const created_at = new Date(NOON_MS - 60_000 + number * 1_000).toISOString();
    nowMs += 1;
    const reading = anOperation({ id: idOf(number), project_id, status, created_at });
    const next = decideNextRecord(recorded, reading, { ...aContext(), nowMs });
    if (next === undefined) throw new Error('Nothing changed');
    await store.record(next, recorded?.revision);
    if (fields.published !== false)
      await store.acknowledge(next, { through: next.revision, derived: next.revision });
    return next;
  };
  const ask = async (path: string, token: TokenOptions = {}) => {
    const authorization = `Bearer ${await api.issueToken(token)}`;
    const response = await api.app.request(`/bridge/v1${path}`, { headers: { authorization } });
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    return { status: response.status, body: (await response.json()) as any };
  };
  return { api, ask, move, clock, whileWaiting: (task: () => void) => void sleepers.push(task) };
}

const project = `/projects/${PROJECT_ID}`;

describe('operations', () => {
  test('come newest first, page by page', async () => {
    const { ask, move } = setUp();
    for (const number of [2, 3, 1]) await move(number, 'running');

    const first = await ask(`${project}/operations?limit=2`);
    const second = await ask(`${project}/operations?limit=2&cursor=${first.body.cursor}`);

    const all = [...first.body.operations, ...second.body.operations];
    expect(all.map(({ operation_id }: { operation_id: string }) => operation_id)).toEqual(
      [3, 2, 1].map(idOf),
    );
    expect(second.body.cursor).toBeUndefined();
  });

  test.each([
    ['status=finished', [2]],
    ['status=running,finished', [3, 2, 1]],
    ['open=true', [3, 1]],
    ['open=false', [2]],
    [`action=${anOperation().action}&open=true`, [3, 1]],
    ['branch_id=br-another', []],
  ])('can be filtered by %s', async (query, expected) => {
    const { ask, move } = setUp();
    for (const number of [1, 2, 3]) await move(number, 'running');
    await move(2, 'finished');

    const { body } = await ask(`${project}/operations?${query}`);

    expect(body.operations.map(({ operation_id }: { operation_id: string }) => operation_id)).toEqual(
      expected.map(idOf),
    );
  });

  test('one of them has its history, with the ids of its events', async () => {
    const { ask, move } = setUp();
    await move(1, 'scheduling');
    const last = await move(1, 'running');

    const { body } = await ask(`${project}/operations/${idOf(1)}`);

    expect(body.operation).toMatchObject({ status: 'running', open: true, settled: false, sequence: 2 });
    expect(body.operation.history.map(({ id }: { id: string }) => id)).toEqual(
      last.entries.map(({ id }) => id),
    );
    expect(body.operation.history[1]).toMatchObject({
      detail_type: 'Operation State Changed',
      published: true,
      detail: { previous_status: 'scheduling', status: 'running', observed_by: 'poll' },
    });
  });

  test('waiting ends when the operation does', async () => {
    const { ask, move, whileWaiting, clock } = setUp();
    await move(1, 'running');
    whileWaiting(() => void move(1, 'finished'));

    const { body } = await ask(`${project}/operations/${idOf(1)}?wait=25`);

    expect(body.operation).toMatchObject({ status: 'finished', settled: true });
    expect(clock.now() - NOON_MS).toBeLessThan(5_000);
  });

  test('waiting ends when its time is over, with what is known then', async () => {
    const { ask, move, clock } = setUp();
    await move(1, 'running');

    const { status, body } = await ask(`${project}/operations/${idOf(1)}?wait=25`);

    expect([status, body.operation.status]).toEqual([200, 'running']);
    expect(clock.now() - NOON_MS).toBeGreaterThanOrEqual(25_000);
  });

  test('an ended operation is not settled before its events are on the bus', async () => {
    const { ask, move } = setUp();
    await move(1, 'finished', { published: false });

    expect((await ask(`${project}/operations/${idOf(1)}`)).body.operation).toMatchObject({
      open: false,
      settled: false,
    });
  });

  test('an unknown one is waited for, and then answered with 404', async () => {
    const { ask } = setUp();

    expect((await ask(`${project}/operations/${idOf(9)}?wait=2`)).status).toBe(404);
  });

  test.each([
    ['wait=26', 'query.wait'],
    ['wait=x', 'query.wait'],
    ['wait=1&wait=2', 'query.wait'],
    ['waiting=1', 'query.waiting'],
  ])('%s is told by its name', async (query, field) => {
    const { ask } = setUp();

    const { status, body } = await ask(`${project}/operations/${idOf(1)}?${query}`);

    expect([status, body.errors[0].field]).toEqual([400, field]);
  });
});

describe('events', () => {
  test('are a feed that goes on from its cursor', async () => {
    const { ask, move } = setUp();
    await move(1, 'scheduling');
    const first = await ask('/events');
    await move(1, 'running');
    const second = await ask(`/events?cursor=${first.body.cursor}`);
    const third = await ask(`/events?cursor=${second.body.cursor}`);

    const statuses = (body: { events: { detail: { status: string } }[] }) =>
      body.events.map(({ detail }) => detail.status);
    expect([statuses(first.body), statuses(second.body), statuses(third.body)]).toEqual([
      ['scheduling'],
      ['running'],
      [],
    ]);
  });

  test('from now on: only what comes', async () => {
    const { ask, move } = setUp();
    await move(1, 'scheduling');
    const first = await ask('/events?from=now');
    await move(2, 'running');

    expect(first.body.events).toEqual([]);
    expect((await ask(`/events?cursor=${first.body.cursor}`)).body.events).toHaveLength(1);
  });

  test('of other projects are not shown, and do not hold the feed up', async () => {
    const { ask, move } = setUp();
    const token = { project_ids: [OTHER_ID] };
    await move(1, 'running');
    const first = await ask('/events', token);
    await move(2, 'running', { project_id: OTHER_ID });

    const second = await ask(`/events?cursor=${first.body.cursor}`, token);

    expect(first.body.events).toEqual([]);
    expect(
      second.body.events.map(({ detail }: { detail: { project_id: string } }) => detail.project_id),
    ).toEqual([OTHER_ID]);
    expect((await ask('/events/recent', token)).body.events).toHaveLength(1);
  });

  test('are waited for', async () => {
    const { ask, move, whileWaiting } = setUp();
    const { body } = await ask('/events?from=now');
    whileWaiting(() => void move(1, 'running'));

    expect((await ask(`/events?cursor=${body.cursor}&wait=10`)).body.events).toHaveLength(1);
  });

  test('can be filtered', async () => {
    const { ask, move } = setUp();
    await move(1, 'failed');
    await move(2, 'running');

    expect((await ask('/events?status=failed')).body.events).toHaveLength(1);
    expect((await ask('/events?status=failed,running')).body.events).toHaveLength(2);
    expect((await ask('/events/recent?detail_type=Operation%20Stalled')).body.events).toEqual([]);
  });

  test('a made-up cursor is refused by name', async () => {
    const { ask } = setUp();

    const { status, body } = await ask('/events?cursor=x');

    expect([status, body.errors]).toEqual([
      400,
      [{ field: 'query.cursor', reason: expect.stringContaining('begin without one') }],
    ]);
  });
});

describe('the caller', () => {
  test('learns who it is and what it may do', async () => {
    const { ask } = setUp();

    const { body } = await ask('/me', {
      client_id: 'my-app',
      scopes: ['operations:read', 'computes:read'],
      project_ids: ['a-1'],
    });

    expect(body).toEqual({
      client_id: 'my-app',
      account_id: 'main',
      scopes: ['operations:read', 'computes:read'],
      project_ids: ['a-1'],
    });
  });
});

describe('health', () => {
  const status = (fields: { writtenMs?: number; walkMs?: number; trouble?: AccountTrouble } = {}) => ({
    ...nextStatus(undefined, {
      trouble: fields.trouble,
      account_id: 'main',
      nowMs: fields.writtenMs ?? NOON_MS,
      sinceMs: NOON_MS,
      lastCompleteWalkAtMs: fields.walkMs ?? NOON_MS,
      project_count: 1,
      open_operation_count: 0,
      requests_per_minute: 350,
      tally: { requestCount: 0, throttledCount: 0, delaysMs: [] },
    }),
  });
  const nothing = { count: 0, oldest_at: undefined };
  const at = (epochMs: number) => new Date(epochMs).toISOString();

  test.each<[string, Omit<Observed, 'nowMs'>, RegExp | undefined]>([
    ['all is well', { status: status(), unpublished: nothing }, undefined],
    ['the poller never spoke', { status: undefined, unpublished: nothing }, /not reported yet/],
    [
      'the poller never spoke of an account that was added 400 s ago',
      {
        standing: { state: 'active' as const, state_since: at(NOON_MS - 400_000) },
        status: undefined,
        unpublished: nothing,
      },
      /not reported on this account in the 400 s .* does not serve the account/,
    ],
    [
      'the poller is silent',
      { status: status({ writtenMs: NOON_MS - 200_000 }), unpublished: nothing },
      /silent for 200 s/,
    ],
    [
      'a project is not read',
      { status: status({ walkMs: NOON_MS - 2_000_000 }), unpublished: nothing },
      /not been read completely for 2000 s/,
    ],
    [
      'the key is refused',
      { status: status({ trouble: 'key_rejected' }), unpublished: nothing },
      /refuses the account's key: put a valid one/,
    ],
    [
      'the key cannot be read',
      { status: status({ trouble: 'key_unreadable' }), unpublished: nothing },
      /key cannot be read from its secret: the log line key\.unreadable of the poller says why/,
    ],
    [
      'no poll succeeds',
      { status: status({ trouble: 'upstream_failing' }), unpublished: nothing },
      /No poll of the account has succeeded for minutes/,
    ],
    [
      'events are not sent',
      { status: status(), unpublished: { count: 3, oldest_at: at(NOON_MS - 130_000) } },
      /oldest of 3 unpublished events is 130 s old/,
    ],
  ])('when %s', (_name, parts, reason) => {
    const health = decideHealth({ ...parts, nowMs: NOON_MS });

    expect(health.healthy).toBe(reason === undefined);
    if (reason !== undefined) expect(health.reasons.join()).toMatch(reason);
  });

  const longAgo = {
    status: status({ writtenMs: NOON_MS - 9_000_000, walkMs: NOON_MS - 9_000_000 }),
    unpublished: nothing,
  };
  const late = { ...longAgo, unpublished: { count: 3, oldest_at: at(NOON_MS - 9_000_000) } };
  const since = (agoMs: number) => ({ state_since: at(NOON_MS - agoMs) });

  test('of a paused account expects nothing of the poller, and says since when it is paused', () => {
    const health = decideHealth({
      ...late,
      nowMs: NOON_MS,
      standing: { state: 'paused', ...since(600_000) },
    });

    expect(health).toMatchObject({
      healthy: true,
      reasons: [],
      state: 'paused',
      paused_since: at(NOON_MS - 600_000),
    });
  });

  test('of a paused account still says that alerts do not reach people', () => {
    const channelReasons = ['Slack takes nothing.'];

    const health = decideHealth({ ...late, channelReasons, nowMs: NOON_MS, standing: { state: 'paused' } });

    expect(health).toMatchObject({ healthy: false, reasons: channelReasons });
  });

  test('of a resumed account counts from then on', () => {
    const resumed = (agoMs: number) =>
      decideHealth({ ...late, nowMs: NOON_MS, standing: { state: 'active', ...since(agoMs) } });

    expect(resumed(60_000)).toMatchObject({ healthy: true, state: 'active' });
    expect(resumed(200_000).reasons.join()).toMatch(/silent for 200 s/);
    expect(resumed(200_000)).not.toHaveProperty('paused_since');
  });

  test('of an account that the deployment does not allow says so', () => {
    const standing = { state: 'refused', fault: 'upstream_base_url must have one of the hosts' } as const;

    const { healthy, reasons } = decideHealth({ ...longAgo, nowMs: NOON_MS, standing });

    expect([healthy, reasons.join()]).toEqual([false, expect.stringContaining(standing.fault)]);
  });

  test('names an alert channel that has taken nothing for ten minutes', async () => {
    const { api, ask } = setUp();
    await writeAccountStatus(api.memory, status());
    const key = alertChannelKey('slack');
    const waitingFor = (minutes: number) =>
      api.memory.update({
        key,
        set: { waiting_since_ms: NOON_MS - minutes * 60_000, last_reason: 'Slack answered 404' },
      });

    await waitingFor(9);
    expect((await ask('/health')).status).toBe(200);
    await waitingFor(12);

    const { status: code, body } = await ask('/health');
    expect([code, body.reasons.join()]).toEqual([
      503,
      expect.stringMatching(/slack.*12 min.*Slack answered 404/),
    ]);
  });

  test('is an answer with 200 or 503', async () => {
    const { api, ask } = setUp();
    expect((await ask('/health')).status).toBe(503);

    await writeAccountStatus(api.memory, status());

    const { status: code, body } = await ask('/health');
    expect([code, body.healthy, body.last_complete_walk_age_seconds]).toEqual([200, true, 0]);
    expect((await ask('/accounts')).body.accounts).toMatchObject([
      { account_id: 'main', requests_per_minute: 350 },
    ]);
  });
});
