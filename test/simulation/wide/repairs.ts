/**
 * Takes the repairs out again, one by one: the wide world must notice each. The numbers are those of the points in
 * docs/simulation.md. Run one with `MUTANTS=test/simulation/wide/repairs.ts MUTANT=short-pages node --import
 * ./test/simulation/apply-mutant.ts test/simulation/run.ts --world wide --seeds 2000 --stop-at-first`.
 */

import type { Mutant } from '../mutants.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'short-pages',
    mistake: 'point 1: a page with fewer rows than were asked for ends a walk',
    file: 'functions/poller/walk-plan/last-page.ts',
    find: 'if (cursor === undefined || operations.length + malformedRowCount === 0) return true;',
    replace: `const rowCount = operations.length + malformedRowCount;
  if (cursor === undefined || rowCount < (before.next?.limit ?? 1)) return true;`,
  },
  {
    name: 'short-list-pages',
    mistake: 'point 1: a page of the project list with fewer rows than were asked for ends the list',
    file: 'functions/poller/planner/project-list/listing.ts',
    find: 'const isOver = page.cursor === undefined || isEmpty(page)',
    replace: 'const isOver = page.cursor === undefined || page.projectIds.length < 400',
  },
  {
    name: 'memory-ends-before-reach',
    mistake: 'point 2: what the table has forgotten is published again',
    file: 'shared/core/records/history.ts',
    find: 'return watermark !== undefined && isAtMostADayAbove(watermark, createdAt);',
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
    file: 'functions/poller/account/discovery/absence.ts',
    find: 'return isComplete || listingCount >= DOUBTFUL.absentCount;',
    replace: 'return isComplete && listing.unavailableCount === 0 && listingCount > 0;',
  },
  {
    name: 'interrupted-walk-is-forgotten',
    mistake: 'point 2: what an interrupted walk has recorded is published again after weeks',
    file: 'shared/core/records/history.ts',
    find: 'return wasReached(createdAt, reach) || wasReachedByInterrupted(createdAt, reach);',
    replace: 'return wasReached(createdAt, reach);',
  },
  {
    name: 'age-of-an-unordered-list',
    mistake: 'point 2: of an unordered list everything is history after thirty days',
    file: 'shared/core/records/history.ts',
    find: 'if (recorded_until !== undefined) return createdAt <= recorded_until;',
    replace: 'if (recorded_until !== undefined && is_unordered !== true) return createdAt <= recorded_until;',
  },
  {
    name: 'what-is-recorded-above-is-not-named',
    mistake: 'point 2: of an unordered list, what an interrupted walk has recorded is published again',
    file: 'shared/core/records/history.ts',
    find: 'if (reach.recorded_above?.[id] !== undefined) return true;',
    replace: 'void id;',
  },
  {
    name: 'unread-project-keeps-its-day',
    mistake: 'point 2: what began soon before a project could not be read for weeks is history',
    file: 'functions/poller/project/save-progress.ts',
    find: 'const newest = await newestRecorded?.(projectId);',
    replace: 'const newest = undefined as Timestamp | undefined; void newestRecorded; void projectId;',
  },
  {
    name: 'slept-listing-rests',
    mistake: 'point 6: after a listing that was interrupted for weeks none is read for twice as long',
    file: 'functions/poller/account/discovery/discover-projects.ts',
    find: 'listings.durationMs = listings.readingMs;',
    replace: 'listings.durationMs = deps.clock.now() - listing.startedAtMs;',
  },
  {
    name: 'unordered-list-begins-anew',
    mistake: 'point 8: an unordered list has no resume point',
    file: 'functions/poller/walk-plan/resume-point.ts',
    find: 'if (lastCursor === undefined) return undefined;',
    replace: 'if (lastCursor === undefined || isUnordered) return undefined;',
  },
  {
    name: 'key-is-read-once',
    mistake: 'point 10: a valid key is not noticed within the invocation',
    file: 'functions/poller/account/sending/watch-key.ts',
    find: 'if (health.isKeyRejected && (await key.hasAnother().catch(() => false)))',
    replace: 'if (health.isKeyRejected && key === undefined)',
  },
  {
    name: 'pause-of-a-day',
    mistake: 'point 11: a Retry-After of a day is honoured for a day',
    file: 'shared/core/rates/retry-decision.ts',
    find: 'export const RETRY_AFTER_MS_MAX = 5 * MINUTE_MS;',
    replace: 'export const RETRY_AFTER_MS_MAX = 24 * 3_600_000;',
  },
  {
    name: 'late-poller-sends',
    mistake: 'point 15: a poller that wakes up late sends without a lease',
    file: 'functions/poller/account/sending/lease.ts',
    find: 'return elapsedMs < held.durationMs;',
    replace: 'return elapsedMs >= 0;',
  },
  {
    name: 'spending-is-not-handed-over',
    mistake: 'point 15: what another process has spent is not counted',
    file: 'functions/poller/account/sending/lease.ts',
    find: 'budget.takeOver(before?.spending);',
    replace: 'void before;',
  },
  {
    name: 'unread-project-is-not-published',
    mistake: 'point 13: no event says that a project cannot be read',
    file: 'functions/poller/account/status/project-readings.ts',
    find: 'if (!isTooLong || NOT_PUBLISHED.has(reason)) return;',
    replace: 'if (isTooLong || !isTooLong) return;',
  },
  {
    name: 'unread-project-is-not-named',
    mistake: 'point 13: health does not name a project that cannot be read',
    file: 'shared/core/records/account-status.ts',
    find: '...(unread.length > 0 && {',
    replace: '...(unread.length < 0 && {',
  },
  {
    name: 'late-in-local-time',
    mistake: 'point 16: whether an operation is late is computed in local time',
    file: 'functions/poller/project/recording/reading-context.ts',
    find: 'return epochMsOf(watermark) - epochMsOf(createdAt) > overlapMs;',
    replace: 'return epochMsOf(watermark) - Date.parse(createdAt.slice(0, -1)) > overlapMs;',
  },
  {
    name: 'first-sights-are-delays',
    mistake: 'point 16: the first readings of a project count as detection delays',
    file: 'functions/poller/project/recording/measure-recorded.ts',
    find: "if (isFirstWalk || entry.observed_by === 'backfill' || entry.late === true) return;",
    replace: 'void isFirstWalk;',
  },
  {
    name: 'first-listing-of-another-process',
    mistake: 'point 5: a warm process does not learn that another one has read the first whole listing',
    file: 'functions/poller/account/discovery/account-origin.ts',
    find: 'if (origin?.is_listed === true) listings.areSightingsNews = true;',
    replace: 'void listings;',
  },
  {
    name: 'command-comes-before-its-project',
    mistake: 'point 5: a project that a command has named is read before anything says what is history there',
    file: 'functions/poller/account/poll-account.ts',
    find: 'listings.areSightingsNews ? await recordedProjects(store, projectIds) : projectIds;',
    replace: 'projectIds; void listings; void recordedProjects; void store;',
  },
];
