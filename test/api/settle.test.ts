/** Commands of a caller whose token was created with `--settle`: they wait for locks, and are answered when they are done. */

import { describe, expect, test } from 'vitest';
import { UNFROZEN_MS } from '../../functions/api/upstream/account-queue.ts';
import { settleCommands } from '../../shared/protocol/record-derived.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { operationKey, wishKey } from '../../shared/store/keys.ts';
import { anOperation } from '../builders.ts';
import { ACCOUNT_ID, createApiUnderTest } from './api-under-test.ts';
import { PROJECT_ID } from './sample-requests.ts';
import { stoppedClock } from './stopped-clock.ts';
import { createUpstreamDouble, type Sent } from './upstream-double.ts';

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
const OPERATION_ID = '22222222-2222-4222-8222-222222222222';
const HOLDER_ID = '33333333-3333-4333-8333-333333333333';

const anOperationOf = (id: string) =>
  anOperation({
    id,
    project_id: PROJECT_ID,
    // An operation of this action holds the lock of its project.
    action: 'start_compute',
    created_at: '2026-01-15T12:00:00Z',
    updated_at: '2026-01-15T12:00:00Z',
  });

function started(id = OPERATION_ID): Response {
  return Response.json({ endpoint: {}, operations: [anOperationOf(id)] });
}

function locked(): Response {
  return Response.json(
    { code: 'LOCKED', message: 'project already has running operations' },
    { status: 423 },
  );
}

async function setUp(
  answer: (sent: Sent) => Response = () => started(),
  accountSettings: object = {},
  settles = true,
) {
  const { clock, pass } = stoppedClock();
  const upstream = createUpstreamDouble(answer);
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.test/api/v2',
    upstreamKey: 'a-key',
    fetch: upstream.fetch,
    clock,
    accountSettings,
  });
  const store = createBridgeStore(api.memory, ACCOUNT_ID, clock);
  const token = await api.issueToken({ ...(settles && { settles }), validForMs: 1e9 });
  const ask = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${token}`;
    const response = await api.app.request(path, { method, headers: { authorization, ...headers } });
    const address = response.headers.get('bridge-command');
    const applied = response.headers.get('preference-applied');
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
    return { status: response.status, address, applied, body: (await response.json()) as any };
  };
  /** Passes time in steps, as everything that waits looks again several times a second. */
  const passBy = async (durationMs: number) => {
    for (let passedMs = 0; passedMs < durationMs; passedMs += 500) {
      await pass(500);
      await turns();
    }
  };
  const freeze = async () => {
    const body = JSON.stringify({ reason: 'A change window.' });
    const admin = await api.issueToken({ validForMs: 1e9 });
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' };
    const freezing = api.app.request('/bridge/v1/freeze', { method: 'POST', headers, body });
    await turns();
    await passBy(UNFROZEN_MS);
    await freezing;
  };
  const holdProject = () => store.record(recordOf(anOperationOf(HOLDER_ID)), undefined);
  const end = async (id: string, status = 'finished') => {
    const key = operationKey(ACCOUNT_ID, PROJECT_ID, id);
    await api.memory.update({ key, set: { status }, remove: ['work'] });
    const found = api.memory.sync.items().filter(({ kind }) => kind === 'command');
    const commands = await store.readCommands(found.map(({ pk, sk }) => ({ pk, sk })));
    await settleCommands({ store, clock }, commands);
  };
  return { api, upstream, ask, passBy, freeze, holdProject, end };
}

function recordOf({ id, project_id, ...rest }: ReturnType<typeof anOperation>) {
  return {
    kind: 'operation' as const,
    ...rest,
    account_id: ACCOUNT_ID,
    project_id,
    operation_id: id,
    sequence: 0,
    revision: 0,
    published: 0,
    entries: [],
    status_observed_at: rest.updated_at,
    watch_ended: false,
  };
}

/** Lets everything happen that can happen without more time. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Says whether the answer is there, without waiting for it. */
function watched<T>(promise: Promise<T>) {
  const state = { isDone: false };
  void promise.then(() => {
    state.isDone = true;
  });
  return state;
}

describe('a command of a caller with --settle', () => {
  test('is answered when the operation that it started has ended', async () => {
    const { ask, passBy, end } = await setUp();
    const answer = ask('POST', RESTART);
    const state = watched(answer);

    await passBy(3_000);
    expect(state.isDone).toBe(false);
    await end(OPERATION_ID);
    await passBy(1_500);

    const { status, address, body } = await answer;
    expect([status, address]).toEqual([200, null]);
    expect(body.operations[0].id).toBe(OPERATION_ID);
  });

  test('waits for a recorded lock without a request, and asks the poller to read the project', async () => {
    const { ask, passBy, end, holdProject, upstream, api } = await setUp();
    await holdProject();

    const answer = ask('POST', RESTART);
    await passBy(5_000);
    expect(upstream.sent).toEqual([]);
    expect(await api.memory.get(wishKey(ACCOUNT_ID, PROJECT_ID))).toMatchObject({ work: expect.any(String) });

    await end(HOLDER_ID);
    await passBy(1_500);
    expect(upstream.sent).toHaveLength(1);
    await end(OPERATION_ID);
    await passBy(1_500);
    expect((await answer).status).toBe(200);
  });

  test('is sent after 20 s although the lock is still recorded, because only the upstream knows', async () => {
    const { ask, passBy, holdProject, upstream } = await setUp(locked);
    await holdProject();

    const answer = ask('POST', RESTART);
    await passBy(19_000);
    expect(upstream.sent).toEqual([]);
    await passBy(2_000);

    const { status, body } = await answer;
    expect([status, body.code, upstream.sent.length]).toEqual([423, 'LOCKED', 1]);
  });

  test('waits out a lock that the bridge has not recorded, and asks the poller to read the project', async () => {
    const answers = [locked(), locked()];
    const { ask, passBy, end, upstream, api } = await setUp(() => answers.shift() ?? started());

    const answer = ask('POST', RESTART);
    await turns();
    expect(await api.memory.get(wishKey(ACCOUNT_ID, PROJECT_ID))).toMatchObject({ work: expect.any(String) });
    await passBy(10_000);
    await end(OPERATION_ID);
    await passBy(1_500);

    expect([(await answer).status, upstream.sent.length]).toEqual([200, 3]);
  });

  test('is answered as it is after 25 s, with the address at which its end can be asked for', async () => {
    const { ask, passBy, end } = await setUp();

    const answer = ask('POST', RESTART);
    const state = watched(answer);
    await passBy(24_000);
    expect(state.isDone).toBe(false);
    await passBy(1_500);

    const { status, address } = await answer;
    expect(status).toBe(200);
    expect(address).toMatch(new RegExp(`^/bridge/v1/projects/${PROJECT_ID}/commands/`));
    const asked = await ask('GET', address ?? '');
    expect(asked.body.command).toMatchObject({ settled: false, operation_ids: [OPERATION_ID] });

    const settled = ask('GET', `${address}?wait=25`);
    const isAnswered = watched(settled);
    await passBy(3_000);
    expect(isAnswered.isDone).toBe(false);
    await end(OPERATION_ID);
    await passBy(1_500);
    expect((await settled).body.command.settled).toBe(true);
  });

  test('whose operation was cancelled is answered with the address of its record', async () => {
    const { ask, passBy, end } = await setUp();

    const answer = ask('POST', RESTART);
    await turns();
    await end(OPERATION_ID, 'cancelled');
    await passBy(1_500);

    expect((await answer).address).toMatch(/\/commands\//);
  });

  test('is answered at once when it started no operation', async () => {
    const { ask } = await setUp(() => Response.json({ endpoint: {}, operations: [] }));

    expect(await ask('POST', RESTART)).toMatchObject({ status: 200, address: null });
  });

  test('is answered at once when the caller prefers not to wait', async () => {
    const { ask } = await setUp();

    const { status, address } = await ask('POST', RESTART, { prefer: 'wait=0' });

    expect([status, address]).toEqual([200, expect.stringMatching(/\/commands\//)]);
  });

  test('is repeated with its Idempotency-Key and answered when the first one has ended', async () => {
    const { ask, passBy, end, upstream } = await setUp();
    const headers = { 'idempotency-key': 'key-1' };
    await ask('POST', RESTART, { ...headers, prefer: 'wait=0' });

    const repeated = ask('POST', RESTART, headers);
    const state = watched(repeated);
    await passBy(2_000);
    expect(state.isDone).toBe(false);
    await end(OPERATION_ID);
    await passBy(1_500);

    expect(await repeated).toMatchObject({ status: 200, address: null });
    expect(upstream.sent).toHaveLength(1);
  });

  test('does not wait when the caller has as many commands waiting as it may have', async () => {
    const { ask, passBy } = await setUp(undefined, { caller_waits_max: 1 });
    const first = ask('POST', RESTART);
    await turns();

    const second = await ask('POST', RESTART);

    expect([second.status, second.address]).toEqual([200, expect.stringMatching(/\/commands\//)]);
    await passBy(26_000);
    expect((await first).status).toBe(200);
  });

  test('gives its place back', async () => {
    const ids = [OPERATION_ID, HOLDER_ID];
    const answers = ids.map((id) => started(id));
    const { ask, passBy, end } = await setUp(() => answers.shift() ?? started(), { caller_waits_max: 1 });
    for (const id of ids) {
      const answer = ask('POST', RESTART);
      await turns();
      await end(id);
      await passBy(1_500);
      expect((await answer).address).toBeNull();
    }
  });

  test('waits for a permit of the rate limit, too, and takes it when it leaves', async () => {
    const limits = { requests_per_minute: 10, requests_per_second: 1 };
    const { ask, passBy, upstream } = await setUp(
      () => Response.json({ endpoint: {}, operations: [] }),
      limits,
    );
    const answers = [1, 2, 3].map(() => ask('POST', RESTART));
    await turns();
    const sentAtOnce = upstream.sent.length;
    await passBy(19_000);

    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(sentAtOnce).toBeLessThan(3);
  });

  test('is answered 429 and not sent when there is no permit in time, and may be repeated with its key', async () => {
    const { ask, upstream, passBy } = await setUp(() => Response.json({ endpoint: {}, operations: [] }), {
      requests_per_minute: 10,
      caller_requests_per_minute: 2,
    });
    while ((await ask('POST', RESTART, { prefer: 'wait=0' })).status === 200);
    const sentCount = upstream.sent.length;

    const refused = await ask('POST', RESTART, { prefer: 'wait=0', 'idempotency-key': 'key-1' });
    await passBy(63_000);
    const repeated = await ask('POST', RESTART, { prefer: 'wait=0', 'idempotency-key': 'key-1' });

    expect([refused.status, repeated.status]).toEqual([429, 200]);
    expect(upstream.sent.length).toBe(sentCount + 1);
  });

  test('is answered 503 while the account is frozen, and not sent', async () => {
    const { ask, freeze, upstream } = await setUp();
    await freeze();

    expect((await ask('POST', RESTART)).status).toBe(503);
    expect(upstream.sent).toEqual([]);
  });

  test('is answered 503 and not sent when the account is frozen while it waits for a lock', async () => {
    const { ask, freeze, upstream, passBy, holdProject, end } = await setUp();
    await holdProject();
    const answer = ask('POST', RESTART);
    await passBy(2_000);

    await freeze();
    await end(HOLDER_ID);
    await passBy(3_000);

    expect((await answer).body.type).toBe('urn:operations-bridge:problem:frozen');
    expect(upstream.sent).toEqual([]);
  });

  test.each([
    ['with --settle', true],
    ['without it', false],
  ])('is not sent again after a refusal once the account is frozen: %s', async (_name, settles) => {
    const { ask, freeze, upstream, passBy } = await setUp(locked, {}, settles);
    const answer = ask('POST', RESTART);
    await passBy(500);

    await freeze();
    const sentCount = upstream.sent.length;
    await passBy(25_000);

    expect((await answer).status).toBe(423);
    expect(upstream.sent.length).toBe(sentCount);
  });
});

describe('Prefer: wait=ready', () => {
  const BRANCHES = `/api/v2/projects/${PROJECT_ID}/branches`;
  const PREFERENCE = { prefer: 'wait=ready' };
  const created = () =>
    Response.json({ branch: {}, endpoints: [], operations: [anOperationOf(OPERATION_ID)] }, { status: 201 });

  test('answers the creation of a branch when its operations have ended well, and says so', async () => {
    const { ask, passBy, end } = await setUp(created, {}, false);
    const answer = ask('POST', BRANCHES, PREFERENCE);
    const state = watched(answer);

    await passBy(3_000);
    expect(state.isDone).toBe(false);
    await end(OPERATION_ID);
    await passBy(1_500);

    const { status, address, applied } = await answer;
    expect([status, address, applied]).toEqual([201, null, 'wait=ready']);
  });

  test('answers after 25 s in any case, and names where to ask for the rest', async () => {
    const { ask, passBy } = await setUp(created, {}, false);
    const answer = ask('POST', BRANCHES, PREFERENCE);
    await passBy(26_000);

    const { status, address, applied } = await answer;
    expect([status, applied]).toEqual([201, null]);
    expect(address).toMatch(/^\/bridge\/v1\/projects\/.+\/commands\//);
  });

  test('names where to ask at once when an operation came to nothing', async () => {
    const { ask, passBy, end } = await setUp(created, {}, false);
    const answer = ask('POST', BRANCHES, PREFERENCE);
    await passBy(1_000);
    await end(OPERATION_ID, 'error');
    await passBy(1_500);

    const { address, applied } = await answer;
    expect(applied).toBe(null);
    expect(address).toMatch(/commands/);
  });

  test('can be shortened, and any other word is refused with the words that are allowed', async () => {
    const { ask, passBy } = await setUp(created, {}, false);
    const answer = ask('POST', BRANCHES, { prefer: 'wait=ready, wait=2' });
    await passBy(3_000);

    expect((await answer).status).toBe(201);
    const refused = await ask('POST', BRANCHES, { prefer: 'wait=soon' });
    expect(refused.status).toBe(400);
    expect(JSON.stringify(refused.body)).toContain('wait=ready');
  });
});
