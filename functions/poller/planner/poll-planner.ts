/**
 * Decides which request is sent next. Each permit goes to the first of these that has something to read (ADR 0006):
 * 1. A turn that would otherwise wait longer than four rounds gets at most every second permit. A project of which the list
 * shows every change waits for up to sixteen, or 52 in a busy account (`reading-deadlines.ts` has the theorem).
 * 2. Projects of commands, hints and wishes get permits within their shares (`order-by-urgency.ts`).
 * 3. All turns get permits by weight. The stride of a turn is one over the square root of its expected transitions
 * per second, and the turn with the smallest virtual finish goes first. So polls are evenly spaced, at rates that
 * minimise the mean delay.
 */

import type { FieldEvidence } from '../../../shared/core/records/hint-evidence.ts';
import type { RunningCompute } from '../../../shared/core/records/running-compute.ts';
import type { ArrivalHistory } from './activity/arrival-history.ts';
import type { ProjectActivity } from './activity/project-activity.ts';
import { createComputeReadings } from './compute-readings.ts';
import { createHintFields, type ProjectRow } from './hints/hint-fields.ts';
import { createNeededTurns } from './needed-turns.ts';
import { type IntervalLimits, type PacedLimits, pacedLimits } from './poll-interval.ts';
import { createPolledProjects } from './polled-projects.ts';
import type { PollingNeed } from './polling-need.ts';
import type { PageEnd } from './project-list/page-cursors.ts';
import { createPageReports } from './project-list/page-reports.ts';
import { createPageTurns, type PageTurns } from './project-list/page-turns.ts';
import { createProjectStrides, type ProjectStrides } from './project-strides.ts';
import { backoffMs, endReading, restAfterFailure, resumeWaiting } from './queues/end-reading.ts';
import { createNextTurn } from './queues/next-turn.ts';
import type { UrgencyShares } from './queues/order-by-urgency.ts';
import type { Turn } from './queues/turn.ts';
import { createTurnQueues, joinByWeight, type TurnQueues, wakeRested } from './queues/turn-queues.ts';
import { createTurnSlots } from './queues/turn-slots.ts';
import { createUrgentReadings } from './urgent-readings.ts';
import { watchedStride } from './watched-projects.ts';

export interface PollPlanner {
  /**
   * Polls exactly these projects from now on, and forgets what is known of all others. `histories` says, by id of the
   * project, how often something happened in those that an earlier process has read.
   */
  setProjects(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  /** Adds projects to those that are polled, and forgets none; the cost does not depend on how many there are already. */
  addProjects(projectIds: readonly string[], histories?: ReadonlyMap<string, ArrivalHistory>): void;
  /** Stops polling these projects, and forgets what is known of them. */
  removeProjects(projectIds: readonly string[]): void;
  /**
   * Returns what to send with a request that may leave now. The project or page counts as under way until it is
   * reported.
   */
  next(nowMs: number): PollDecision;
  report(projectId: string, result: PollResult, nowMs: number): void;
  /**
   * Takes what a page of the project list showed, however partial. `shown` is undefined when the page could not be
   * read. The first report starts the turns of the list, because a poller reads the list before it knows any project.
   */
  reportPage(page: number, shown: ShownPage | undefined, nowMs: number): void;
  /** Takes what a reading of the project's computes came to. */
  reportComputes(projectId: string, reading: ComputesReading, nowMs: number): void;
  /**
   * Asks for a reading at once, because a command through the bridge has started something there. A project that is not
   * known yet is read at once when it becomes known.
   */
  markHot(projectId: string): void;
  /**
   * Asks for a fresh reading that a caller wishes for. It comes soon, but at most once in a poll interval, and all
   * wishes together have a small share.
   */
  wish(projectId: string): void;
  /** Returns how many projects wait because a command, a hint or a wish asks for a reading of them. */
  waitingCount(): number;
  /**
   * Says whether there is a reason to go on polling. `sinceMs` is the beginning of this invocation. Its first call
   * looks at all projects, and every other one at those where something is open or runs.
   */
  need(sinceMs: number, nowMs: number): PollingNeed;
  /** Returns how often something happens there, or undefined when that is not known. */
  historyOf(projectId: string): ArrivalHistory | undefined;
  /** Returns what was learned of the list's fields, for the status that is kept across restarts. */
  hintEvidence(): readonly FieldEvidence[];
  restoreHints(evidence: readonly FieldEvidence[]): void;
}

/**
 * The running computes that a list of the project's computes showed. A list that is `unreadable` is not asked for again soon. A
 * reading that the end of the invocation has cut short says nothing of the list.
 */
export type ComputesReading = readonly RunningCompute[] | 'unreadable' | 'cut_short';

export type PollDecision =
  /** The poller reads the list of the project's computes, which says when they can be suspended. */
  | { readonly kind: 'computes'; readonly projectId: string }
  | { readonly kind: 'poll'; readonly projectId: string }
  /** The poller reads this page of the project list, from this cursor on. */
  | { readonly kind: 'list'; readonly page: number; readonly cursor: string | undefined }
  /**
   * The poller sends nothing before `untilMs`, which is infinite when every project is under way or there is none.
   * `keepsPermit` says that a project could be read, but the permit is kept for the next one that the list shows to move.
   */
  | { readonly kind: 'wait'; readonly untilMs: number; readonly keepsPermit?: boolean };

export interface PollResult {
  readonly hasFailed: boolean;
  readonly foundTransition: boolean;
  /** The poll left events that did not reach the bus, so the project is polled again as soon as it may be. */
  readonly hasLeftovers: boolean;
  /** It is undefined when the poll read no page; what was known of the project stays then. */
  readonly activity: ProjectActivity | undefined;
  /**
   * It is true when the end of the invocation came before the poll had read a page. The project waits on as if its turn had not
   * come, and goes first.
   */
  readonly wasCutShort?: boolean | undefined;
  /** After a failure the project rests for at least this long. When it is undefined, only the usual back-off counts. */
  readonly restMs?: number | undefined;
}

export interface ShownPage extends PageEnd {
  readonly rows: readonly ProjectRow[];
}

/**
 * No project is polled more often than `pollIntervalMsMin`, unless a hint or a command asks for it. A wish does not
 * change it. The project list is never read when `listing` is undefined.
 */
export interface PlannerLimits extends IntervalLimits {
  /** The poller may send this many requests a minute, which determines how long a round of all projects takes. */
  readonly requestsPerMinute: number;
  /** The lists of computes are read where that pays. Undefined means that they are not. */
  readonly readsComputes?: boolean | undefined;
  /** The back-off of a project doubles with each failure, up to this time. */
  readonly failureBackoffMsMax: number;
  /** These are the shares of the permits for each kind of urgency. When they are undefined, the usual shares apply. */
  readonly urgencyShares?: UrgencyShares | undefined;
}

/** While something is unread the invocation is needed anyway, so a look at what is open or runs would be wasted. */
const NOT_LOOKED_AT = { hasWork: false, expectedTransitionsPerMs: 0 };

export function createPollPlanner(plannerLimits: PlannerLimits): PollPlanner {
  const byId = new Map<string, Turn>();
  const limits = pacedLimits(plannerLimits, () => byId.size);
  const hints = createHintFields();
  const slots = createTurnSlots();
  const strides = createProjectStrides(slots);
  const list = createPageTurns(limits.listing, limits.requestsPerMinute, slots);
  const queues = createTurnQueues(limits, () => byId.size + list.turns.length, {
    recall: () => (pages.areShown() ? hints.recall() : 0),
    shownAtMs: () => hints.shownAtMs(),
    expectedPerMs: () => strides.coldPerMs(),
    urgentShare: () => queues.byUrgency.usedShare(),
  });
  const needed = createNeededTurns(byId, (turn, nowMs) => strides.hotIntensityOf(turn, nowMs));
  const pages = createPageReports(list, queues, hints, limits);
  const computes = createComputeReadings(strides, queues.byWeight, limits, () =>
    pages.areShown() ? hints.recall() : 0,
  );
  const projects = createPolledProjects({ byId, queues, strides, hints, needed, computes });
  const requests = createUrgentReadings(byId, queues.byUrgency, limits);
  const choice = createNextTurn(queues, {
    requestsPerMinute: limits.requestsPerMinute,
    intervalMsMin: (turn) => intervalMsMinOf(turn, limits),
    recall: () => hints.recall(),
    hintTrust: () => hints.recall() * hints.precision(),
  });

  return {
    setProjects(projectIds, histories) {
      projects.set(projectIds, histories);
      requests.welcome(projectIds);
    },
    addProjects(projectIds, histories) {
      projects.add(projectIds, histories);
      requests.welcome(projectIds);
    },
    removeProjects: (projectIds) => projects.remove(projectIds),
    next(nowMs) {
      projects.welcomeNewcomers(nowMs);
      wakeRested(queues, nowMs);
      hurryRisen(queues, strides, nowMs);
      const reading = choice.offer(nowMs, () => computes.take(nowMs));
      if (reading !== undefined) return { kind: 'computes', projectId: reading.id };
      const turn = choice.take(nowMs);
      if (turn === undefined)
        return {
          kind: 'wait',
          untilMs: choice.nextChangeMs(),
          ...(choice.keepsPermit() && { keepsPermit: true }),
        };
      if (turn.page === undefined) needed.follow(turn);
      return decisionOf(turn, list);
    },
    report(projectId, result, nowMs) {
      const turn = byId.get(projectId);
      if (turn === undefined) return;
      if (result.wasCutShort) {
        resumeWaiting(queues, turn);
        return requests.askAgain(turn);
      }
      endReading(queues, turn, { hasFailed: result.hasFailed, nowMs });
      const times = { beganAtMs: turn.beganAtMs, endedAtMs: nowMs };
      if (!result.hasFailed) hints.takeReading(projectId, result.foundTransition, times);
      learn(strides, turn, result, nowMs);
      computes.follow(turn, nowMs);
      needed.follow(turn);
      if (result.hasFailed)
        return restAfterFailure(queues, turn, nowMs + restMsOf(limits, turn, result.restMs));
      queueAgain(queues, turn, nowMs, {
        pollIntervalMsMin: limits.pollIntervalMsMin,
        watched: watchedStrideOf(turn, nowMs),
      });
      requests.askAgain(turn);
    },
    reportPage(page, shown, nowMs) {
      const times = { beganAtMs: list.turns[page]?.beganAtMs ?? nowMs, endedAtMs: nowMs };
      const moved = hints.takeListing(shown?.rows ?? [], times);
      for (const id of moved) requests.ask(id, 'hint');
      pages.report(
        page,
        shown && { ...shown, cold: coldOf(byId, shown.rows), movedCount: moved.length },
        nowMs,
      );
    },
    reportComputes(projectId, reading, nowMs) {
      const turn = byId.get(projectId);
      if (turn === undefined) return;
      if (reading === 'cut_short') return computes.end(turn, nowMs);
      const running = reading === 'unreadable' ? undefined : reading;
      if (running === undefined) turn.computesRestUntilMs = nowMs + limits.failureBackoffMsMax;
      const before = turn.stride;
      if (strides.learnComputes(turn, running, nowMs)) requests.ask(projectId, 'hint');
      turn.stride = strides.strideOf(turn, nowMs);
      queues.byWeight.scale(turn, turn.stride / before);
      computes.end(turn, nowMs);
    },
    markHot: (projectId) => requests.ask(projectId, 'command'),
    wish: (projectId) => requests.ask(projectId, 'wish'),
    waitingCount: () => queues.byUrgency.size,
    need(sinceMs, nowMs) {
      const hasReadAll = pages.haveShownAllSince(sinceMs) || needed.haveBeenRead(sinceMs);
      const { hasWork, expectedTransitionsPerMs } = hasReadAll ? needed.work(nowMs) : NOT_LOOKED_AT;
      const isWaitedFor = queues.byUrgency.size > 0 || queues.deadlines.isOverdue(nowMs);
      return { hasReadAll, hasWork: hasWork || isWaitedFor, expectedTransitionsPerMs };
    },
    historyOf: (projectId) => byId.get(projectId)?.history,
    hintEvidence: () => hints.evidence(),
    restoreHints: (evidence) => hints.restore(evidence),
  };

  function watchedStrideOf(turn: Turn, nowMs: number): number | undefined {
    const ownPerMs = strides.hotIntensityOf(turn, nowMs);
    return watchedStride({ ownPerMs, pagePerMs: pages.meanPerMs(), recall: hints.recall() });
  }
}

function decisionOf({ id, page }: Turn, list: PageTurns): PollDecision {
  if (page === undefined) return { kind: 'poll', projectId: id };
  return { kind: 'list', page, cursor: list.cursorOf(page) };
}

function intervalMsMinOf({ page }: Turn, { pollIntervalMsMin, listing }: PacedLimits<PlannerLimits>): number {
  return page === undefined ? pollIntervalMsMin : (listing?.hintIntervalMsMin ?? 0);
}

function learn(
  strides: ProjectStrides,
  turn: Turn,
  { hasLeftovers, activity }: PollResult,
  nowMs: number,
): void {
  turn.hasLeftovers = hasLeftovers;
  if (activity !== undefined) strides.learn(turn, activity, nowMs);
  turn.stride = strides.strideOf(turn, nowMs);
}

/** A turn rests after its failure for its back-off, or longer when its reader asks for that. */
function restMsOf(limits: PacedLimits<PlannerLimits>, { failureCount }: Turn, restMsMin = 0): number {
  return Math.max(restMsMin, backoffMs(limits, failureCount));
}

/**
 * A project that was read waits by its weight, or for its `watched` stride. One that has unpublished events waits only for the poll
 * interval.
 */
function queueAgain(
  queues: TurnQueues,
  turn: Turn,
  nowMs: number,
  {
    pollIntervalMsMin,
    watched,
  }: { readonly pollIntervalMsMin: number; readonly watched: number | undefined },
): void {
  const { byWeight, rests, deadlines } = queues;
  deadlines.follow(turn, nowMs);
  if (turn.hasLeftovers) {
    byWeight.assign(turn, 0);
    rests.set(turn, nowMs + pollIntervalMsMin);
  } else if (watched !== undefined) {
    byWeight.assign(turn, watched);
    byWeight.join(turn);
  } else joinByWeight(queues, turn);
}

/** A compute that can be suspended from now on shortens the wait of its project, in proportion to the wait that is left. */
function hurryRisen({ byWeight }: TurnQueues, strides: ProjectStrides, nowMs: number): void {
  for (let turn = strides.takeRisen(nowMs); turn; turn = strides.takeRisen(nowMs)) {
    const before = turn.stride;
    turn.stride = strides.strideOf(turn, nowMs);
    byWeight.scale(turn, Math.min(1, turn.stride / before));
  }
}

/** Sums up the expected transitions per millisecond of those projects on the page that have a turn. */
function coldOf(byId: ReadonlyMap<string, Turn>, rows: readonly ProjectRow[]): number {
  return rows.reduce((sum, { id }) => sum + (byId.get(id)?.cold ?? 0), 0);
}
