/**
 * Runs one seed of the wide world: the whole poller, its HTTP client and its bus on a virtual cloud, then the
 * checker.
 */

import type { Rejection } from '../../model/accept.ts';
import { followRun, type StepTrace } from '../accepted.ts';
import type { Violation } from '../check-history.ts';
import type { TruthState } from '../upstream-model.ts';
import { checkAccount, checkKey } from './checker/check-account.ts';
import { checkBound } from './checker/check-bound.ts';
import { checkCommands } from './checker/check-commands.ts';
import { checkComputes } from './checker/check-computes.ts';
import { checkCopies } from './checker/check-copies.ts';
import { checkDelays } from './checker/check-delays.ts';
import { checkDerivedEvents } from './checker/check-derived-events.ts';
import { checkFeed } from './checker/check-feed.ts';
import { checkHealth } from './checker/check-health.ts';
import { checkInsights } from './checker/check-insights.ts';
import { checkLiveness } from './checker/check-liveness.ts';
import { checkMoved } from './checker/check-moved.ts';
import { checkOperations } from './checker/check-operations.ts';
import { checkProjects } from './checker/check-projects.ts';
import { checkRate } from './checker/check-rate.ts';
import { checkRefusals } from './checker/check-refusals.ts';
import { checkRestored } from './checker/check-restored.ts';
import { checkStalls } from './checker/check-stalls.ts';
import { checkTelemetry } from './checker/check-telemetry.ts';
import { checkTurns } from './checker/check-turns.ts';
import { checkUsage } from './checker/check-usage.ts';
import { checkWatches } from './checker/check-watches.ts';
import { type Check, evidenceOf } from './checker/evidence.ts';
import { runSchedule } from './cloud/lambda.ts';
import type { WideFault } from './faults.ts';
import { sendCommands } from './people/commander.ts';
import { readFeed } from './people/feed-reader.ts';
import { watchHealth } from './people/health-watcher.ts';
import { operate } from './people/operator.ts';
import { DAY_MS, MINUTE_MS, type WidePlan } from './plan.ts';
import { ACCOUNT_ID, type Stage, setTheWideStage } from './stage.ts';
import type { Trace } from './world.ts';

export interface WideResult {
  readonly plan: WidePlan;
  readonly violations: readonly Violation[];
  /** The protocol's model does not allow these steps. */
  readonly rejections: readonly Rejection[];
  readonly fired: ReadonlyMap<WideFault, number>;
  readonly eventCount: number;
  readonly requestCount: number;
}

const CHECKS: readonly Check[] = [
  checkOperations,
  checkRestored,
  checkCopies,
  checkRefusals,
  checkWatches,
  checkUsage,
  checkDerivedEvents,
  checkStalls,
  checkInsights,
  checkCommands,
  checkProjects,
  checkMoved,
  checkAccount,
  checkKey,
  checkRate,
  checkComputes,
  checkLiveness,
  checkTurns,
  checkHealth,
  checkDelays,
  checkTelemetry,
  checkFeed,
];

/** Where a bound leaves a project unread, the other rules about projects and their operations would say just that. */
const CHECKS_WITHIN_BOUND: readonly Check[] = [checkBound, checkCopies, checkRate, checkTelemetry, checkFeed];

export async function simulateWide(
  seed: number,
  {
    trace,
    stepTrace,
    change,
  }: {
    readonly trace?: Trace | undefined;
    readonly stepTrace?: StepTrace | undefined;
    readonly change?: (plan: WidePlan) => WidePlan;
  } = {},
): Promise<WideResult> {
  const stage = setTheWideStage(seed, trace, change);
  const { world, timeline } = stage;
  const { plan, scheduler } = world;
  const { overlapMs } = plan.walkLimits;
  const following = {
    scheduler,
    accountId: ACCOUNT_ID,
    overlapMs,
    backfill: plan.backfill,
    trace: stepTrace,
  };
  const { listener, rejections } = followRun(following);
  world.listener = listener;
  void runSchedule(stage);
  void sendCommands(stage);
  void readFeed(stage);
  void watchHealth(stage);
  operate(stage);
  for (const phase of timeline.phases) {
    world.isChaotic = phase.isChaotic;
    world.note('world', phase.name);
    await world.scheduler.runUntil(phase.toMs);
  }
  countWhatWasDrawn(stage);
  const evidence = evidenceOf(stage);
  const checks = world.plan.projectsMax === undefined ? CHECKS : CHECKS_WITHIN_BOUND;
  const violations = checks.flatMap((check) => check(evidence));
  return {
    plan: world.plan,
    violations,
    rejections,
    fired: world.fired,
    eventCount: stage.bus.delivered.length,
    requestCount: stage.upstream.log.length,
  };
}

const WEEK_MS = 7 * DAY_MS;

/** Counts faults that are drawn with the plan and the operations and not with the calls. */
function countWhatWasDrawn({ world, upstream }: Stage): void {
  const { plan } = world;
  if (plan.projectsMax !== undefined) world.fire('project_bound_met');
  if (plan.faults.operation_list_long > 0) world.fire('operation_list_long');
  if (plan.gapMs >= WEEK_MS) world.fire(plan.isAsleep ? 'asleep_for_weeks' : 'quiet_for_weeks');
  for (const { operations } of upstream.truth.projects) {
    operations.forEach((op, place) => {
      if (op.visibleAtMs > op.createdUs / 1_000 && op.shiftedMs === undefined)
        world.fire('operation_row_late');
      if (op.createdUs === operations[place - 1]?.createdUs) world.fire('operation_row_tied');
      if (isStuck(op.states)) world.fire('operation_stuck');
      if ((op.shiftedMs ?? 0) > 0) world.fire('operation_row_future');
      if ((op.shiftedMs ?? 0) < 0) world.fire('operation_row_past');
      if (Number.isFinite(op.vanishesAtMs)) world.fire('operation_vanished');
      if (op.states.some(({ atMs, updatedAtMs }) => updatedAtMs < atMs))
        world.fire('operation_updated_at_wrong');
      if (op.states.slice(0, -1).some(({ status }) => ENDS.has(status))) world.fire('operation_reopened');
    });
  }
}

/** Returns true when the operation stayed in one state for minutes and then went on. */
function isStuck(states: readonly TruthState[]): boolean {
  return states.some((state, place) => state.atMs - (states[place - 1]?.atMs ?? state.atMs) >= MINUTE_MS);
}

const ENDS: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);
