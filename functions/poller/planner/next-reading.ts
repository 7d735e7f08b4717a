/**
 * Chooses what the next permit is for, by one rule: it goes where the expected number of unseen transitions, times the time in which
 * as many are expected at the present rate, is the greatest, looked up when the permit is there. Under a steady rate that is the time
 * since the last reading, and the readings of a project are spaced evenly, as often as the square root of its rate, which minimises
 * the mean delay of all transitions (ADR 6). A page of the project list shows all projects on it, so its index is the sum over them.
 */

import { type Expectations, isCold, type KnownProject } from './expected-transitions.ts';
import type { ListedProject, ProjectList } from './list-hints.ts';
import type { Pace } from './pace.ts';

/** Holds what the planner keeps of one project. */
export interface Project extends KnownProject, ListedProject {
  readonly id: string;
  isBusy: boolean;
  /** The last reading ended at this time, in milliseconds since the epoch. It is -Infinity before the first one. */
  polledMs: number;
  failureCount: number;
  /** After a failure, the project is not read before this time. */
  restMs: number;
  /** A list of computes has shown so many transitions that no page of operations has shown yet. */
  foretoldCount: number;
  /** The last poll left events that did not reach the bus. */
  hasLeftovers: boolean;
  /** The list of its computes may say something new from this time on. */
  listWorthMs: number;
  /** That list is not read before this time. It is infinite while it is being read. */
  computesRestMs: number;
  /** The number of transitions that were expected to be unseen at `countedMs`. */
  unseenCount: number;
  /** The number of transitions that are expected in each millisecond from then to `recountMs`. */
  unseenPerMs: number;
  countedMs: number;
  recountMs: number;
}

/** Says what could be read now. */
export interface Look {
  /** This project has waited longest, and must be read now so that none waits for too long. */
  readonly due: Project | undefined;
  /** This project has the greatest index of all that may be read. */
  readonly best: Project | undefined;
  readonly bestIndex: number;
  /** Something has shown that the best project has changed. */
  readonly isShown: boolean;
  /** These lists of computes may say something new. */
  readonly unlisted: readonly Project[];
  /** The earliest time at which a project that may not be read now may be. */
  readonly untilMs: number;
}

/** Fewer transitions than this share are not worth looking for in the list. */
export const RECALL_WORTH_A_READING = 0.1;

/** Where the list shows at least this share of the transitions, one permit is kept for the next project that moves. */
export const RECALL_WORTH_A_PERMIT = 0.9;

/** Looks at these projects. The sums of the pages are left in the list. */
export function lookAt(
  projects: Iterable<Project>,
  list: ProjectList,
  expected: Expectations,
  { intervalMs, waitMsMax, serveMs }: Pace,
  nowMs: number,
): Look {
  const recall = list.recall();
  const isListed = recall > RECALL_WORTH_A_READING;
  const intensity = expected.intensity();
  for (const page of list.pages) page.index = 0;
  let due: Project | undefined;
  let best: Project | undefined;
  let bestIndex = -1;
  let isShown = false;
  let untilMs = Number.POSITIVE_INFINITY;
  const unlisted: Project[] = [];
  /** Counts the projects by the share of `serveMs` that is left until each may wait no longer. */
  const left = new Uint32Array(LEFT_PARTS);
  let lookedAtCount = 0;

  for (const project of projects) {
    lookedAtCount += 1;
    if (project.isBusy) continue;
    if (project.restMs > nowMs) {
      untilMs = Math.min(untilMs, project.restMs);
      continue;
    }
    if (project.listWorthMs <= nowMs && project.computesRestMs <= nowMs) unlisted.push(project);
    const { polledMs } = project;
    const ageMs = Math.min(nowMs - polledMs, waitMsMax);
    if (ageMs > waitMsMax - serveMs) {
      const part = Math.floor(((waitMsMax - ageMs) / serveMs) * LEFT_PARTS);
      left[part] = (left[part] ?? 0) + 1;
      if (polledMs < (due?.polledMs ?? Number.POSITIVE_INFINITY)) due = project;
    }
    if (nowMs >= project.recountMs) countUnseen(project, expected, nowMs - ageMs, nowMs);
    const shownCount = project.foretoldCount + Number(isListed && project.hasMoved);
    const unseen = project.unseenCount + project.unseenPerMs * (nowMs - project.countedMs);
    const weight = (1 - (isListed ? recall : 0)) * (isCold(project) ? intensity : 1);
    let index = (weight * unseen * unseen) / project.unseenPerMs;
    index += (shownCount + Number(project.hasLeftovers)) * ageMs;
    const page = list.pages[project.page];
    if (isListed && page !== undefined) {
      const unlistedMs = Math.min(ageMs, nowMs - page.readMs);
      const listed = recall * project.unseenPerMs * unlistedMs * unlistedMs;
      page.index += listed;
      index += listed;
    }
    if (shownCount === 0 && nowMs < polledMs + intervalMs) untilMs = Math.min(untilMs, polledMs + intervalMs);
    else if (index > bestIndex) [best, bestIndex, isShown] = [project, index, shownCount > 0];
  }
  const isPressed = isTimeShort(left, lookedAtCount);
  return { due: isPressed ? due : undefined, best, bestIndex, isShown, unlisted, untilMs };
}

/** `serveMs` is divided into this number of parts. More of them would tell the deadlines apart more finely, at each decision. */
const LEFT_PARTS = 32;

/**
 * Says whether the projects that have waited longest must be read now, with every second permit, so that none of them waits for too long: up to the
 * end of some part, more of them run out of time than can be read until then. Where the list shows every transition and one permit after the
 * other has something to read, a deadline at almost four rounds without this count would cost 7 to 9 per cent of the mean delay.
 */
function isTimeShort(left: Uint32Array, projectCount: number): boolean {
  let count = 0;
  return left.some((each, part) => {
    count += each;
    return count > 0 && count * LEFT_PARTS >= part * projectCount;
  });
}

/** What is open or runs is counted anew after this share of the time for which the project was not read. */
const RECOUNT_SHARE = 1 / 4;
const RECOUNT_MS_MIN = 250;

/** Counts what is expected to be unseen. While nothing is open or runs, that rises evenly until the next reading. */
function countUnseen(project: Project, expected: Expectations, fromMs: number, nowMs: number): void {
  project.countedMs = nowMs;
  project.unseenCount = expected.between(project, fromMs, nowMs);
  project.unseenPerMs = project.coldPerMs;
  project.recountMs = Number.POSITIVE_INFINITY;
  if (isCold(project)) return;
  const spanMs = Math.max(RECOUNT_MS_MIN, RECOUNT_SHARE * (nowMs - fromMs));
  project.unseenPerMs = expected.between(project, nowMs, nowMs + spanMs) / spanMs;
  project.recountMs = nowMs + spanMs;
}

/** A list has to spare more polls than this, because some of what it spares is spent around the instant that it names. */
const SPARED_POLLS_MIN = 1.5;

/**
 * Without the list, the project would have to be polled at least this many times as often as with it. A smaller difference is chance, as in a
 * project in which so much happens that it is polled all the time.
 */
const POLLS_RATIO_MIN = 1.5;

/** A list that does not pay is considered again after this time. */
const RECONSIDER_AFTER_MS = 20_000;

/** After so many lists in a row that could not be read, none is read for this long. */
const UNREADABLE_MAX = 3;
const UNREADABLE_REST_MS = 600_000;

/** Each decision counts for this share of what a permit is worth at present. */
const PRICE_SHARE = 0.01;

/** Where the list of projects shows this share of the transitions anyway, lists of computes say nothing new. */
const RECALL_ENOUGH = 0.5;

/**
 * Decides which list of computes is worth its request: the one that spares most polls until the next suspend is possible. A project is polled
 * every sqrt(price / expected) milliseconds, where the price is the index at which permits are given out.
 */
export function createComputeLists(expected: Expectations) {
  let price = 0;
  let unreadableCount = 0;
  let restMs = Number.NEGATIVE_INFINITY;
  return {
    /** Takes whether a list could be read. A key may have no right to read any of them. */
    noteReading(wasReadable: boolean, nowMs: number): void {
      unreadableCount = wasReadable ? 0 : unreadableCount + 1;
      if (unreadableCount >= UNREADABLE_MAX) restMs = nowMs + UNREADABLE_REST_MS;
    },
    /** Takes the index of the project that got a permit because of it. */
    notePrice(index: number): void {
      price += (price === 0 ? 1 : PRICE_SHARE) * (index - price);
    },
    /** Returns the project of which the list of computes is read with this permit, or undefined when none is worth it. */
    choose(
      projects: readonly Project[],
      intervalMs: number,
      recall: number,
      nowMs: number,
    ): Project | undefined {
      if (price === 0 || nowMs < restMs || recall > RECALL_ENOUGH) return undefined;
      let best: Project | undefined;
      let most = SPARED_POLLS_MIN;
      for (const project of projects) {
        const spared = sparedPolls(project, intervalMs, nowMs);
        if (spared <= SPARED_POLLS_MIN) project.computesRestMs = nowMs + RECONSIDER_AFTER_MS;
        else if (spared > most) [best, most] = [project, spared];
      }
      if (best === undefined) return undefined;
      best.computesRestMs = Number.POSITIVE_INFINITY;
      return best;
    },
  };

  function sparedPolls(project: Project, intervalMs: number, nowMs: number): number {
    const pollsPerMs = (perMs: number) => Math.min(1 / intervalMs, Math.sqrt(perMs / price));
    const suspendsPerMs = expected.suspendsBetween(project, nowMs, nowMs + 1_000) / 1_000;
    const otherPerMs = project.coldPerMs + expected.hotPerMs(project, nowMs) - suspendsPerMs;
    const [spent, needed] = [pollsPerMs(otherPerMs + suspendsPerMs), pollsPerMs(otherPerMs)];
    if (spent < POLLS_RATIO_MIN * needed) return 0;
    return expected.quietMs() * (spent - needed);
  }
}
