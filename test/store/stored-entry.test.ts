/** The form in which journal entries are stored loses nothing and adds nothing: copies of an event are byte-equal. */

import { expect, test } from 'vitest';
import type { JournalEntry } from '../../shared/core/records/journal-entries.ts';
import { fromStored, toStored } from '../../shared/store/stored-entry.ts';

const every = { id: 'e-1', revision: 1, observed_at: '2026-01-15T12:00:00.000Z' };
const entries: readonly JournalEntry[] = [
  {
    ...every,
    type: 'state_changed',
    sequence: 1,
    previous_status: null,
    status: 'running',
    failures_count: 0,
    new_failures: 0,
    operation_updated_at: '2026-01-15T12:00:00Z',
    observed_by: 'poll',
  },
  {
    ...every,
    type: 'operation_stalled',
    status: 'running',
    failures_count: 0,
    open_ms: 7_000,
    threshold_ms: 6_000,
  },
  { ...every, type: 'watch_ended', reason: 'vanished', status: 'running', failures_count: 0 },
  { ...every, type: 'project_discovered' },
  { ...every, type: 'account_degraded', reason: 'key_rejected' },
  { ...every, type: 'command_settled', outcome: 'succeeded', operations: [], missing: [] },
];

test.each(entries)('an entry of type $type is read as it was written', (entry) => {
  expect(fromStored(toStored(entry))).toEqual(entry);
});
