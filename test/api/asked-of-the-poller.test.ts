/** Tests the routes by which callers ask the poller for a repair of a project, and for a replay of events. */

import { describe, expect, test } from 'vitest';
import type { Scope } from '../../shared/callers/scopes.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { projectKey } from '../../shared/store/keys.ts';
import { NOON_MS } from '../builders.ts';
import { ACCOUNT_ID, createApiUnderTest } from './api-under-test.ts';
import { PROJECT_ID } from './sample-requests.ts';
import { stoppedClock } from './stopped-clock.ts';

const REPAIR = `/bridge/v1/projects/${PROJECT_ID}/repair`;
const REPLAY = '/bridge/v1/replay';

async function setUp() {
  const { clock } = stoppedClock();
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'the-key-of-the-account',
    clock,
  });
  const store = createBridgeStore(api.memory.as('poller'), ACCOUNT_ID, clock);
  await api.memory.update({
    key: projectKey(ACCOUNT_ID, PROJECT_ID),
    set: { kind: 'project', account_id: ACCOUNT_ID, project_id: PROJECT_ID, is_visible: true },
  });
  const as = async (scopes: readonly Scope[], project_ids?: readonly string[]) => {
    const token = await api.issueToken({ scopes, validForMs: 1e9, ...(project_ids && { project_ids }) });
    return async (method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const response = await api.app.request(path, init);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
  };
  const ago = (ms: number) => new Date(clock.now() - ms).toISOString();
  return { api, store, as, ago };
}

const DAY_MS = 24 * 3_600_000;

describe('a repair', () => {
  test('is asked for, shown while the poller is at work, and asked for again after its end', async () => {
    const { store, as, ago } = await setUp();
    const ask = await as(['operations:repair', 'operations:read']);

    expect((await ask('GET', REPAIR)).status).toBe(404);
    const asked = await ask('POST', REPAIR, { since: ago(DAY_MS) });
    expect(asked).toMatchObject({ status: 202, body: { state: 'in_progress' } });
    expect(await ask('POST', REPAIR, { since: ago(DAY_MS) })).toMatchObject({
      status: 409,
      body: { type: expect.stringContaining('repair-in-progress') },
    });

    expect(await store.findRepairs()).toEqual([PROJECT_ID]);
    const repair = await store.readRepair(PROJECT_ID);
    if (repair === undefined) throw new Error('no repair is stored');
    await store.saveRepair({ ...repair, ended_at: ago(0) });
    expect((await ask('GET', REPAIR)).body).toMatchObject({ state: 'ended' });
    expect((await ask('POST', REPAIR, { since: ago(DAY_MS) })).status).toBe(202);
  });

  test.each([191 * DAY_MS, 400 * DAY_MS])('does not reach %i ms back', async (ms) => {
    const { store, as, ago } = await setUp();
    const ask = await as(['operations:repair']);

    expect((await ask('POST', REPAIR, { since: ago(ms) })).status).toBe(400);
    expect(await store.findRepairs()).toEqual([]);
  });

  test('needs its own scope, and a project that the bridge knows', async () => {
    const { as, ago } = await setUp();
    const [reader, repairer] = [await as(['operations:read']), await as(['operations:repair'])];

    expect((await reader('POST', REPAIR, { since: ago(DAY_MS) })).status).toBe(403);
    const unknown = REPAIR.replace(PROJECT_ID, 'never-seen-12345678');
    expect((await repairer('POST', unknown, { since: ago(DAY_MS) })).status).toBe(404);
  });
});

describe('a replay', () => {
  const range = {
    since: new Date(NOON_MS - 1_000).toISOString(),
    until: new Date(NOON_MS + 1_000).toISOString(),
  };

  test('is asked for, shown, and stopped', async () => {
    const { as } = await setUp();
    const ask = await as(['events:replay', 'operations:read']);

    const started = await ask('POST', REPLAY, range);
    expect(started).toMatchObject({ status: 202, body: { state: 'in_progress', sent_count: 0 } });
    expect(started.body['resource']).toMatch(/^operations-bridge\/replay\/./);
    expect((await ask('POST', REPLAY, range)).status).toBe(409);
    expect((await ask('DELETE', REPLAY)).body).toMatchObject({ state: 'stopped' });
    expect((await ask('GET', REPLAY)).body).toMatchObject({ state: 'stopped' });
    expect((await ask('POST', REPLAY, range)).status).toBe(202);
  });

  test('has the choice of its caller, and no other type than those of the bridge', async () => {
    const { store, as } = await setUp();
    const ask = await as(['events:replay']);
    const choice = { detail_types: ['Branch Ready'], statuses: ['failed'], ids: ['op-1'], is_dry_run: true };

    expect((await ask('POST', REPLAY, { ...range, ...choice })).body).toMatchObject(choice);
    expect(await store.readReplay()).toMatchObject({ ...range, ...choice });
    expect((await ask('POST', REPLAY, { ...range, detail_types: ['Brnch Ready'] })).status).toBe(400);
  });

  test('publishes nothing by itself: the role of the API may not publish every event', async () => {
    const { api, as } = await setUp();
    const ask = await as(['events:replay']);

    await ask('POST', REPLAY, range);

    expect(api.published).toEqual([]);
  });

  test('concerns all projects, so callers who are limited to some neither start nor see it', async () => {
    const { as } = await setUp();
    const ask = await as(['events:replay', 'operations:read'], [PROJECT_ID]);

    expect((await ask('POST', REPLAY, range)).status).toBe(403);
    expect((await ask('GET', REPLAY)).status).toBe(403);
  });

  test('of a range that ends before it begins is refused', async () => {
    const { as } = await setUp();
    const ask = await as(['events:replay']);

    expect((await ask('POST', REPLAY, { since: range.until, until: range.since })).status).toBe(400);
  });
});
