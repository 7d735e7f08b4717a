import { describe, expect, test } from 'vitest';
import { createInsightsStore, dayOf } from '../../shared/insights/day-insights.ts';
import { NOON_MS } from '../builders.ts';
import { addTo, samplesOf } from '../insights/values.ts';
import { ACCOUNT_ID, createApiUnderTest, type TokenOptions } from './api-under-test.ts';
import { OTHER_PROJECT_ID, PROJECT_ID } from './sample-requests.ts';

const DAY_MS = 86_400_000;
const clock = { now: () => NOON_MS, sleep: async () => {} };

function setUp() {
  const settings = { upstreamBaseUrl: 'https://upstream.example/api/v2', upstreamKey: 'k', clock };
  const api = createApiUnderTest(settings);
  const store = createInsightsStore(api.memory, ACCOUNT_ID);
  /** Stores that so many operations took so long, as the poller does. */
  const keep = async (projectId: string | undefined, atMs: number, durationsMs: readonly number[]) => {
    const day = dayOf(atMs);
    await addTo(store.itemOf({ projectId, day }), samplesOf(durationsMs, { day }));
  };
  const ask = async (path: string, token: TokenOptions = {}) => {
    const authorization = `Bearer ${await api.issueToken(token)}`;
    const response = await api.app.request(`/bridge/v1${path}`, { headers: { authorization } });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return { keep, ask };
}

const times = (count: number, durationMs: number) => Array.from({ length: count }, () => durationMs);

describe('GET /bridge/v1/insights', () => {
  test('shows how long the operations of the last seven days took, and how many attempts they needed', async () => {
    const { keep, ask } = setUp();
    await keep(undefined, NOON_MS, times(95, 1_000));
    await keep(undefined, NOON_MS - 6 * DAY_MS, times(5, 60_000));
    await keep(undefined, NOON_MS - 7 * DAY_MS, times(100, 5));

    const { status, body } = await ask('/insights');

    expect(status).toBe(200);
    expect(body).toMatchObject({ from_day: '2026-01-09', to_day: '2026-01-15' });
    expect(body['actions']).toEqual([
      {
        action: 'start_compute',
        operation_count: 100,
        duration_ms: {
          p50: expect.closeTo(1_000, -2),
          p95: expect.closeTo(1_000, -2),
          p99: expect.closeTo(60_000, -4),
        },
        attempts: { p50: 1, p95: 1, p99: 1 },
      },
    ]);
  });

  test('leaves out an action of which too few operations have ended, and actions that were not asked for', async () => {
    const { keep, ask } = setUp();
    await keep(undefined, NOON_MS, times(19, 1_000));
    await keep(PROJECT_ID, NOON_MS, times(20, 1_000));

    expect((await ask('/insights')).body['actions']).toEqual([]);
    expect((await ask(`/projects/${PROJECT_ID}/insights`)).body['actions']).toHaveLength(1);
    const path = `/projects/${PROJECT_ID}/insights?action=create_branch`;
    expect((await ask(path)).body['actions']).toEqual([]);
  });

  test('shows a caller who is limited to projects the figures of these projects only', async () => {
    const { keep, ask } = setUp();
    await keep(PROJECT_ID, NOON_MS, times(20, 1_000));
    await keep(OTHER_PROJECT_ID, NOON_MS, times(20, 1_000));
    const limited = { project_ids: [PROJECT_ID] };

    expect((await ask(`/projects/${PROJECT_ID}/insights`, limited)).status).toBe(200);
    expect((await ask(`/projects/${OTHER_PROJECT_ID}/insights`, limited)).status).toBe(404);
    expect((await ask('/insights', limited)).status).toBe(403);
  });

  test('needs the scope operations:read', async () => {
    const { ask } = setUp();

    expect((await ask('/insights', { scopes: ['projects:read'] })).status).toBe(403);
  });
});
