/** What events are called on the bus: all that a publisher needs of the catalog, whose schemas are built when they are loaded. */

import type { JournalEntry } from '../core/journal/journal-entries.ts';

/** `source` of every event on the bus. */
export const EVENT_SOURCE = 'operations-bridge';

/** `detail-type`, by the type of the journal entry that becomes the event. */
export const DETAIL_TYPES = {
  state_changed: 'Operation State Changed',
  watch_ended: 'Operation Watch Ended',
  project_discovered: 'Project Discovered',
  project_unreachable: 'Project Unreachable',
  account_degraded: 'Account Degraded',
  account_recovered: 'Account Recovered',
  operation_stalled: 'Operation Stalled',
  command_settled: 'Command Settled',
} as const satisfies Record<JournalEntry['type'], string>;
