/** Lists what is compared: ways to decide the next request, and what may happen to the bridge meanwhile. */

import { clairvoyant, oracleRoot, type Policy, roundRobin, strictlyHot } from './policies.ts';
import type { BridgeScenario } from './virtual-bridge.ts';
import type { Workload } from './world/workload.ts';

export interface Contender {
  readonly name: string;
  /**
   * The planner learns for this many hours before the measurement begins. It needs them to find out that a field of
   * the list never changes.
   */
  readonly learningHours?: number;
  /** This share of the transitions changes a field of the project list. */
  readonly recall: number;
  /** Replaces the planner of production. */
  readonly decide?: (workload: Workload, requestsPerMinute: number) => Policy;
  readonly bridge?: Partial<BridgeScenario>;
}

const MINUTE_MS = 60_000;

const planner = (pollIntervalMs: number, hasHints: boolean): Pick<Contender, 'bridge'> => ({
  bridge: { pollIntervalMs, hasHints },
});

export const contenders: readonly Contender[] = [
  {
    name: 'timer-60s',
    recall: 0,
    decide: ({ projectCount }) => roundRobin(projectCount, MINUTE_MS),
  },
  {
    name: 'round-robin',
    recall: 0,
    decide: ({ projectCount }, rpm) => roundRobin(projectCount, (projectCount / rpm) * MINUTE_MS),
  },
  { name: 'hot-5s-strict', recall: 0, decide: ({ projectCount }) => strictlyHot(projectCount) },
  { name: 'oracle-root', recall: 0, decide: ({ rates }, rpm) => oracleRoot(rates, rpm) },
  { name: 'clairvoyant', recall: 0, decide: clairvoyant },
  { name: 'planner-5s', recall: 0, ...planner(5_000, false) },
  { name: 'planner-1s', recall: 0, ...planner(1_000, false) },
  { name: 'planner-0.5s', recall: 0, ...planner(500, false) },
  { name: 'planner-hint-0', recall: 0, learningHours: 1, ...planner(1_000, true) },
  { name: 'planner-hint-0.7', recall: 0.7, ...planner(1_000, true) },
  { name: 'planner-hint-1', recall: 1, ...planner(1_000, true) },
];

const usual = { pollIntervalMs: 1_000, hasHints: false };

/** In these scenarios something goes wrong, or invocations end early. */
export const scenarios: readonly Contender[] = [
  { name: 'killed-10min', recall: 0, bridge: { ...usual, killEveryMs: 10 * MINUTE_MS } },
  { name: 'faults-1%', recall: 0, bridge: { ...usual, faultShare: 0.01 } },
  { name: 'second-user-30%', recall: 0, bridge: { ...usual, otherShare: 0.3 } },
  { name: 'linger-0s', recall: 0, bridge: { ...usual, lingerMs: 0 } },
  { name: 'linger-15s', recall: 0, bridge: { ...usual, lingerMs: 15_000 } },
  { name: 'linger-0s-hint-1', recall: 1, bridge: { ...usual, hasHints: true, lingerMs: 0 } },
  { name: 'linger-15s-hint-1', recall: 1, bridge: { ...usual, hasHints: true, lingerMs: 15_000 } },
];
