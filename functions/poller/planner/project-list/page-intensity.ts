/**
 * Says how much to expect of the projects on a page of the project list. How often something has happened there for days is corrected
 * by what the last readings have shown: a deployment starts computes in all projects, also in those that were quiet for a week.
 */

/** Says what the last readings of a page have shown. Older readings count for less. */
export interface PageReadings {
  /** Counts the projects that had moved, each once in every reading that showed it to move. */
  readonly movedCount: number;
  /** The time between these readings, in milliseconds. */
  readonly watchedMs: number;
  /** The last of them, in milliseconds since the epoch. */
  readonly readAtMs: number;
}

/**
 * A reading counts for a third of a new one after this time. A deployment takes a few minutes: with twice of this, the mean delay of 5,000 projects
 * with one each hour was a hundredth longer.
 */
const FADING_MS = 30_000;

/** What is known of the projects weighs as much as this number of moves. With four, chance made the longest delays of a page a sixth longer. */
const PRIOR_MOVES = 12;

/** An operation of three transitions moves its project in one or two readings, because some of them come within a second. */
const TRANSITIONS_PER_MOVE = 1.5;

export function withReading(
  before: PageReadings | undefined,
  movedCount: number,
  nowMs: number,
): PageReadings {
  const first = { movedCount: 0, watchedMs: 0, readAtMs: nowMs };
  if (before === undefined) return first;
  const elapsedMs = nowMs - before.readAtMs;
  // A project that has moved a hundred times meanwhile counts once, so after a pause the count says nothing.
  if (elapsedMs > FADING_MS) return first;
  const kept = Math.exp(-elapsedMs / FADING_MS);
  return {
    movedCount: before.movedCount * kept + movedCount,
    watchedMs: before.watchedMs * kept + elapsedMs,
    readAtMs: nowMs,
  };
}

/** Says what is known of a page. */
export interface KnownPage {
  /** This number of transitions per millisecond is expected of the projects on the page by their history. */
  readonly coldPerMs: number;
  readonly readings: PageReadings;
}

/** Says what the last readings of all pages have shown, compared with the history of their projects. */
export interface LatelyShown {
  /** On all pages together, this many times as much has happened as their history says. */
  readonly ratio: number;
  /** This number of transitions per millisecond and page came beyond what history can explain. */
  readonly beyondPerMs: number;
}

/** Most hours of an account differ by less than this. What comes beyond it has other reasons, and is as likely on each page. */
const RATIO_MAX = 1.3;

export function latelyShown(pages: Iterable<KnownPage>): LatelyShown {
  let movedCount = 0;
  let expectedCount = 0;
  let watchedMs = 0;
  for (const { coldPerMs, readings } of pages) {
    movedCount += readings.movedCount;
    expectedCount += expectedMoves(coldPerMs, readings);
    // The last page has no projects: the next one will stand on it.
    if (coldPerMs > 0) watchedMs += readings.watchedMs;
  }
  const beyondCount = Math.max(0, movedCount - RATIO_MAX * expectedCount);
  return {
    ratio: (PRIOR_MOVES + movedCount) / (PRIOR_MOVES + expectedCount),
    beyondPerMs: watchedMs === 0 ? 0 : (beyondCount * TRANSITIONS_PER_MOVE) / watchedMs,
  };
}

/**
 * Returns the transitions per millisecond that are expected of a page. They are the mean of a Gamma posterior, as those of a project are
 * (`activity/expected-transitions.ts`): the prior belief is the page's history and what happens on all pages, and its own readings
 * correct it.
 */
export function pageIntensity({ coldPerMs, readings }: KnownPage, lately: LatelyShown): number {
  if (coldPerMs === 0) return 0;
  const priorPerMs = coldPerMs * Math.min(RATIO_MAX, lately.ratio) + lately.beyondPerMs;
  return (
    (priorPerMs * (PRIOR_MOVES + readings.movedCount)) / (PRIOR_MOVES + expectedMoves(priorPerMs, readings))
  );
}

function expectedMoves(perMs: number, { watchedMs }: PageReadings): number {
  return (perMs / TRANSITIONS_PER_MOVE) * watchedMs;
}

/**
 * Returns after how much virtual time something is read again that shows this many transitions per millisecond, as a page of the list
 * does. The share that the list shows counts for the page, and what it misses for each project.
 */
export function listedStride(perMs: number, recall: number): number {
  return Math.sqrt((1 - recall) / (recall * perMs));
}
