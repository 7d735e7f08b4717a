/**
 * Plans the times of one run: it is busy, perhaps quiet for up to 70 days, busy again, and calm at the end, when the
 * bridge has to catch up.
 */

import { DAY_MS, MINUTE_MS, type WidePlan } from './plan.ts';
import { INVOCATION_MS, STOP_RESERVE_MS } from './promised.ts';
import type { Span } from './upstream/truth.ts';

export const START_MS = Date.UTC(2026, 0, 15, 12, 0, 0, 250);

export interface Phase extends Span {
  readonly name: 'busy' | 'gap' | 'busy again' | 'calm' | 'more calm' | 'afterwards' | 'at last';
  readonly isChaotic: boolean;
  /** Holds the time between two invocations. It is undefined while the schedule is switched off. */
  readonly invocationEveryMs: number | undefined;
  /**
   * Limits how long an invocation takes. Where invocations are rare they are short, because they only have to look.
   */
  readonly invocationMs: number;
}

export interface Timeline {
  readonly phases: readonly Phase[];
  readonly busy: readonly [Span, Span];
  readonly calm: Span;
  readonly endMs: number;
}

/** A project that failed last is left alone for up to five minutes; after that everything is as usual. */
const CALM_MS = 7.5 * MINUTE_MS;

/** Which of two accounts has a project is decided within this time (PROTOCOL.md, M7). */
const MOVE_DECIDED_MS = 15 * MINUTE_MS;

/** The run goes on for two and a half days, so that a daily sweep comes twice. */
const AFTERWARDS_MS = 2.5 * DAY_MS;

/** A project that failed last, or an account that was asked to wait, is left alone for this time. */
export const LEFT_ALONE_MS = 5 * MINUTE_MS;

/** Every project is read to its end before it can be forgotten, and so is one that failed last. */
const LONG_PEACE_MS_MIN = 7 * MINUTE_MS;

const INVOCATIONS_PER_GAP = 5;

const RARE_INVOCATION_MS_MIN = 25_000;

/** A rare invocation has time for at least this many requests, so that a sweep of a slow account gets on. */
const RARE_REQUESTS_MIN = 20;

function rareInvocationMs({ requestsPerMinute }: WidePlan): number {
  const sendingMs = (RARE_REQUESTS_MIN * MINUTE_MS) / requestsPerMinute;
  return Math.min(INVOCATION_MS, Math.max(RARE_INVOCATION_MS_MIN, sendingMs + STOP_RESERVE_MS));
}

/** These pages are read for the two ends of a project's list, and for its page that is widened. */
const PAGES_BESIDE_ROWS = 4;

/** Each page counts as this many requests, because requests are repeated, refused, and spent on the project list. */
const REQUESTS_PER_PAGE = 3;

/** One project can be created during the run, and one can be transferred in with a history of its own. */
const NEWCOMERS_MAX = 2;
const NEWCOMER_ROWS_MAX = 11;

/** Returns how many operations commands start at most: one for each of them, and some for what starts a compute. */
function commandedCount({ commandRequestsPerMinute, commandEveryMs, busyMs }: WidePlan): number {
  const everyMs = Math.max(
    commandEveryMs[0],
    commandRequestsPerMinute && MINUTE_MS / commandRequestsPerMinute,
  );
  return commandRequestsPerMinute === 0 ? 0 : Math.ceil((2 * busyMs + MINUTE_MS) / everyMs);
}

/** A project that the list does not show to move is read at least once in this time. */
const ROUND_MS = MINUTE_MS;

/**
 * Returns how long it takes to read everything once: under the rate limit, and with so many pages of one project in
 * each poll. The usual calm is long enough for a few projects.
 */
function readingMs(plan: WidePlan): number {
  const { projectCount, historyCount, operationCount, requestsPerMinute, operationPageMax, walkLimits } =
    plan;
  const pageRows = Math.min(operationPageMax, walkLimits.widePageRows);
  // These rows come from both busy times and the gap between them, because most of the operations are in one project.
  const ownRowCount = historyCount + 2.5 * operationCount;
  const pagesOf = (rowCount: number) => PAGES_BESIDE_ROWS + Math.ceil(rowCount / pageRows);
  const othersRowCount = historyCount + PAGES_BESIDE_ROWS;
  const commandedPageCount = Math.ceil(commandedCount(plan) / pageRows);
  const pageCount =
    pagesOf(ownRowCount) +
    (projectCount - 1) * pagesOf(othersRowCount) +
    NEWCOMERS_MAX * pagesOf(NEWCOMER_ROWS_MAX) +
    commandedPageCount;
  // A poll that goes on with an unfinished walk reads the first page once more.
  const pollCount = (pagesOf(ownRowCount) + commandedPageCount) / (walkLimits.pagesMax - 1);
  return Math.max((pageCount * REQUESTS_PER_PAGE * MINUTE_MS) / requestsPerMinute, pollCount * ROUND_MS);
}

export function timelineOf(plan: WidePlan): Timeline {
  const { busyMs, gapMs, isAsleep } = plan;
  const phases: Phase[] = [];
  let nowMs = START_MS;
  const add = (phase: Omit<Phase, 'fromMs' | 'toMs' | 'invocationMs'>, durationMs: number): Phase => {
    const isRare = phase.invocationEveryMs !== undefined && phase.invocationEveryMs > MINUTE_MS;
    const invocationMs = isRare ? rareInvocationMs(plan) : INVOCATION_MS;
    const whole = { ...phase, fromMs: nowMs, toMs: nowMs + durationMs, invocationMs };
    nowMs += durationMs;
    phases.push(whole);
    return whole;
  };
  const busy = add({ name: 'busy', isChaotic: true, invocationEveryMs: MINUTE_MS }, busyMs);
  // The gap begins with at least two calm minutes, so that work that the faults interrupted is finished before the
  // quiet begins.
  if (gapMs > 0) {
    const every = isAsleep ? undefined : gapMs / INVOCATIONS_PER_GAP;
    const peacefulMs = Math.max(LONG_PEACE_MS_MIN, LEFT_ALONE_MS + readingMs(plan));
    add({ name: 'gap', isChaotic: false, invocationEveryMs: MINUTE_MS }, peacefulMs);
    add({ name: 'gap', isChaotic: false, invocationEveryMs: every }, gapMs);
  }
  const again = add({ name: 'busy again', isChaotic: true, invocationEveryMs: MINUTE_MS }, busyMs);
  const calm = add({ name: 'calm', isChaotic: false, invocationEveryMs: MINUTE_MS }, CALM_MS);
  const movingMs = plan.faults.project_moved > 0 ? MOVE_DECIDED_MS : 0;
  const moreCalmMs = movingMs + LEFT_ALONE_MS + readingMs(plan) - CALM_MS;
  if (moreCalmMs > 0) add({ name: 'more calm', isChaotic: false, invocationEveryMs: MINUTE_MS }, moreCalmMs);
  add({ name: 'afterwards', isChaotic: false, invocationEveryMs: AFTERWARDS_MS / 4 }, AFTERWARDS_MS);
  return { phases, busy: [busy, again], calm, endMs: nowMs };
}

/** Returns the time from which on invocations are rare. */
export function calmEndMs({ phases, calm }: Timeline): number {
  return phases.findLast(({ name }) => name === 'more calm')?.toMs ?? calm.toMs;
}

export function phaseAt({ phases }: Timeline, atMs: number): Phase | undefined {
  return phases.find(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs);
}
