import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../shared/runtime/random.ts';
import { aFolder } from '../local/a-folder.ts';
import { readEventLines } from './event-lines.ts';
import { latenessOf, overlapMs } from './lateness.ts';
import { killMoments, parseCrashTestOptions } from './options.ts';
import { type Findings, verdictOf } from './verdict.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);

const anEvent = (detail: object, atMs: number) => ({
  version: '0' as const,
  id: 'x',
  'detail-type': 'Operation State Changed',
  source: 'operations-bridge',
  account: '0',
  time: `${new Date(atMs).toISOString().slice(0, 19)}Z`,
  region: 'r',
  resources: [],
  detail: { operation_id: 'one', status: 'finished', id: 'event', ...detail },
});

const anOperation = (...states: readonly (readonly [number, string])[]) => ({
  project_id: 'p',
  operation_id: 'one',
  action: 'start_compute',
  created_at_ms: NOON_MS,
  states: states.map(([afterMs, status]) => ({ at_ms: NOON_MS + afterMs, status, failures_count: 0 })),
});

const good: Findings = {
  kills: 2,
  owedCount: 5,
  lines: { events: [], tornCount: 0 },
  violations: [],
  lateness: [{ operationId: 'one', delayMs: 70_000, outageMs: 10_000 }],
  latenessMsMax: 60_000,
  outages: [{ fromMs: 0, toMs: 1_000 }],
  unexpectedEnds: [],
  errors: [],
};

describe('the crash test', () => {
  test('draws one moment per kill, in order, within the time, and the same ones for the same seed', () => {
    const options = parseCrashTestOptions(['--minutes', '2', '--kills', '40', '--seed', '3']);
    if (options === undefined) throw new Error('Help was asked for.');
    const moments = killMoments(options);

    expect(moments).toHaveLength(40);
    expect(moments).toEqual(moments.toSorted((one, other) => one - other));
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...moments)).toBeLessThanOrEqual(120_000);
    expect(killMoments(options)).toEqual(moments);
    expect(killMoments({ ...options, seed: 4 })).not.toEqual(moments);
  });

  test('counts time that several outages cover only once', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const dice = seededRandom(seed);
      const draw = () => Math.floor(dice.next() * 50);
      const outages = Array.from({ length: 5 }, () => {
        const fromMs = draw();
        return { fromMs, toMs: fromMs + draw() };
      });
      const window = { fromMs: draw(), toMs: 50 + draw() };
      const isDown = (ms: number) => outages.some(({ fromMs, toMs }) => fromMs <= ms && ms < toMs);
      const instants = Array.from({ length: window.toMs - window.fromMs }, (_, ms) => window.fromMs + ms);

      expect(overlapMs(outages, window), `seed ${seed}`).toBe(instants.filter(isDown).length);
    }
  });

  test('measures from the final state to its first delivery, with the outage in between as a figure of its own', () => {
    const truth = [anOperation([0, 'running'], [5_000, 'finished'])];
    const delivered = [
      anEvent({ status: 'running' }, NOON_MS + 2_000),
      anEvent({}, NOON_MS + 30_000),
      anEvent({}, NOON_MS + 90_000),
    ];
    const outages = [{ fromMs: NOON_MS + 10_000, toMs: NOON_MS + 14_000 }];

    expect(latenessOf(truth, delivered, outages)).toEqual([
      { operationId: 'one', delayMs: 26_000, outageMs: 4_000 },
    ]);
  });

  test('does not measure operations that failed, have not ended, or were never delivered', () => {
    const retried = [anOperation([0, 'failed'], [5_000, 'finished'])];
    const isOpen = [anOperation([0, 'running'])];
    const over = [anOperation([0, 'finished'])];

    expect(latenessOf(retried, [anEvent({}, NOON_MS)], [])).toEqual([]);
    expect(latenessOf(isOpen, [anEvent({}, NOON_MS)], [])).toEqual([]);
    expect(latenessOf(over, [], [])).toEqual([]);
  });

  test('leaves a torn line out and counts it', () => {
    const path = join(aFolder(), 'events.jsonl');
    writeFileSync(path, `${JSON.stringify(anEvent({}, NOON_MS))}\n{"ver`);
    appendFileSync(path, `\n${JSON.stringify(anEvent({}, NOON_MS))}\n`);

    expect(readEventLines(path)).toMatchObject({ events: [{ id: 'x' }, { id: 'x' }], tornCount: 1 });
    expect(readEventLines(join(aFolder(), 'none'))).toEqual({ events: [], tornCount: 0 });
  });

  test('reports that the promise held when nothing is lost, late or broken', () => {
    const { isKept, lines } = verdictOf(good);

    expect(isKept).toBe(true);
    expect(lines).toContain('0 of 1 later than four rounds (60.0 s) plus the outage');
  });

  test.each<readonly [string, Partial<Findings>]>([
    ['something is lost', { violations: [{ rule: 'final', operation_id: 'one', detail: '' }] }],
    ['a sequence has a gap', { violations: [{ rule: 'chain', operation_id: 'one', detail: '' }] }],
    [
      'a final state is later than promised, beside the outage',
      { lateness: [{ operationId: 'one', delayMs: 70_001, outageMs: 10_000 }] },
    ],
    ['a process ended by itself', { unexpectedEnds: [1] }],
    ['a process wrote errors', { errors: ['Error: x'] }],
    ['nothing was owed, so that nothing was compared', { owedCount: 0 }],
    ['no delay was measured', { lateness: [] }],
  ])('reports that the promise was broken when %s', (_what, findings) => {
    expect(verdictOf({ ...good, ...findings }).isKept).toBe(false);
  });
});
