/** Tests what one caller may hold up: long polls, commands that wait for a lock, and wishes for a fresh reading. */

import { afterEach, describe, expect, test, vi } from 'vitest';
import { createHeldPlaces } from '../../functions/api/serving/waiting.ts';
import { projectKey, wishKey } from '../../shared/store/keys.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { ACCOUNT_ID, createApiUnderTest } from './api-under-test.ts';
import { OTHER_PROJECT_ID, PROJECT_ID } from './sample-requests.ts';
import { stoppedClock } from './stopped-clock.ts';
import { createUpstreamDouble } from './upstream-double.ts';

async function setUp(answer: () => Response = () => Response.json({}), accountSettings: object = {}) {
  const { clock, pass, sleepers } = stoppedClock();
  const upstream = createUpstreamDouble(answer);
  const api = createApiUnderTest({
    upstreamBaseUrl: 'https://upstream.example/api/v2',
    upstreamKey: 'the-key-of-the-account',
    fetch: upstream.fetch,
    clock,
    accountSettings,
  });
  const as = async (client_id: string, project_ids?: readonly string[]) => {
    const token = await api.issueToken({ client_id, validForMs: 1e9, ...(project_ids && { project_ids }) });
    return async (path: string, init: RequestInit = {}) => {
      const headers = { authorization: `Bearer ${token}`, ...(init.headers as object) };
      return (await api.app.request(path, { ...init, headers })).status;
    };
  };
  const know = async (projectId: string) => {
    const set = {
      kind: 'project',
      account_id: ACCOUNT_ID,
      project_id: projectId,
      is_visible: true,
      revision: 0,
      published: 0,
      entries: [],
    };
    await api.memory.update({ key: projectKey(ACCOUNT_ID, projectId), set });
  };
  return { api, upstream, as, pass, sleepers, know, clock };
}

afterEach(() => void vi.useRealTimers());

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-1/restart`;
const FEED = '/bridge/v1/events?from=now&wait=25';
const OPERATION = `/bridge/v1/projects/${PROJECT_ID}/operations/a07f8772-1877-4da9-a939-3a3ae62d1d8d?wait=25`;

describe('long polls', () => {
  test.each([FEED, OPERATION])('of %s are five at once for one caller, on whatever tokens', async (path) => {
    const { as, sleepers, pass } = await setUp();
    const [first, second, other] = [await as('an-app'), await as('an-app'), await as('another-app')];
    const held = [first, first, first, second, second].map((ask) => ask(path));
    await expect.poll(() => sleepers.size).toBe(5);

    expect([await first(path), await second(path)]).toEqual([429, 429]);
    const others = other(path);
    await expect.poll(() => sleepers.size).toBe(6);
    expect(await first(path.replace('wait=25', 'wait=0'))).not.toBe(429);

    await pass(60_000);
    expect(new Set(await Promise.all([...held, others])).has(429)).toBe(false);
    const again = first(path);
    await expect.poll(() => sleepers.size).toBe(1);
    await pass(60_000);
    expect(await again).not.toBe(429);
  });

  test('are as many as the configuration says', async () => {
    const { as, sleepers, pass } = await setUp(undefined, { caller_waits_max: 2 });
    const ask = await as('an-app');
    const held = [ask(FEED), ask(FEED)];
    await expect.poll(() => sleepers.size).toBe(2);

    expect(await ask(FEED)).toBe(429);
    await pass(60_000);
    expect(await Promise.all(held)).toEqual([200, 200]);
  });

  test('of an instance that died hold their places no longer than they would have lasted', async () => {
    const { clock, pass } = stoppedClock();
    const places = createHeldPlaces(createMemoryTable().as('api'), clock, 2);
    const holder = { account_id: 'main', client_id: 'an-app' };
    await places.take(holder, 'waits', 25_000);
    await places.take(holder, 'waits', 25_000);
    expect(await places.take(holder, 'waits', 25_000)).toBeUndefined();

    await pass(31_000);

    expect(await places.take(holder, 'waits', 25_000)).toBeDefined();
  });

  test('of three hundred that come together, five get a place', async () => {
    const places = createHeldPlaces(createMemoryTable().as('api'), stoppedClock().clock, 5);
    const holder = { account_id: 'main', client_id: 'an-app' };

    const taken = await Promise.all(Array.from({ length: 300 }, () => places.take(holder, 'waits', 25_000)));

    expect(taken.filter((release) => release !== undefined)).toHaveLength(5);
  });
});

describe('commands that wait for a lock', () => {
  test('are five at once for one caller, apart from long polls; a sixth is answered at once', async () => {
    const { as, sleepers, pass, upstream } = await setUp(() => Response.json({}, { status: 423 }));
    const ask = await as('an-app');
    const restart = (place: number) =>
      ask(`/api/v2/projects/${PROJECT_ID}/endpoints/ep-${place}/restart`, {
        method: 'POST',
        headers: { prefer: 'wait=20' },
      });
    const poll = ask(FEED);
    const held = [1, 2, 3, 4, 5].map(restart);
    await expect.poll(() => sleepers.size).toBe(6);

    expect(await restart(6)).toBe(423);
    expect(upstream.sent).toHaveLength(6);

    for (let count = 0; count < 60; count++) {
      await pass(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await Promise.all(held)).toEqual([423, 423, 423, 423, 423]);
    expect(await poll).toBe(200);
  });

  test('have waited for the rate limit in the same time', async () => {
    const answers = [Response.json({}, { status: 429, headers: { 'retry-after': '12' } })];
    const { as, pass } = await setUp(() => answers.shift() ?? Response.json({}, { status: 423 }));
    const ask = await as('an-app');
    await ask(RESTART, { method: 'POST', headers: { prefer: 'wait=0' } });

    let seconds = 0;
    const held = ask(RESTART, { method: 'POST', headers: { prefer: 'wait=20' } }).then((status) => ({
      status,
      seconds,
    }));
    for (; seconds < 40; seconds++) {
      await pass(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }

    const { status, seconds: waited } = await held;
    expect(status).toBe(423);
    expect(waited).toBeGreaterThan(15);
    expect(waited).toBeLessThanOrEqual(21);
  });

  test('get the last refusal when the time of the request ends, and their key stays free', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const answers = [Response.json({}, { status: 423 })];
    const { as, sleepers } = await setUp(() => answers.shift() ?? Response.json({}));
    const ask = await as('an-app');
    const headers = { prefer: 'wait=20', 'idempotency-key': 'a-key' };
    const held = ask(RESTART, { method: 'POST', headers });
    await expect.poll(() => sleepers.size).toBe(1);

    vi.advanceTimersByTime(28_000);

    expect(await held).toBe(423);
    expect(await ask(RESTART, { method: 'POST', headers })).toBe(200);
  });
});

describe('a wish for a fresh reading', () => {
  const read = (projectId: string) => `/bridge/v1/projects/${projectId}/read`;
  const wish = { method: 'POST' };

  test('of a project that the bridge does not know is answered like a project of another caller', async () => {
    const { api, as, know } = await setUp();
    await know(PROJECT_ID);
    await know(OTHER_PROJECT_ID);
    const ask = await as('an-app', [PROJECT_ID, 'unknown-sea-1']);

    expect([
      await ask(read('unknown-sea-1'), wish),
      await ask(read(OTHER_PROJECT_ID), wish),
      await ask(read(PROJECT_ID), wish),
    ]).toEqual([404, 404, 202]);
    expect(api.memory.sync.items().filter(({ kind }) => kind === 'read_request')).toHaveLength(1);
  });

  test('is one in a poll interval of the project, however many ask', async () => {
    const { api, as, know, pass } = await setUp(undefined, { poll_interval_seconds: 30 });
    await know(PROJECT_ID);
    const [first, second] = [await as('an-app'), await as('another')];
    const key = wishKey(ACCOUNT_ID, PROJECT_ID);
    const isAsked = () => api.memory.sync.peek(key)?.['work'] !== undefined;
    const grant = () => api.memory.update({ key, set: {}, remove: ['work'] });

    expect([await first(read(PROJECT_ID), wish), isAsked()]).toEqual([202, true]);
    await grant();
    await pass(29_000);
    expect([await second(read(PROJECT_ID), wish), isAsked()]).toEqual([202, false]);
    await pass(1_001);
    expect([await second(read(PROJECT_ID), wish), isAsked()]).toEqual([202, true]);
  });

  test('is not audited, and 30 a minute of one caller are granted', async () => {
    const { api, as, know, pass } = await setUp();
    for (let place = 0; place < 12; place++) await know(`project-${place}`);
    const [greedy, modest] = [await as('greedy'), await as('modest')];
    const answers: number[] = [];

    for (let second = 0; second < 60; second++) {
      for (let place = 0; place < 6; place++)
        answers.push(await greedy(read(`project-${(second * 6 + place) % 12}`), wish));
      await pass(1_000);
    }

    expect(answers.filter((status) => status === 202).length).toBeLessThanOrEqual(30);
    expect(answers.filter((status) => status === 202).length).toBeGreaterThan(25);
    expect(await modest(read('project-1'), wish)).toBe(202);
    expect(api.memory.sync.items().filter(({ kind }) => kind === 'audit')).toEqual([]);
  });
});
