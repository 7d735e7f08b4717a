import { describe, expect, test } from 'vitest';
import { runningComputesAt } from './world/computes.ts';
import { createdS, createWorkload } from './world/workload.ts';
import { MATCHED, type World, WRONG_ACTIVITY } from './world/world.ts';

const workloadOf = (world: World) => createWorkload(world, 5, 1, { hours: 2, fromHour: 5 });

/** Returns every compute that runs at one of many instants, with the time of its suspend. */
function shownIn(world: World) {
  const workload = workloadOf(world);
  return Array.from({ length: 400 }, (_, place) => workload.startS - 86_400 + place * 217).flatMap((atS) =>
    workload.operations.flatMap((own, project) =>
      runningComputesAt(workload, project, atS).map((shown) => {
        const ofCompute = own.filter(({ session }) => shown.id === `ep-bench-${session}`);
        const suspend = ofCompute.find(({ action }) => action === 'suspend_compute');
        const start = ofCompute.find(({ action }) => action === 'start_compute');
        const suspendS = suspend === undefined ? Number.NaN : createdS(suspend);
        return {
          atS,
          suspendS,
          startedS: start?.states.at(-1)?.atS ?? 0,
          lastActiveS: (shown.lastActiveMs ?? 0) / 1_000,
        };
      }),
    ),
  );
}

describe('the computes that the benchmark shows', () => {
  test('only computes that have started and are not suspended run', () => {
    const shown = shownIn(MATCHED);
    expect(shown.length).toBeGreaterThan(20);
    for (const { atS, suspendS, startedS } of shown) expect(startedS <= atS && atS < suspendS).toBe(true);
  });

  test('no compute is suspended before its time-out has passed since its last activity', () => {
    for (const { suspendS, lastActiveS } of shownIn(MATCHED))
      expect(suspendS).toBeGreaterThanOrEqual(lastActiveS + MATCHED.suspendAfterS);
  });

  test('the last activity is at most as old as the lag and a gap between two uses say', () => {
    for (const { atS, suspendS, startedS, lastActiveS } of shownIn(MATCHED)) {
      const lastUseS = Math.min(atS, suspendS - MATCHED.suspendAfterS);
      expect(lastActiveS).toBeGreaterThanOrEqual(
        Math.floor(Math.max(startedS, lastUseS - MATCHED.activityLagS - 61)),
      );
      expect(lastActiveS).toBeLessThanOrEqual(atS);
    }
  });

  test('in the world of wrong activity it stays at the start', () => {
    for (const { startedS, lastActiveS } of shownIn(WRONG_ACTIVITY))
      expect(lastActiveS).toBe(Math.floor(startedS));
  });
});
