/**
 * Lists mistakes that neither the tests nor the simulation noticed at first, each with the tests that must notice it now. `npm test`
 * tries them one by one; `npm run mutants` tries every change that StrykerJS knows.
 */

import { alarmMutants } from './named-alarms.ts';
import type { NamedMutant } from './named-mutant.ts';

const WALK = 'functions/poller/project/walking/walk-operations.ts';
const WALK_TESTS = 'test/poller/project/walking/walk-operations.test.ts';
const UNLISTED = 'functions/poller/project/recording/read-unlisted.ts';
const UNLISTED_TESTS = 'test/poller/project/recording/read-unlisted.test.ts';
const SIGHTINGS = 'functions/poller/project/recording/sightings.ts';
const PROGRESS = 'functions/poller/walk-plan/walk-progress.ts';
const PROGRESS_TESTS = 'test/poller/walk-plan/walk-progress.test.ts';
const PAGES = 'functions/poller/walk-plan/page-walk.ts';
const PAGES_TESTS = 'test/poller/walk-plan/page-walk.test.ts';
const BUDGET = 'shared/upstream/spent-rate.ts';
const BUDGET_TESTS = 'test/upstream/own-part.test.ts';

export const mutants: readonly NamedMutant[] = [
  ...alarmMutants,
  {
    name: 'unordered-watermark',
    mistake: 'the watermark moves in an unordered list',
    file: PROGRESS,
    find: 'if (isNewer && !isUnordered && isWorthMoving(',
    replace: 'if (isNewer && isWorthMoving(',
    tests: PROGRESS_TESTS,
  },
  {
    name: 'loser-settles',
    mistake: 'the loser of a race publishes its own Command Settled',
    file: 'shared/protocol/settle-commands.ts',
    find: "return (await store.record(next, command.revision)) === 'recorded' ? next : undefined;",
    replace: 'await store.record(next, command.revision); return next;',
    tests: 'test/protocol/settle-commands.test.ts',
  },
  {
    name: 'one-settled-id',
    mistake: 'all Command Settled share one id',
    file: 'shared/core/records/command-record.ts',
    find: "id: eventId([account_id, project_id, request_id, revision, 'command_settled', outcome, ...content]),",
    replace: "id: eventId(['command_settled']),",
    tests: 'test/core/journal/event-ids.test.ts',
  },
  {
    name: 'rediscovered-begins-anew',
    mistake: 'a rediscovered project loses its watermark and its journal',
    file: 'shared/core/records/project-record.ts',
    find: 'const before = recorded ?? { ...EMPTY_JOURNAL, since };',
    replace: 'const before = { ...EMPTY_JOURNAL, history_until };',
    tests: 'test/core/records/project-record.test.ts',
  },
  {
    name: 'outage-is-vanished',
    mistake: 'an outage ends watches as vanished',
    file: UNLISTED,
    find: "if (error.kind === 'not_found') await takeMissing(clock.now(), recorder, sightings, record);",
    replace: "if (error.kind !== 'cancelled') await takeMissing(clock.now(), recorder, sightings, record);",
    tests: UNLISTED_TESTS,
  },
  {
    name: 'absences-are-joined',
    mistake: 'two 404s weeks apart count as one absence, though the operation was read between them',
    file: SIGHTINGS,
    find: '    missing.delete(operationId);\n',
    replace: '',
    tests: UNLISTED_TESTS,
  },
  {
    name: 'first-list-page-again',
    mistake: 'the second page of the project list is never asked for',
    file: 'functions/poller/account/discovery/fetch-list-page.ts',
    find: '...(cursor !== undefined && { cursor })',
    replace: '...(cursor === undefined && { cursor })',
    tests: 'test/poller/account/discovery/discover-projects.test.ts',
  },
  {
    name: 'any-error-restarts',
    mistake: 'every error at a resume cursor restarts the backfill',
    file: 'functions/poller/project/poll-project.ts',
    find: "if (page.kind !== 'rejected' || !isStored) return",
    replace: 'if (!isStored) return',
    tests: WALK_TESTS,
  },
  {
    name: 'all-is-cut',
    mistake: 'backfill: all is cut at the depth of the others',
    file: WALK,
    find: "depthMs: backfill === 'all' ? undefined : backfillDepthMs,",
    replace: 'depthMs: backfillDepthMs,',
    tests: WALK_TESTS,
  },
  {
    name: 'page-outlives-deadline',
    mistake: 'page requests outlive the deadline',
    file: 'functions/poller/project/fetch-page.ts',
    find: '{ permit, known, ...(signal && { signal }) }',
    replace: '{ permit, known }',
    tests: WALK_TESTS,
  },
  {
    name: 'feed-runs-ahead',
    mistake: 'the feed advances past what was written behind a long round',
    file: 'functions/api/read-model/feed-position.ts',
    find: 'Math.min(Date.parse(newest), started_at_ms) - OVERLAP_MS',
    replace: 'Date.parse(newest) - OVERLAP_MS',
    tests: 'test/api/read-model/event-feed.test.ts',
  },
  {
    name: 'freed-key-stays-bound',
    mistake: 'a freed idempotency key does not take the corrected request',
    file: 'shared/commands/idempotency-store.ts',
    find: "      equals('state', 'free'),\n",
    replace: '',
    tests: 'test/commands/idempotency-store.test.ts',
  },
  {
    name: 'own-part-keeps-permit',
    mistake: 'a returned permit is not given back to its own share of the rate limit',
    file: BUDGET,
    find: 'if (this.#ownLimit !== undefined) this.#own = unspend(this.#usable(this.#ownLimit, nowMs), this.#own);',
    replace: '',
    tests: BUDGET_TESTS,
  },
  {
    name: 'own-part-sends-on',
    mistake: 'an own share of the rate limit ignores Retry-After',
    file: BUDGET,
    find: 'const own = { ...this.#own, pausedUntilMs: this.#whole.pausedUntilMs };',
    replace: 'const own = this.#own;',
    tests: BUDGET_TESTS,
  },
  {
    name: 'false-hints-are-believed',
    mistake: 'a hint field that moves without transitions is believed for ever',
    file: 'functions/poller/planner/hints/hint-fields.ts',
    find: 'return moveCount <= FALSE_ALARMS_PER_HIT_MAX * Math.max(10, hitCount);',
    replace: 'return moveCount >= 0 || hitCount >= 0;',
    tests: 'test/poller/planner/hints/hint-fields.test.ts',
  },
  {
    name: 'page-limit-is-complete',
    mistake: 'a walk that meets its page limit counts as complete',
    file: PAGES,
    find: "if (pagesRead >= pagesMax) return { next: undefined, outcome: 'interrupted' };",
    replace: "if (pagesRead >= pagesMax) return { next: undefined, outcome: 'complete' };",
    tests: PAGES_TESTS,
  },
  {
    name: 'one-404-is-vanished',
    mistake: 'one 404 counts as vanished',
    file: UNLISTED,
    find: 'if (missingForMs >= VANISHED_AFTER_MS)',
    replace: 'if (missingForMs >= 0 * VANISHED_AFTER_MS)',
    tests: UNLISTED_TESTS,
  },
  {
    name: 'gone-on-a-partial-list',
    mistake: 'a project is gone though the list without it was partial',
    file: 'functions/poller/account/discovery/absence.ts',
    find: "return unavailableCount === 0 && malformedRowCount === 0 && end === 'end';",
    replace: 'return unavailableCount + malformedRowCount + end.length >= 0;',
    tests: 'test/poller/account/absence.test.ts',
  },
  {
    name: 'malformed-row-ends-the-list',
    mistake: 'a page of malformed rows ends the list',
    file: 'functions/poller/project/walk.ts',
    find: 'if (cursor === undefined || operations.length + malformedRowCount === 0) return true;',
    replace: 'if (cursor === undefined || operations.length === 0 || malformedRowCount > 0) return true;',
    tests: PAGES_TESTS,
  },
  {
    name: 'resumed-without-overlap',
    mistake: 'a resumed walk looks for nothing that became visible late',
    file: WALK,
    find: 'bound: boundOf(project?.watermark, walkLimits.overlapMs),',
    replace: 'bound: boundOf(project?.watermark, project?.resume === undefined ? walkLimits.overlapMs : 0),',
    tests: WALK_TESTS,
  },
  {
    name: 'failed-sweep-is-done',
    mistake: 'a sweep that failed counts as done',
    file: PROGRESS,
    find: "if (sweep.outcome === 'complete')\n",
    replace: "if (sweep.outcome !== 'interrupted')\n",
    tests: PROGRESS_TESTS,
  },
];
