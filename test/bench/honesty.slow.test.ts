import { describe, expect, test } from 'vitest';
import { createDetections } from './bridge/detections.ts';
import { operationIdOf } from './bridge/virtual-upstream.ts';
import { RIVALS } from './rivals/contenders.ts';
import { type IdealRun, runIdealPoller } from './rivals/ideal-poller.ts';
import { clairvoyant, IDLE, roundRobin } from './rivals/policies.ts';
import { drawnWorld, RANGES, worldNamed } from './world/drawn-world.ts';
import { lowerBoundS } from './world/lower-bound.ts';
import { pricedBoundS } from './world/priced-bound.ts';
import { createWorkload, type Workload } from './world/workload.ts';
import { MATCHED, WORLDS, type World } from './world/world.ts';

/**
 * Comes from an independent implementation of the same workload and bound (another language, another generator) with
 * seeds 1 to 3, one day and 700 requests a minute, without commands and in a world whose calls take no time. Seeds of
 * two generators have nothing in common, so means are compared.
 */
const REFERENCE_BOUND_S = (5.349 + 5.3471 + 5.3321) / 3;

const TIMELESS: World = {
  ...MATCHED,
  commandShare: 0,
  delays: { upstreamMsMedian: 0.01, upstreamMsP95: 0.01, tableMs: 0, busMs: 0, processorMs: 0 },
};

const RPM = 700;

function meanS(workload: Workload, run: Partial<IdealRun>): number {
  const detections = createDetections(workload);
  runIdealPoller(workload, detections, {
    policy: IDLE,
    requestsPerMinute: RPM,
    seed: 1,
    recall: 0,
    countFromMs: 0,
    ...run,
  });
  return average(detections.score().delaysS);
}

function average(values: Iterable<number>): number {
  const all = [...values];
  return all.reduce((sum, value) => sum + value, 0) / all.length;
}

describe('the lower bound', () => {
  test('agrees with an independent implementation within two per cent', () => {
    const bounds = [1, 2, 3].map((seed) =>
      lowerBoundS(createWorkload(TIMELESS, 500, seed, { hours: 24 }), RPM / 60),
    );

    expect(Math.abs(average(bounds) / REFERENCE_BOUND_S - 1)).toBeLessThan(0.02);
  });

  const worlds = [...WORLDS, ...[1, 2, 3, 4].map(drawnWorld)];

  test.each(worlds.map((world) => [world.name, world] as const))(
    'is not beaten by any rival without hints in the world %s, and neither is the tighter one',
    (_name, world) => {
      const workload = createWorkload(world, 60, 2, { hours: 2, fromHour: 5 });
      const boundS = lowerBoundS(workload, RPM / 60);

      const tightBoundS = pricedBoundS(workload, RPM / 60);

      expect(tightBoundS).toBeGreaterThanOrEqual(boundS);
      for (const { name, decide } of RIVALS) {
        const policy = decide?.(workload, RPM) ?? IDLE;
        expect([name, meanS(workload, { policy }) > tightBoundS]).toEqual([name, true]);
      }
    },
  );

  test('is not beaten by a round robin that is the best policy there is, and comes close to it', () => {
    // All projects are equal and every burst is one instant, so no order is better than any other one.
    const equal = { ...TIMELESS, zipfExponent: 0, durationFactor: 1e-6, suspendShare: 0, failShare: 0 };
    const workload = createWorkload({ ...equal, branchShare: 0, timelineShare: 0 }, 200, 1, { hours: 6 });
    const roundMs = (200 * 60_000) / RPM;

    const ratio = meanS(workload, { policy: roundRobin(200, roundMs) }) / lowerBoundS(workload, RPM / 60);

    // Polls are not as dense as the rate limit for bursts allows: six requests of a minute are kept for bursts.
    expect(ratio).toBeGreaterThan(0.97);
    expect(ratio).toBeLessThan(1.06);
  });

  test('catches a policy that cheats: one that knows every instant falls below it', () => {
    const workload = createWorkload(MATCHED, 60, 1, { hours: 1, fromHour: 6 });

    expect(meanS(workload, { policy: clairvoyant(workload) })).toBeLessThan(lowerBoundS(workload, RPM / 60));
  });
});

describe('transitions that nobody was notified of at the end', () => {
  const workload = createWorkload(MATCHED, 40, 1, { hours: 2, fromHour: 6 });

  test('count with the time that they have waited', () => {
    const detections = createDetections(workload);
    detections.close();
    const { delaysS, waitingCount, complete } = detections.score();
    const waitedS = workload.transitions.flat().map(({ atS }) => workload.endS - atS);

    expect(waitingCount).toBe(waitedS.length);
    expect([...delaysS]).toEqual(waitedS.toSorted((a, b) => a - b));
    expect(complete).toBe(0);
  });

  test('make a policy worse that reads only half of the projects, however soon it reads these', () => {
    const all = meanS(workload, { policy: roundRobin(40, 4_000) });
    const half = meanS(workload, { policy: roundRobin(20, 2_000) });

    expect(half).toBeGreaterThan(10 * all);
  });

  test('are not counted twice when they are published after the end', () => {
    const detections = createDetections(workload);
    detections.close();
    const before = detections.score().delaysS.length;
    workload.operations.forEach((own, project) => {
      own.forEach((_operation, place) => {
        detections.note(operationIdOf(project, place), 'finished', workload.endS + 9_000);
      });
    });

    expect(detections.score().delaysS).toHaveLength(before);
    expect(detections.score().complete).toBe(1);
  });
});

describe('a world', () => {
  test('that is drawn is the same for the same seed, within the printed ranges, and differs for another seed', () => {
    const drawn = Array.from({ length: 50 }, (_, seed) => drawnWorld(seed));

    expect(worldNamed('drawn-7')).toEqual(drawnWorld(7));
    expect(new Set(drawn.map(({ useSMean }) => useSMean)).size).toBe(50);
    for (const { sessionsPerDay, useSMean } of drawn) {
      expect(sessionsPerDay).toBeGreaterThanOrEqual(RANGES.sessionsPerDay.min);
      expect(sessionsPerDay).toBeLessThanOrEqual(RANGES.sessionsPerDay.max);
      expect(useSMean).toBeLessThanOrEqual(RANGES.useSMean.max);
    }
  });

  test('whose calls take time publishes later by that time', () => {
    const slow = { ...TIMELESS, delays: { ...MATCHED.delays, processorMs: 40 } };
    const span = { hours: 2, fromHour: 6 };
    const policy = () => roundRobin(40, 4_000);

    const quickS = meanS(createWorkload(TIMELESS, 40, 1, span), { policy: policy() });
    const slowS = meanS(createWorkload(slow, 40, 1, span), { policy: policy() });

    // The processor takes 40 ms and may be busy, table and bus 20 ms, and the second half of a call 28 ms in the mean.
    expect(slowS - quickS).toBeGreaterThan(0.08);
    expect(slowS - quickS).toBeLessThan(0.2);
  });

  test('that nobody knows is refused with the names of those that exist', () => {
    expect(() => worldNamed('flat')).toThrow(/no world "flat"; the worlds are matched, 30-minutes/);
  });
});
