/**
 * Lists mistakes that neither the tests nor the simulation noticed at first, each with the tests that must notice it now. `npm test`
 * tries them one by one; `npm run mutants` tries every change that StrykerJS knows.
 */

import { alarmMutants } from './named-alarms.ts';
import type { NamedMutant } from './named-mutant.ts';

export const mutants: readonly NamedMutant[] = [
  ...alarmMutants,
  {
    name: 'loser-settles',
    mistake: 'the loser of a race publishes its own Command Settled',
    file: 'shared/protocol/record-derived.ts',
    find: "return (await store.record(next, command.revision)) === 'recorded' ? next : undefined;",
    replace: 'await store.record(next, command.revision); return next;',
    tests: 'test/protocol/settle-commands.test.ts',
  },
  {
    name: 'rediscovered-begins-anew',
    mistake: 'a rediscovered project loses its bound and its journal',
    file: 'shared/records/project-record.ts',
    find: 'const { moved_to, ...before } = recorded ?? { ...EMPTY_JOURNAL, since, moved_to: undefined };',
    replace: 'const { moved_to, ...before } = { ...EMPTY_JOURNAL, since, moved_to: undefined };',
    tests: 'test/records/project-record.test.ts',
  },
  {
    name: 'first-list-page-again',
    mistake: 'the second page of the project list is never asked for',
    file: 'functions/poller/account/discovery/list-page.ts',
    find: '...(cursor !== undefined && { cursor })',
    replace: '...(cursor === undefined && { cursor })',
    tests: 'test/poller/account/discovery/discover-projects.test.ts',
  },
  {
    name: 'feed-runs-ahead',
    mistake: 'the feed advances past what was written behind a long round',
    file: 'functions/api/read-model/event-feed.ts',
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
    name: 'false-hints-are-believed',
    mistake: 'a hint field that moves without transitions is believed for ever',
    file: 'functions/poller/planner/list-hints.ts',
    find: 'counts.moves <= FALSE_ALARMS_PER_HIT_MAX * Math.max(HITS_ASSUMED, counts.found);',
    replace: 'counts.moves >= 0;',
    tests: 'test/poller/planner/poll-planner.test.ts',
  },
  {
    name: 'gone-on-a-partial-list',
    mistake: 'a project is gone though the list without it was partial',
    file: 'functions/poller/account/discovery/known-projects.ts',
    find: "return unavailableCount === 0 && malformedRowCount === 0 && end === 'end';",
    replace: 'return unavailableCount + malformedRowCount + end.length >= 0;',
    tests: 'test/poller/account/absence.test.ts',
  },
];
