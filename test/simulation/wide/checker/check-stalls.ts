/**
 * Checks Operation Stalled: the operation was open for as long as the event says, each threshold is published once, it is
 * one of the configuration or rests on what operations really took, and an operation that stays open for good has one.
 */

import type { Violation } from '../../check-history.ts';
import { stateAt } from '../../upstream-model.ts';
import { MINUTE_MS, type WidePlan } from '../plan.ts';
import { calmEndMs } from '../timeline.ts';
import { isOver, lastStateOf, type WideOperation } from '../upstream/truth.ts';
import { isHidden, LEFT_ALONE_MS_MAX, turnMs } from './check-liveness.ts';
import { expectationsOf } from './check-operations.ts';
import type { Evidence, Told, ToldEvent } from './evidence.ts';

/** A poll publishes what it has read, and a poll of many pages takes this long. */
const READING_MS_MAX = MINUTE_MS;

export function checkStalls(evidence: Evidence): readonly Violation[] {
  const { stage, events } = evidence;
  const stalls = events.filter(({ detailType }) => detailType === 'Operation Stalled');
  return [
    ...stalls.flatMap((told) => lies(evidence, told)),
    ...(stage.restores.length > 0 ? [] : repeated(stalls)),
    ...missing(evidence, stalls),
  ];
}

function wrong(rule: string, { event, detail }: Pick<Told, 'event' | 'detail'>): Violation {
  return { rule, operation_id: event.operation_id ?? '', detail };
}

function lies({ stage }: Evidence, told: Told): readonly Violation[] {
  const { event } = told;
  const { truth } = stage.upstream;
  const op = truth.operationOf(event.operation_id ?? '');
  if (op === undefined) return [wrong('stalled', told)];
  const { threshold_ms = 0, open_ms = 0, status } = event;
  const hadStatus = op.states.some((state) => state.status === status) && !isOver({ status: status ?? '' });
  const isThreshold = isFixed(stage.world.plan, op, event) || isUsual(truth.operations(), op, event);
  if (!hadStatus || !isThreshold || open_ms < threshold_ms) return [wrong('stalled', told)];
  // The bridge decides by its own clock when a time has passed, and a frozen process goes on with what it had read.
  const isClockRight = !['clock_wrong', 'lambda_frozen'].some((kind) =>
    stage.world.fired.has(kind as 'clock_wrong'),
  );
  const openUntilMs = op.createdUs / 1_000 + threshold_ms - READING_MS_MAX;
  const then = stateAt(op, openUntilMs) ?? op.states[0];
  const hadEnded = then !== undefined && then === lastStateOf(op) && isOver(then);
  return isClockRight && hadEnded ? [wrong('stalled', told)] : [];
}

function isFixed(plan: WidePlan, op: WideOperation, event: ToldEvent): boolean {
  return event.usual_duration === undefined && thresholdsOf(plan, op).includes(event.threshold_ms ?? 0);
}

function thresholdsOf({ stallThresholdsMs }: WidePlan, { action }: WideOperation): readonly number[] {
  return stallThresholdsMs[action] ?? stallThresholdsMs['default'] ?? UNKNOWN_THRESHOLDS_MS;
}

/** These hold for an action of which too few operations have ended to say what is usual (docs/events.md). */
const UNKNOWN_THRESHOLDS_MS = [15 * MINUTE_MS, 120 * MINUTE_MS] as const;

const USUAL_FACTOR = 3;
const USUAL_THRESHOLD_MS_MIN = 5 * MINUTE_MS;

/** A quantile is within 2 % of a true value, and the upstream gives its times in whole seconds. */
const QUANTILE_ERROR = 1.02;
const ROUNDED_MS = 1_000;

/** Each operation that has ended counts once, and none counts as longer than it took. */
function isUsual(
  operations: readonly WideOperation[],
  { action, project_id }: WideOperation,
  event: ToldEvent,
): boolean {
  const { usual_duration: usual, threshold_ms } = event;
  if (usual === undefined) return false;
  const ended = operations.filter(
    (op) =>
      op.action === action &&
      (usual.basis === 'account' || op.project_id === project_id) &&
      op.states.some(isCounted),
  );
  const longestMs = Math.max(0, ...ended.map(longestMsOf));
  const expectedMs = Math.max(
    USUAL_THRESHOLD_MS_MIN,
    Math.ceil((USUAL_FACTOR * usual.p99_ms) / 1_000) * 1_000,
  );
  return (
    threshold_ms === expectedMs &&
    usual.operation_count <= ended.length &&
    usual.p99_ms <= (longestMs + ROUNDED_MS) * QUANTILE_ERROR
  );
}

function isCounted({ status }: { readonly status: string }): boolean {
  return status === 'finished' || status === 'error';
}

function longestMsOf({ createdUs, states }: WideOperation): number {
  return Math.max(...states.map(({ updatedAtMs }) => updatedAtMs)) - createdUs / 1_000;
}

function repeated(stalls: readonly Told[]): readonly Violation[] {
  const byOperation = Map.groupBy(stalls, ({ event }) => event.operation_id);
  return [...byOperation.values()].flatMap((own) => {
    const thresholds = new Set(own.map(({ event }) => event.threshold_ms));
    const usualCount = own.filter(({ event }) => event.usual_duration !== undefined).length;
    const [first] = own;
    return first !== undefined && (thresholds.size < own.length || usualCount > 1)
      ? [wrong('stalled-again', first)]
      : [];
  });
}

/**
 * Finds operations that stay open for good and have no event. The threshold must have passed while invocations are
 * frequent: later ones are short, and a low rate limit lets none of them read everything.
 */
function missing(evidence: Evidence, stalls: readonly Told[]): readonly Violation[] {
  const { stage } = evidence;
  const { plan } = stage.world;
  if (stage.restores.length + stage.unreadable.size > 0) return [];
  const { truth } = stage.upstream;
  const stalledIds = new Set(stalls.map(({ event }) => event.operation_id));
  return expectationsOf(evidence).flatMap(({ operation_id, expects }) => {
    const op = truth.operationOf(operation_id);
    const project = truth.projectOf(op?.project_id ?? '');
    if (op === undefined || project === undefined || expects !== 'final_state' || stalledIds.has(op.id))
      return [];
    const end = lastStateOf(op);
    const isOpen = end !== undefined && !isOver(end) && end.status !== 'failed';
    if (!isOpen || isHidden(plan, project, op) || project.notFound.length > 0) return [];
    const thresholdMs = thresholdsOf(plan, op)[0] ?? 0;
    const fromMs = Math.max(
      op.createdUs / 1_000 + thresholdMs,
      stage.timeline.calm.fromMs + LEFT_ALONE_MS_MAX,
    );
    const isDue = fromMs + turnMs(evidence) < calmEndMs(stage.timeline) || wasReadLater(evidence, op);
    return isDue ? [{ rule: 'stalled-not-told', operation_id: op.id, detail: JSON.stringify(end) }] : [];
  });
}

/** This is longer than any threshold that rests on what operations take: none of them stays in one state for an hour and then goes on. */
const THRESHOLD_MS_MAX = 3 * 120 * MINUTE_MS;

/**
 * Returns true when two of the rare invocations after the calm read the operation, long after every threshold had passed, and went on to
 * another project: an invocation that ends while a poll waits for its next request decides nothing about what the poll has read.
 */
function wasReadLater({ stage, answers }: Evidence, { id, createdUs, project_id }: WideOperation): boolean {
  const fromMs = Math.max(calmEndMs(stage.timeline), createdUs / 1_000 + THRESHOLD_MS_MAX);
  const readMs = answers
    .filter(({ rowIds, operationId }) => operationId === id || rowIds.includes(id))
    .map(({ atMs }) => atMs)
    .filter((atMs) => atMs >= fromMs);
  const othersMs = answers
    .filter(({ route, projectId }) => route === 'operations' && projectId !== project_id)
    .map(({ atMs }) => atMs);
  const during = stage.invocations.filter(({ fromMs: beganMs, toMs }) =>
    readMs.some(
      (atMs) => beganMs <= atMs && atMs <= toMs && othersMs.some((each) => each > atMs && each <= toMs),
    ),
  );
  return during.length >= 2;
}
