/** Draws the whole life of one operation: its statuses and when each begins. */

import type { Random } from '../../../../shared/runtime/random.ts';
import type { GroundTruthState } from '../state/ground-truth.ts';

export interface OperationKind {
  readonly action: string;
  /**
   * An operation runs for this median time in seconds, of a lognormal distribution with this sigma. The medians are
   * from public payloads.
   */
  readonly medianSeconds: number;
  readonly sigma: number;
  readonly hasEndpoint: boolean;
}

const kind = (action: string, medianSeconds: number, sigma: number, hasEndpoint = true): OperationKind => ({
  action,
  medianSeconds,
  sigma,
  hasEndpoint,
});

export const kinds = {
  create_timeline: kind('create_timeline', 3, 0.5, false),
  create_branch: kind('create_branch', 2, 0.9, false),
  start_compute: kind('start_compute', 0.8, 0.6),
  suspend_compute: kind('suspend_compute', 2, 0.7),
  apply_config: kind('apply_config', 3, 1),
  check_availability: kind('check_availability', 4, 0.3),
  timeline_archive: kind('timeline_archive', 45, 0.9, false),
  timeline_unarchive: kind('timeline_unarchive', 30, 0.9, false),
  apply_storage_config: kind('apply_storage_config', 1, 0.5, false),
  tenant_detach: kind('tenant_detach', 20, 0.9, false),
  tenant_reattach: kind('tenant_reattach', 20, 0.9, false),
  delete_tenant: kind('delete_tenant', 3, 0.7, false),
  tenant_attach: kind('tenant_attach', 45, 0.9, false),
  /** The public contract has this action and the specification's table lacks it: actions are an open set. */
  delete_timeline: kind('delete_timeline', 2, 0.7, false),
} as const;

/** These shares of operations do not simply finish. The specification shows the statuses and not their frequency. */
const SHARES = { fails: 0.03, givesUp: 0.2, cancels: 0.015, skips: 0.01, errors: 0.003 };

const SCHEDULING = { medianSeconds: 0.15, sigma: 0.5 };
const RETRY = { medianSeconds: 60, sigma: 1.2 };
const ATTEMPTS_MAX = 6;

export interface LifeOptions {
  readonly createdAtMs: number;
  /** An operation waits for the end of the one before it in its chain. */
  readonly runsFromMs: number;
  /** The first operation of a chain usually starts as `running`. */
  readonly startsRunning: boolean;
  /** The operation before it came to nothing, so it has nothing to do: "bypassed without executing". */
  readonly isBypassed: boolean;
  /** This says how often operations end badly: 1 is as often as in a real service, 0 is never. */
  readonly trouble?: number;
}

/** Returns the states in the order of time; the last one is final. */
export function drawLife(
  operation: OperationKind,
  { createdAtMs, runsFromMs, startsRunning, isBypassed, trouble = 1 }: LifeOptions,
  random: Random,
): readonly GroundTruthState[] {
  const states: GroundTruthState[] = [];
  let failures = 0;
  const enter = (at_ms: number, status: string) => states.push({ at_ms, status, failures_count: failures });

  enter(createdAtMs, startsRunning ? 'running' : 'scheduling');
  if (!startsRunning && (isBypassed || random.next() < SHARES.skips * trouble)) {
    enter(runsFromMs + drawMs(SCHEDULING, random), 'skipped');
    return states;
  }
  let atMs = startsRunning ? createdAtMs : runsFromMs + drawMs(SCHEDULING, random);
  if (!startsRunning) enter(atMs, 'running');
  for (let attempt = 1; ; attempt++) {
    atMs += drawMs(operation, random);
    const end = drawEnd(attempt, random, trouble);
    if (end === 'cancelling') {
      enter(atMs, 'cancelling');
      enter(atMs + drawMs(SCHEDULING, random) * 5, 'cancelled');
      return states;
    }
    if (end !== 'failed') {
      enter(atMs, end);
      return states;
    }
    failures += 1;
    enter(atMs, 'failed');
    if (attempt === ATTEMPTS_MAX || random.next() < SHARES.givesUp) return states;
    atMs += drawMs(RETRY, random);
    enter(atMs, 'running');
  }
}

/** An operation that has failed once fails again with a chance of 0.4, which is far above that of a first attempt. */
function drawEnd(
  attempt: number,
  random: Random,
  trouble: number,
): 'failed' | 'cancelling' | 'error' | 'finished' {
  // With little trouble, most dice fall beyond all shares.
  const dice = random.next() / trouble;
  const fails = attempt === 1 ? SHARES.fails : 0.4;
  if (dice < fails) return 'failed';
  if (dice < fails + SHARES.cancels) return 'cancelling';
  return dice < fails + SHARES.cancels + SHARES.errors ? 'error' : 'finished';
}

export function drawMs(
  { medianSeconds, sigma }: { medianSeconds: number; sigma: number },
  random: Random,
): number {
  return medianSeconds * 1_000 * Math.exp(sigma * drawNormal(random));
}

/** Draws an exponential waiting time in milliseconds. */
export function drawWaitMs(meanMs: number, random: Random): number {
  const dice = random.next();
  // Without this, an infinite mean times a logarithm of zero would be no number.
  return meanMs === Number.POSITIVE_INFINITY ? meanMs : -meanMs * Math.log(1 - dice);
}

/** Draws by the Box-Muller method. */
function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
