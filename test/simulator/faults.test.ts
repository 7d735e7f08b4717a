import { describe, expect, test } from 'vitest';
import { createFaultDials } from '../../infra/simulator/faults.ts';
import { startUpstream } from '../../infra/simulator/start-upstream.ts';
import {
  API_KEY,
  aWorld,
  busiestProject,
  HOUR_MS,
  START_MS,
  startUpstreamUnderTest,
} from './upstream-under-test.ts';

const authorization = `Bearer ${API_KEY}`;

describe('faults', () => {
  test('are all off by default', async () => {
    const { get, passMs } = startUpstreamUnderTest();
    for (let count = 0; count < 300; count++) {
      passMs(100);
      const { status, body } = await get('/projects');
      expect(status).toBe(200);
      expect(body).not.toHaveProperty('unavailable_project_ids');
    }
    expect(Object.values(createFaultDials()).filter(Boolean)).toEqual([]);
  });

  test.each([
    ['rateLimited', 429, 'rate limit exceeded'],
    ['internalError', 500, 'internal error'],
    ['unavailable', 503, 'service unavailable'],
  ] as const)('%s answers %i with the body of every refusal', async (dial, expected, message) => {
    const { get, faults } = startUpstreamUnderTest();
    faults[dial] = 1;
    const { status, body, headers } = await get('/projects');

    expect(status).toBe(expected);
    expect(body).toEqual({ request_id: headers.get('x-request-id'), code: '', message });
    expect(headers.has('retry-after')).toBe(false);
  });

  test('retryAfterSeconds adds a Retry-After header to 429', async () => {
    const { get, faults } = startUpstreamUnderTest();
    Object.assign(faults, { rateLimited: 1, retryAfterSeconds: 7 });

    expect((await get('/projects')).headers.get('retry-after')).toBe('7');
  });

  test('htmlError answers 524 with an HTML page', async () => {
    const { get, faults } = startUpstreamUnderTest();
    faults.htmlError = 1;
    const { status, headers, text } = await get('/projects');

    expect(status).toBe(524);
    expect(headers.get('content-type')).toMatch(/^text\/html/);
    expect(text).toContain('<html>');
  });

  test('halfBody answers 200 with JSON that is cut in the middle', async () => {
    const { get, faults } = startUpstreamUnderTest();
    faults.halfBody = 1;
    const { status, text, body } = await get('/projects');

    expect(status).toBe(200);
    expect(text).toMatch(/^\{"projects":/);
    expect(body).toBeUndefined();
  });

  test('latencyMs delays the answer by its milliseconds', async () => {
    const { get, faults, sleeps } = startUpstreamUnderTest();
    faults.latencyMs = 250;
    await get('/projects');

    expect(sleeps).toEqual([250]);
  });

  test('partialProjects leaves a project out and names it', async () => {
    const { get, faults, world } = startUpstreamUnderTest();
    faults.partialProjects = 1;
    const { body } = await get('/projects?limit=400');
    const shown: string[] = body.projects.map(({ id }: { id: string }) => id);

    expect(body.unavailable_project_ids).toHaveLength(1);
    expect(new Set([...shown, ...body.unavailable_project_ids])).toEqual(
      new Set(world.projects().map(({ id }) => id)),
    );
    expect(shown).not.toContain(body.unavailable_project_ids[0]);
  });

  test('visibleLateMs hides some new rows from lists for up to its time, while a GET returns them', async () => {
    const { get, faults, world, passMs } = startUpstreamUnderTest(aWorld({ sessionsPerHour: 200 }));
    const { id, operations } = busiestProject(world);
    const existing = operations.filter(({ created_us }) => created_us / 1_000 <= START_MS);
    faults.visibleLateMs = HOUR_MS;
    const early = await get(`/projects/${id}/operations`);
    const shown = new Set(early.body.operations.map((row: { id: string }) => row.id));
    const hidden = existing.filter((op) => !shown.has(op.id));
    passMs(HOUR_MS);
    const late = await get(`/projects/${id}/operations`);

    expect(hidden.length).toBeGreaterThan(3);
    expect((await get(`/projects/${id}/operations/${hidden[0]?.id}`)).status).toBe(200);
    for (const op of hidden) expect(late.text).toContain(op.id);
  });

  test('do not change the history of the world', async () => {
    const quiet = startUpstreamUnderTest();
    const stormy = startUpstreamUnderTest();
    Object.assign(stormy.faults, { rateLimited: 0.3, halfBody: 0.2, partialProjects: 0.5 });
    for (const { get, passMs } of [quiet, stormy])
      for (let count = 0; count < 50; count++) {
        passMs(5_000);
        await get('/projects');
      }

    expect(stormy.world.groundTruth()).toEqual(quiet.world.groundTruth());
  });
});

describe('over a socket', () => {
  const aServer = (dials = {}) =>
    startUpstream({
      seed: 7,
      projectCount: 3,
      apiKeys: [API_KEY],
      dials,
      clock: { now: () => START_MS, sleep: async () => {} },
    });

  test('droppedConnection closes the connection without an answer', async () => {
    await using upstream = disposable(await aServer({ droppedConnection: 1 }));

    await expect(fetch(`${upstream.baseUrl}/projects`, { headers: { authorization } })).rejects.toThrow(
      'fetch failed',
    );
  });

  test('the Date header shows the time of the world and not of the machine', async () => {
    await using upstream = disposable(await aServer());
    const answer = await fetch(`${upstream.baseUrl}/projects`, { headers: { authorization } });

    expect(answer.headers.get('date')).toBe(new Date(START_MS).toUTCString());
    expect(upstream.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v2$/);
  });

  test('a key works until it is revoked', async () => {
    await using upstream = disposable(await aServer());
    const statusNow = async () =>
      (await fetch(`${upstream.baseUrl}/projects`, { headers: { authorization } })).status;
    const before = await statusNow();
    upstream.revokeKey(API_KEY);
    const revoked = await statusNow();
    upstream.addKey(API_KEY);

    expect([before, revoked, await statusNow()]).toEqual([200, 401, 200]);
  });
});

function disposable<Server extends { close(): Promise<void> }>(server: Server): Server & AsyncDisposable {
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close() });
}
