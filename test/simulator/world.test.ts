import { assert, integer, property, uniqueArray } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GroundTruthOperation } from '../../infra/simulator/world/project-state.ts';
import { aLongLivedWorld, aWorld, HOUR_MS, START_MS } from './upstream-under-test.ts';

const MINUTE_MS = 60_000;

const longLived = aLongLivedWorld();
const truth = longLived.groundTruth();
const operations = longLived.projects().flatMap((project) => project.operations);

describe('the same seed gives the same history', () => {
  test('for any steps in which time advances', () => {
    const whole = aWorld({ startAtMs: START_MS });
    whole.advanceTo(START_MS + 40 * MINUTE_MS);
    const expected = JSON.stringify(whole.groundTruth());

    const stepsMs = uniqueArray(integer({ min: 1, max: 40 * MINUTE_MS }), { maxLength: 20 });
    assert(
      property(stepsMs, (steps) => {
        const world = aWorld({ startAtMs: START_MS });
        for (const step of steps.toSorted((a, b) => a - b)) world.advanceTo(START_MS + step);
        world.advanceTo(START_MS + 40 * MINUTE_MS);
        return JSON.stringify(world.groundTruth()) === expected;
      }),
      { numRuns: 25, seed: 1 },
    );
  });

  test('and each moment shows its whole past', () => {
    const later = aWorld({ startAtMs: START_MS });
    later.advanceTo(START_MS + 4 * HOUR_MS);
    const world = aWorld({ startAtMs: START_MS });
    for (let atMs = START_MS; atMs < START_MS + 3 * HOUR_MS; atMs += 2 * MINUTE_MS) {
      world.advanceTo(atMs);
      const past = later.groundTruth().filter(({ created_at_ms }) => created_at_ms <= atMs);
      expect(idsOf(world.groundTruth())).toEqual(idsOf(past));
      expect(statesUntil(world.groundTruth(), atMs)).toEqual(statesUntil(past, atMs));
    }
  });

  test('and another seed gives another history', () => {
    expect(aWorld({ seed: 8 }).groundTruth()).not.toEqual(aWorld({ seed: 7 }).groundTruth());
  });

  test('and time never goes back', () => {
    const world = aWorld();
    const before = world.groundTruth();
    world.advanceTo(START_MS - HOUR_MS);

    expect(world.nowMs).toBe(START_MS);
    expect(world.groundTruth()).toEqual(before);
  });
});

describe('three days of 25 projects', () => {
  test('take less than five seconds of processor time', () => {
    const before = process.cpuUsage();

    aLongLivedWorld();

    // The limit is on processor time and not on elapsed time, because other work on a busy machine adds only to the
    // latter. Half a second is usual.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000_000).toBeLessThan(5);
  });

  test('contain every status and every transition between them', () => {
    const transitions = new Set(
      truth.flatMap(({ states }) =>
        states.map(({ status }, place) => `${states[place - 1]?.status ?? 'new'} -> ${status}`),
      ),
    );

    expect([...transitions].toSorted()).toEqual([
      'cancelling -> cancelled',
      'failed -> running',
      'new -> running',
      'new -> scheduling',
      'running -> cancelling',
      'running -> error',
      'running -> failed',
      'running -> finished',
      'scheduling -> running',
      'scheduling -> skipped',
    ]);
  });

  test('contain every action that is simulated', () => {
    expect([...new Set(truth.map(({ action }) => action))].toSorted()).toEqual([
      'apply_config',
      'check_availability',
      'create_branch',
      'create_timeline',
      'delete_timeline',
      'start_compute',
      'suspend_compute',
      'tenant_attach',
      'timeline_archive',
      'timeline_unarchive',
    ]);
  });

  test('contain two to four failing operations in a hundred, some of them for good and some repeatedly', () => {
    const failing = truth.filter(({ states }) => states.some(({ status }) => status === 'failed'));
    const failuresMax = Math.max(...failing.map(({ states }) => states.at(-1)?.failures_count ?? 0));

    expect(failing.length / truth.length).toBeGreaterThan(0.02);
    expect(failing.length / truth.length).toBeLessThan(0.04);
    expect(failing.some(({ states }) => states.at(-1)?.status === 'failed')).toBe(true);
    expect(failing.some(({ states }) => states.at(-1)?.status === 'finished')).toBe(true);
    expect(failuresMax).toBeGreaterThan(3);
  });

  test('begin with the requested number of projects', () => {
    expect(aWorld({ projectCount: 25 }).projects()).toHaveLength(25);
  });

  test('contain new projects, each of which begins with create_timeline and start_compute', () => {
    const born = longLived.projects().filter(({ created_at_ms }) => created_at_ms > START_MS);

    expect(born.length).toBeGreaterThan(50);
    for (const project of born)
      expect(project.operations.slice(0, 2).map(({ action }) => action)).toEqual([
        'create_timeline',
        'start_compute',
      ]);
  });

  test('are busier in some projects than in others', () => {
    const counts = longLived.projects().map((project) => project.operations.length);

    expect(Math.max(...counts)).toBeGreaterThan(5 * Math.min(...counts.filter((count) => count > 100)));
  });
});

describe('the life of an operation', () => {
  test('goes forward in time, and its failures are counted as they happen', () => {
    const wrong = truth.filter(({ states }) => {
      let failures = 0;
      return states.some(({ at_ms, status, failures_count }, place) => {
        if (status === 'failed') failures += 1;
        return failures_count !== failures || at_ms < (states[place - 1]?.at_ms ?? 0);
      });
    });

    expect(wrong).toEqual([]);
  });

  test('starts as scheduling and runs when the operation before it in the chain has ended', () => {
    const chains = chainsOf('create_branch', 'start_compute');
    const runs = chains.map(([first, second]) => ({
      ended: first.states.at(-1),
      began: second.states[0]?.status,
      ran: second.states.find(({ status }) => status === 'running'),
    }));

    expect(runs.length).toBeGreaterThan(500);
    expect(new Set(runs.map(({ began }) => began))).toEqual(new Set(['scheduling']));
    for (const { ended, ran } of runs)
      if (ran !== undefined) expect(ran.at_ms).toBeGreaterThan(ended?.at_ms ?? Number.POSITIVE_INFINITY);
  });

  test('ends as skipped when the operation before it in the chain was cancelled', () => {
    const orphans = chainsOf('create_branch', 'start_compute').filter(
      ([first]) => first.states.at(-1)?.status === 'cancelled',
    );

    expect(orphans.length).toBeGreaterThan(3);
    expect(new Set(orphans.map(([, second]) => second.states.at(-1)?.status))).toEqual(new Set(['skipped']));
  });

  test('suspends a started compute after five minutes without activity, until a suspend finishes', () => {
    const byEndpoint = Map.groupBy(
      operations.filter(({ action }) => /^(start|suspend)_compute$/.test(action)),
      ({ endpoint_id }) => endpoint_id,
    );
    let suspendCount = 0;
    for (const [, list] of byEndpoint) {
      list.forEach((op, place) => {
        if (op.action !== 'suspend_compute') return;
        suspendCount += 1;
        const before = list[place - 1];
        const isRepeated =
          before?.action === 'suspend_compute' && before.states.at(-1)?.status !== 'finished';
        expect(isRepeated || before?.action === 'start_compute').toBe(true);
        expect(op.created_us / 1_000 - (before?.states.at(-1)?.at_ms ?? 0)).toBeGreaterThan(5 * MINUTE_MS);
      });
    }
    expect(suspendCount).toBeGreaterThan(1_000);
  });

  test('checks availability every two to four hours', () => {
    for (const project of longLived.projects()) {
      const checks = project.operations.filter(({ action }) => action === 'check_availability');
      checks.slice(1).forEach((check, place) => {
        const gapMs = (check.created_us - (checks[place]?.created_us ?? 0)) / 1_000;
        expect(gapMs).toBeGreaterThanOrEqual(2 * HOUR_MS - 1);
        expect(gapMs).toBeLessThanOrEqual(4 * HOUR_MS + 1);
      });
    }
  });

  test('has ids in the forms of the service', () => {
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
    for (const { id, project_id, branch_id, endpoint_id } of operations.slice(0, 1_000)) {
      expect(id).toMatch(uuid);
      expect(project_id).toMatch(/^[a-z]+-[a-z]+-\d{8}$/);
      expect(branch_id).toMatch(/^br-[a-z]+-[a-z]+-[a-z0-9]{8}$/);
      if (endpoint_id !== undefined) expect(endpoint_id).toMatch(/^ep-[a-z]+-[a-z]+-[a-z0-9]{8}$/);
    }
  });
});

describe('an option of the world', () => {
  const plain = aWorld().groundTruth();

  test('lets operations of a project share a microsecond, which they never do without it', () => {
    expect(tieCount(operations)).toBe(0);
    const tied = aWorld({ tieChance: 0.5 });
    expect(tieCount(tied.projects().flatMap((project) => project.operations))).toBeGreaterThan(5);
  });

  test('leaves some operations running and changes nothing else', () => {
    const odd = aWorld({ stuckChance: 0.1 }).groundTruth();
    const changed = odd.filter((op, place) => JSON.stringify(op) !== JSON.stringify(plain[place]));

    expect(odd.map(({ operation_id }) => operation_id)).toEqual(
      plain.map(({ operation_id }) => operation_id),
    );
    expect(changed.length).toBeGreaterThan(5);
    expect(new Set(changed.map(({ states }) => states.at(-1)?.status))).toEqual(new Set(['running']));
  });
});

function idsOf(list: readonly GroundTruthOperation[]): readonly string[] {
  return list.map(({ operation_id }) => operation_id);
}

function statesUntil(list: readonly GroundTruthOperation[], atMs: number): readonly string[] {
  return list.map(({ states }) =>
    states
      .filter(({ at_ms }) => at_ms <= atMs)
      .map(({ status }) => status)
      .join(),
  );
}

function tieCount(list: typeof operations): number {
  return list.length - new Set(list.map((op) => `${op.project_id} ${op.created_us}`)).size;
}

/** Finds pairs of operations that one request created: the two are neighbours on one branch. */
function chainsOf(firstAction: string, secondAction: string): [GroundTruthOperation, GroundTruthOperation][] {
  const byId = new Map(truth.map((op) => [op.operation_id, op]));
  return operations.flatMap((op, place) => {
    if (op.action !== firstAction) return [];
    const nearby = operations.slice(place + 1, place + 4);
    const next = nearby.find((other) => other.branch_id === op.branch_id && other.action === secondAction);
    const first = byId.get(op.id);
    const second = byId.get(next?.id ?? '');
    return first && second ? [[first, second] as [GroundTruthOperation, GroundTruthOperation]] : [];
  });
}
