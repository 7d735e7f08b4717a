/**
 * Repairs taken out again, one by one: the wide world must notice each. The numbers are those of the points in
 * docs/simulation.md. Run one with `MUTANTS=test/simulation/wide/repairs.ts MUTANT=short-pages node
 * --import ./test/simulation/apply-mutant.ts test/simulation/run.ts --world wide --seeds 2000 --stop-at-first`.
 */

import type { Mutant } from '../mutants.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'short-pages',
    mistake: 'point 1: a page with fewer rows than were asked for ends a walk',
    file: 'shared/core/records/page-walk.ts',
    find: 'if (cursor === undefined || operations.length + malformedRowCount === 0) return true;',
    replace: `const rowCount = operations.length + malformedRowCount;
  if (cursor === undefined || rowCount < (before.next?.limit ?? 1)) return true;`,
  },
  {
    name: 'short-list-pages',
    mistake: 'point 1: a page of the project list with fewer rows than were asked for ends the list',
    file: 'functions/poller/planner/listing.ts',
    find: 'const isOver = page.cursor === undefined || isEmpty(page)',
    replace: 'const isOver = page.cursor === undefined || page.projectIds.length < 400',
  },
  {
    name: 'memory-ends-before-reach',
    mistake: 'point 2: what the table has forgotten is published again',
    file: 'shared/core/records/history.ts',
    find: 'return earlierBy(createdAt, WATERMARK_LAG_MS_MAX) <= watermark;',
    replace: 'return false;',
  },
  {
    name: 'relay-never-stops',
    mistake: 'points 3 and 9: the invocation waits for its loops as long as they take',
    file: 'functions/poller/account/wind-up.ts',
    find: 'const first = await Promise.race([task, timeout]);',
    replace: 'const first = await task; void timeout;',
  },
  {
    name: 'history-of-the-account-alone',
    mistake: 'point 5: the history of a project that becomes visible later is news',
    file: 'shared/core/records/history.ts',
    find: '  return seenAt;',
    replace: '  return bootAt;',
  },
  {
    name: 'only-whole-listings-count',
    mistake: 'point 6: one unavailable project keeps all others from being reported',
    file: 'functions/poller/account/absence.ts',
    find: 'return isComplete || listingCount >= DOUBTFUL.absentCount;',
    replace: 'return isComplete && listing.unavailableCount === 0 && listingCount > 0;',
  },
  {
    name: 'unordered-list-begins-anew',
    mistake: 'point 8: an unordered list has no resume point',
    file: 'shared/core/records/page-walk.ts',
    find: 'return lastCursor === undefined ? undefined : { head, cursor: lastCursor, ...flag };',
    replace:
      'return lastCursor === undefined || isUnordered ? undefined : { head, cursor: lastCursor, ...flag };',
  },
  {
    name: 'key-is-read-once',
    mistake: 'point 10: a valid key is not noticed within the invocation',
    file: 'functions/poller/account/watch-key.ts',
    find: 'if (memory.isKeyRejected && (await deps.key.hasAnother().catch(() => false)))',
    replace: 'if (memory.isKeyRejected && deps === undefined)',
  },
  {
    name: 'pause-of-a-day',
    mistake: 'point 11: a Retry-After of a day is honoured for a day',
    file: 'shared/core/rates/retry-delay.ts',
    find: 'export const RETRY_AFTER_MS_MAX = 5 * MINUTE_MS;',
    replace: 'export const RETRY_AFTER_MS_MAX = 24 * 3_600_000;',
  },
  {
    name: 'late-poller-sends',
    mistake: 'point 15: a poller that wakes up late sends without a lease',
    file: 'functions/poller/account/lease.ts',
    find: 'return elapsedMs < held.durationMs;',
    replace: 'return elapsedMs >= 0;',
  },
  {
    name: 'spending-is-not-handed-over',
    mistake: 'point 15: what another process has spent is not counted',
    file: 'functions/poller/account/lease.ts',
    find: 'budget.takeOver(before?.spending);',
    replace: 'void before;',
  },
];
