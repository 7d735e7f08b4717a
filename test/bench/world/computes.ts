/**
 * Says what a list of a project's computes shows. It is invented like the rest of the world: a compute is used every few
 * seconds until its last use, and the service looks at it every `activityLagS` seconds.
 */

import type { RunningCompute } from '../../../shared/records/compute-state.ts';
import { createdS, type Workload, type WorkOperation } from './workload.ts';
import type { World } from './world.ts';

/** Describes the time for which a compute runs. */
interface Use {
  readonly session: number;
  readonly startedS: number;
  /** The suspend begins at this time. It is infinite when the compute runs on. */
  readonly suspendedS: number;
}

const usesOf = new WeakMap<readonly WorkOperation[], readonly Use[]>();

/** Returns the computes that run at this time, as production reads them from the list. Their times are whole seconds. */
export function runningComputesAt(
  workload: Workload,
  project: number,
  atS: number,
): readonly RunningCompute[] {
  const own = workload.operations[project] ?? [];
  return knownUses(own)
    .filter(({ startedS, suspendedS }) => startedS <= atS && atS < suspendedS)
    .map((use) => ({
      id: `ep-bench-${use.session}`,
      lastActiveMs: 1_000 * Math.floor(lastActiveS(use, workload.world, atS)),
      suspendAfterMs: workload.world.suspendAfterS * 1_000,
    }));
}

function knownUses(own: readonly WorkOperation[]): readonly Use[] {
  const known = usesOf.get(own) ?? findUses(own);
  usesOf.set(own, known);
  return known;
}

function findUses(own: readonly WorkOperation[]): readonly Use[] {
  const suspends = new Map(
    own.filter(({ action }) => action === 'suspend_compute').map((each) => [each.session, createdS(each)]),
  );
  return own
    .filter(({ action }) => action === 'start_compute')
    .map(({ session, states }) => ({
      session,
      startedS: states.at(-1)?.atS ?? 0,
      suspendedS: suspends.get(session) ?? Number.POSITIVE_INFINITY,
    }));
}

/** The uses of a compute are up to this many seconds apart, and never half as long as the time-out. */
const USE_GAP_S_MAX = 60;

/** Returns the last use that the service has noticed. Each compute has its own times of looks and its own gap between uses. */
function lastActiveS(
  { session, startedS, suspendedS }: Use,
  { suspendAfterS, activityLagS }: Pick<World, 'suspendAfterS' | 'activityLagS'>,
  atS: number,
): number {
  if (activityLagS === Number.POSITIVE_INFINITY) return startedS;
  const lookedS = atS - ((atS + session * GOLDEN * activityLagS) % Math.max(activityLagS, 1e-3));
  const lastUseS = suspendedS - suspendAfterS;
  if (lookedS >= lastUseS) return lastUseS;
  const gapS = 1 + ((session * PLASTIC) % 1) * Math.min(USE_GAP_S_MAX, suspendAfterS / 2);
  const originS = Number.isFinite(lastUseS) ? lastUseS : startedS;
  return Math.max(startedS, originS - Math.ceil((originS - lookedS) / gapS) * gapS);
}

/** The fractional parts of multiples of these numbers are spread evenly and independently of each other. */
const GOLDEN = 0.618_033_988_75;
const PLASTIC = 0.754_877_666_25;
