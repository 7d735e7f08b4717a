/** Lists what is compared: ways to decide the next request, and what may happen to the bridge meanwhile. */

import type { IntervalMsMin } from '../../../functions/poller/planner/pace.ts';
import type { BridgeScenario } from '../bridge/virtual-bridge.ts';
import type { Workload } from '../world/workload.ts';
import { LIST_ROWS } from './ideal-poller.ts';
import {
  clairvoyant,
  IDLE,
  listThenMoved,
  oracleRoot,
  type Policy,
  roundRobin,
  strictlyHot,
} from './policies.ts';

/**
 * The whole engine is all of the poller of production. The ideal engine has the same limiter and the same delays, but
 * every poll shows every transition, and a run costs a tenth.
 */
export const ENGINES = ['whole', 'ideal'] as const;

export type Engine = (typeof ENGINES)[number];

export interface Contender {
  readonly name: string;
  /** This engine is taken unless another one is asked for. */
  readonly engine: Engine;
  /** This share of the transitions changes a field of the project list. */
  readonly recall: number;
  readonly settings: Pick<BridgeScenario, 'pollIntervalMs' | 'hasHints'> & Partial<BridgeScenario>;
  /** Replaces the planner of production. */
  readonly decide?: Decide;
  /**
   * The planner learns for this many hours before the measurement begins. It needs them to find out that a field of
   * the list never changes.
   */
  readonly learningHours?: number;
}

type Decide = (workload: Workload, requestsPerMinute: number) => Policy;

const MINUTE_MS = 60_000;

const planner = (name: string, pollIntervalMs: IntervalMsMin, recall?: number): Contender => ({
  name,
  engine: 'whole',
  recall: recall ?? 0,
  ...(recall === 0 && { learningHours: 1 }),
  settings: { pollIntervalMs, hasHints: recall !== undefined },
});

/** The first one and those with hints have the default settings, and the others have another poll interval. */
export const PLANNERS: readonly Contender[] = [
  planner('planner', 'by_size'),
  planner('planner-5s', 5_000),
  planner('planner-1s', 1_000),
  planner('planner-0.5s', 500),
  planner('planner-hint-0', 'by_size', 0),
  planner('planner-hint-0.7', 'by_size', 0.7),
  planner('planner-hint-1', 'by_size', 1),
];

const everyMinute: Decide = ({ projectCount }) => roundRobin(projectCount, MINUTE_MS);

const allInTurn: Decide = ({ projectCount }, rpm) =>
  roundRobin(projectCount, (projectCount / rpm) * MINUTE_MS);

const movedFirst =
  (passMs: number, rest: Decide): Decide =>
  (workload, rpm) =>
    listThenMoved(workload.projectCount, LIST_ROWS, passMs, rest(workload, rpm));

const USUAL = { pollIntervalMs: 1_000, hasHints: false };

const rival = (name: string, recall: number, decide: Decide): Contender => ({
  name,
  engine: 'ideal',
  recall,
  settings: USUAL,
  decide,
});

/** The list shows nothing to these. */
export const RIVALS: readonly Contender[] = [
  rival('timer-60s', 0, everyMinute),
  rival('round-robin', 0, allInTurn),
  rival('hot-5s-strict', 0, ({ projectCount }) => strictlyHot(projectCount)),
  rival('oracle-root', 0, ({ rates }, rpm) => oracleRoot(rates, rpm)),
];

/** The list shows transitions to these, and they poll what has moved. */
export const HINTED_RIVALS: readonly Contender[] = [
  rival(
    'list-always-hint-1',
    1,
    movedFirst(0, () => IDLE),
  ),
  rival('list-1s-hint-1', 1, movedFirst(1_000, allInTurn)),
  rival('list-1s-hint-0.7', 0.7, movedFirst(1_000, allInTurn)),
];

const scenario = (name: string, recall: number, settings: Partial<BridgeScenario>): Contender => ({
  name,
  engine: 'whole',
  recall,
  settings: { ...USUAL, ...settings },
});

/** In these scenarios something goes wrong, invocations end early, or the future is known. */
export const SCENARIOS: readonly Contender[] = [
  scenario('killed-10min', 0, { killEveryMs: 10 * MINUTE_MS }),
  scenario('faults-1%', 0, { faultShare: 0.01 }),
  scenario('killed-10min-faults-1%', 0, { killEveryMs: 10 * MINUTE_MS, faultShare: 0.01 }),
  scenario('second-user-30%', 0, { otherShare: 0.3 }),
  scenario('linger-0s', 0, { lingerMs: 0 }),
  scenario('linger-15s', 0, { lingerMs: 15_000 }),
  scenario('linger-0s-hint-1', 1, { hasHints: true, lingerMs: 0 }),
  scenario('linger-15s-hint-1', 1, { hasHints: true, lingerMs: 15_000 }),
  { ...scenario('clairvoyant', 0, {}), decide: clairvoyant },
];

export const CONTENDERS: readonly Contender[] = [...PLANNERS, ...RIVALS, ...HINTED_RIVALS, ...SCENARIOS];
