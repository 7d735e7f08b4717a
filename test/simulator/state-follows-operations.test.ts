/** Checks that the state of a compute is the state that its operations say, at every moment. */

import { describe, expect, test } from 'vitest';
import { branchPhaseAt } from '../../infra/simulator/world/branch.ts';
import { phaseAt } from '../../infra/simulator/world/compute.ts';
import { connect } from '../../infra/simulator/world/compute-commands.ts';
import type { WorldOperation } from '../../infra/simulator/world/project-state.ts';
import {
  type Answer,
  aWorld,
  HOUR_MS,
  START_MS,
  startUpstreamUnderTest,
  type UpstreamUnderTest,
} from './upstream-under-test.ts';

/** A client that polls at this pace stays below 700 requests a minute. */
const STEP_MS = 100;
/** These tests poll an operation this many times at most, because longer retries are not their subject. */
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
 * Polls as a client does, until the last operation of an answer has ended. Returns how each one ended, or an empty
 * list when that takes more than `STEPS_MAX` polls.
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

describe('a connection to a compute that is being suspended', () => {
  test('waits for the suspend, and then starts the compute', async () => {
    const opened = openProject({ trouble: 0 });
    const { upstream, base, endpoint } = opened;
    await awaitEnd(opened, await upstream.send('POST', `${endpoint}/start`));
    const suspended = await upstream.send('POST', `${endpoint}/suspend`);
    const project = upstream.world.project(upstream.world.projects()[0]?.id ?? '');
    if (project === undefined) throw new Error('The world has no compute');

    connect(project, project.main.endpoint_id, upstream.world.nowMs);

    const { operations } = (await upstream.get(`${base}/operations?limit=1`)).body;
    expect(operations).toMatchObject([{ action: 'start_compute', status: 'scheduling' }]);
    await awaitEnd(opened, suspended);
    expect((await upstream.get(endpoint)).body.endpoint).toMatchObject({
      current_state: 'idle',
      pending_state: 'active',
    });
    upstream.passMs(60_000);
    expect((await upstream.get(endpoint)).body.endpoint.current_state).toBe('active');
  });
});

describe('in a world that lives', () => {
  const END_MS = START_MS + 12 * HOUR_MS;
  const world = aWorld({ projectCount: 10, stuckChance: 0.005 });
  world.advanceTo(END_MS);

  /** Finds the operations that end in the state that their action names, in the order in which they finish. */
  const finishes = (operations: readonly WorldOperation[], names: Readonly<Record<string, string>>) =>
    operations
      .map(({ action, states }) => ({ state: names[action], last: states.at(-1) }))
      .filter(({ state, last }) => state !== undefined && last?.status === 'finished')
      .map(({ state, last }) => ({ state, atMs: last?.at_ms ?? 0 }))
      .toSorted((a, b) => a.atMs - b.atMs);

  test('every compute is at every moment what its last finished operation has made of it', () => {
    let comparisons = 0;
    for (const { computes, operations } of world.projects())
      for (const compute of computes) {
        const own = operations.filter(({ endpoint_id }) => endpoint_id === compute.endpoint_id);
        for (const { state, atMs } of finishes(own, { start_compute: 'active', suspend_compute: 'idle' })) {
          if (atMs > END_MS) continue;
          comparisons += 1;
          const before = phaseAt(compute, atMs - 0.01);
          expect([before.pending, phaseAt(compute, atMs).current]).toEqual([state, state]);
        }
      }
    expect(comparisons).toBeGreaterThan(500);
  });

  test('every branch is at every moment what its last finished operation has made of it', () => {
    const names = { create_branch: 'ready', timeline_archive: 'archived', timeline_unarchive: 'ready' };
    const seen = new Set<string>();
    for (const { branches, operations } of world.projects())
      for (const branch of branches.values()) {
        const own = operations.filter(({ branch_id }) => branch_id === branch.id);
        for (const { state = '', atMs } of finishes(own, names)) {
          if (atMs > END_MS) continue;
          seen.add(state);
          const before = branchPhaseAt(branch, atMs - 0.01);
          expect([before.pending, branchPhaseAt(branch, atMs).current]).toEqual([state, state]);
        }
      }
    expect([...seen].toSorted()).toEqual(['archived', 'ready']);
  });
});

/** Sends a command whose operation fails, and returns whether the project is locked while it waits for its retry. */
async function lockOfFailed(action: string, isRetried: boolean): Promise<number> {
  for (let seed = 1; seed <= 1_000; seed++) {
    const opened = openProject({ trouble: 1, seed });
    const { upstream, base, endpoint } = opened;
    const [project] = upstream.world.projects();
    const settle = () => upstream.passMs(120_000);
    settle();
    if (action !== 'start_compute') await upstream.send('POST', `${endpoint}/start`);
    settle();
    if (action === 'start_compute') await upstream.send('POST', `${endpoint}/start`);
    if (action === 'suspend_compute') await upstream.send('POST', `${endpoint}/suspend`);
    if (action === 'apply_config')
      await upstream.send('PATCH', endpoint, { endpoint: { suspend_timeout_seconds: 86_400 } });
    const { action: last, states = [] } = project?.operations.at(-1) ?? {};
    const place = states.findIndex(({ status }) => status === 'failed');
    if (last !== action || place < 0 || place < states.length - 1 !== isRetried) continue;
    upstream.passMs((states[place]?.at_ms ?? 0) + 1 - upstream.world.nowMs);
    return (await upstream.send('PATCH', base, { project: { history_retention_seconds: 7_200 } })).status;
  }
  throw new Error(`No ${action} has failed`);
}

describe.each(['start_compute', 'suspend_compute', 'apply_config'])('a failed %s', (action) => {
  test('locks its project until the retry', async () => expect(await lockOfFailed(action, true)).toBe(423));

  test('locks nothing when it is given up', async () => expect(await lockOfFailed(action, false)).toBe(200));
});
