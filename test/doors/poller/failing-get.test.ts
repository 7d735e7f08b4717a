/** An operation that cannot be read by itself is asked for as seldom as another one, and its watch ends by its age. */

import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../shared/records/time.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { aBridge, type Bridge, MINUTE_MS, SECOND_MS } from './bridge.ts';
import { anOperationRow, PROJECT_ID, timeOf } from './rows.ts';
import type { Row } from './service.ts';

const random = seededRandom(47);
const between = (low: number, high: number) => low + Math.floor(random.next() * (high - low));

const TROUBLES = {
  'refuses it': { status: 403, body: { message: 'not allowed' } },
  'fails with 500': { status: 500 },
  'fails with 503': { status: 503 },
  'answers nonsense': { status: 200, body: { operation: { id: 'another' } } },
  'hangs up': 'reset',
} as const;
type Trouble = keyof typeof TROUBLES;
const NAMES = Object.keys(TROUBLES) as Trouble[];

/** A read is sent at most this often before a poll gives it up. */
const ATTEMPTS_MAX = 4;

/** Runs a bridge that watches a failed operation which no page shows. The service answers like this when it is read. */
async function aWatchedFailure(trouble: Trouble | undefined): Promise<Bridge> {
  const bridge = aBridge();
  const { service } = bridge;
  service.addProject(PROJECT_ID);
  await bridge.run(MINUTE_MS);
  const row = anOperationRow(1, bridge.nowMs() - 1_000, { status: 'failed', failures_count: 1 });
  service.put(row);
  await bridge.run(MINUTE_MS);
  service.remove(row.id);
  const answer = trouble === undefined ? { status: 200, body: { operation: row } } : TROUBLES[trouble];
  service.dials.answers = ({ path }) => (path.endsWith(row.id) ? answer : undefined);
  return bridge;
}

/** Lets time pass, and returns how often the operation was asked for while the bridge ran after that. */
async function askedAfter(bridge: Bridge, restMs: number, runMs: number): Promise<number> {
  await bridge.rest(restMs);
  const before = bridge.service.sent.length;
  await bridge.run(runMs);
  return bridge.service.sent.slice(before).filter(({ path }) => /operations\/./u.test(path)).length;
}

describe('a failed operation that no page shows', () => {
  test.each(NAMES)('is asked for at a falling rate when the service %s', async (trouble) => {
    const restMs = between(2 * HOUR_MS, 20 * HOUR_MS);
    const usual = await askedAfter(await aWatchedFailure(undefined), restMs, HOUR_MS / 2);
    const asked = await askedAfter(await aWatchedFailure(trouble), restMs, HOUR_MS / 2);
    expect(usual).toBeGreaterThan(0);
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(usual * ATTEMPTS_MAX);
  });

  test('is told of at once when its reading fails once and succeeds after that', async () => {
    const bridge = await aWatchedFailure('fails with 503');
    await bridge.rest(between(25, 50) * HOUR_MS);
    const { dials } = bridge.service;
    const finished = anOperationRow(1, bridge.nowMs() - DAY_MS, {
      status: 'finished',
      failures_count: 1,
      updated_at: timeOf(bridge.nowMs()),
    });
    let askedCount = 0;
    dials.answers = ({ path }) => {
      if (!path.endsWith(finished.id)) return undefined;
      askedCount += 1;
      return askedCount === 1 ? { status: 503 } : { status: 200, body: { operation: finished } };
    };
    await bridge.run(MINUTE_MS);
    expect(bridge.events('Operation State Changed').at(-1)?.detail.status).toBe('finished');
  });

  test.each(NAMES)('is watched no more after thirty days when the service %s', async (trouble) => {
    const bridge = await aWatchedFailure(trouble);
    await askedAfter(bridge, between(30, 90) * DAY_MS, 2 * MINUTE_MS);
    const ends = bridge.events('Operation Watch Ended').map(({ detail }) => detail['reason']);
    expect(ends).toEqual(['not_retried']);
    bridge.restart();
    expect(await askedAfter(bridge, HOUR_MS, MINUTE_MS)).toBe(0);
  });
});

describe('an operation that no page shows and whose reading is never answered', () => {
  /** Two operations run, and no page shows them. The reading of the first is never answered. */
  async function twoUnseen() {
    const bridge = aBridge();
    const { service } = bridge;
    service.addProject(PROJECT_ID);
    await bridge.run(MINUTE_MS);
    const [silent, neighbour] = [1, 2].map((number) => anOperationRow(number, bridge.nowMs() - 1_000)) as [
      Row,
      Row,
    ];
    for (const row of [silent, neighbour]) service.put(row);
    await bridge.run(MINUTE_MS);
    for (const row of [silent, neighbour]) service.remove(row.id);
    const states = new Map([[neighbour.id, neighbour]]);
    service.dials.answers = ({ path }) => {
      if (path.endsWith(silent.id)) return 'never';
      const [, row] = [...states].find(([id]) => path.endsWith(id)) ?? [];
      return row && { status: 200, body: { operation: row } };
    };
    return { bridge, silent, neighbour, states };
  }

  test('does not stop the readings of its neighbours, however short the invocations are', async () => {
    const { bridge, neighbour, states } = await twoUnseen();
    states.set(neighbour.id, { ...neighbour, status: 'finished', updated_at: timeOf(bridge.nowMs()) });
    for (let invocation = 0; invocation < 4; invocation++) {
      await bridge.run(between(15, 25) * SECOND_MS);
    }
    const told = bridge
      .events('Operation State Changed')
      .filter(({ detail }) => detail.operation_id === neighbour.id);
    expect(told.map(({ detail }) => detail.status)).toEqual(['running', 'finished']);
  });

  test('holds the list of its project back for no longer than one attempt', async () => {
    const { bridge } = await twoUnseen();
    const delaysMs: number[] = [];
    for (let number = 3; number < 13; number++) {
      await bridge.run(between(20, 40) * SECOND_MS);
      const row = anOperationRow(number, bridge.nowMs(), { status: 'finished' });
      bridge.service.put(row);
      const createdMs = bridge.nowMs();
      await bridge.run(MINUTE_MS);
      const [event] = bridge
        .events('Operation State Changed')
        .filter(({ detail }) => detail.operation_id === row.id);
      delaysMs.push(event === undefined ? Number.POSITIVE_INFINITY : event.atMs - createdMs);
    }
    expect(Math.max(...delaysMs)).toBeLessThan(20 * SECOND_MS);
  });
});
