/** Checks that the state of a compute is the state that its operations say, at every moment. */

import { describe, expect, test } from 'vitest';
import {
  type Answer,
  aWorld,
  startUpstreamUnderTest,
  type UpstreamUnderTest,
} from './upstream-under-test.ts';

/** A client that polls at this pace stays below 700 requests a minute. */
const STEP_MS = 100;
/** An operation that is retried for longer than this is not what these tests are about. */
const STEPS_MAX = 300;

/** Nothing happens by itself in these worlds, and a restart is the only command. */
const quiet = { projectCount: 1, historyMs: 1_000, sessionsPerHour: 0 };

function openProject(options: { readonly trouble: number; readonly seed?: number }) {
  const upstream = startUpstreamUnderTest(aWorld({ ...quiet, ...options }));
  const [project] = upstream.world.projects();
  const [compute] = project?.computes ?? [];
  if (project === undefined || compute === undefined) throw new Error('The world has no compute');
  const base = `/projects/${project.id}`;
  const endpoint = `${base}/endpoints/${compute.endpoint_id}`;
  return { upstream, base, endpoint };
}

const statusOf = async ({ get }: UpstreamUnderTest, path: string): Promise<string> =>
  (await get(path)).body.operation.status;

/**
 * Polls as a client does, until the last operation of an answer has ended. Returns how each one ended, and nothing
 * when they take too long.
 */
async function awaitEnd(
  { upstream, base }: ReturnType<typeof openProject>,
  { status, body }: Answer,
): Promise<readonly string[]> {
  expect(status).toBe(200);
  const paths = body.operations.map(({ id }: { id: string }) => `${base}/operations/${id}`);
  for (let step = 0; step < STEPS_MAX; step++) {
    const last = await statusOf(upstream, paths.at(-1) ?? '');
    if (['finished', 'cancelled', 'skipped', 'error'].includes(last))
      return Promise.all(paths.map((path: string) => statusOf(upstream, path)));
    upstream.passMs(STEP_MS);
  }
  return [];
}

describe('a compute', () => {
  test('is active at the moment in which its start_compute is finished, and can be restarted', async () => {
    const opened = openProject({ trouble: 0 });
    const { upstream, endpoint } = opened;

    await awaitEnd(opened, await upstream.send('POST', `${endpoint}/start`));

    expect((await upstream.get(endpoint)).body.endpoint.current_state).toBe('active');
    expect((await upstream.send('POST', `${endpoint}/restart`)).status).toBe(200);
  });

  test('is idle at the moment in which its suspend_compute is finished, and cannot be restarted', async () => {
    const opened = openProject({ trouble: 0 });
    const { upstream, endpoint } = opened;
    await awaitEnd(opened, await upstream.send('POST', `${endpoint}/start`));

    await awaitEnd(opened, await upstream.send('POST', `${endpoint}/suspend`));

    expect((await upstream.get(endpoint)).body.endpoint.current_state).toBe('idle');
    expect((await upstream.send('POST', `${endpoint}/restart`)).status).toBe(400);
  });

  test('ends a restart in the state that the last operation which did its work has left', async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 300; seed++) {
      const opened = openProject({ trouble: 1, seed });
      const { upstream, endpoint } = opened;
      const [start] = await awaitEnd(opened, await upstream.send('POST', `${endpoint}/start`));
      if (start !== 'finished') continue;
      const ends = await awaitEnd(opened, await upstream.send('POST', `${endpoint}/restart`));
      if (ends.length === 0) continue;
      const [suspended, started] = ends;
      const expected = suspended === 'finished' && started !== 'finished' ? 'idle' : 'active';

      const shown = (await upstream.get(endpoint)).body.endpoint;

      expect([seed, ...ends, shown.current_state]).toEqual([seed, ...ends, expected]);
      expect(shown).not.toHaveProperty('pending_state');
      seen.add(ends.join(', '));
    }
    expect([...seen]).toEqual(expect.arrayContaining(['finished, finished', 'finished, cancelled']));
  });
});
