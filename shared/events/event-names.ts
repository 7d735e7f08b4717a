/** Names the events on the bus. Publishers need only this of the catalog, whose schemas are built when they are loaded. */

import type { JournalEntry } from '../records/journal-entries.ts';

/** Every event on the bus has this `source`. */
export const EVENT_SOURCE = 'operations-bridge';

/** Test events have this `source`, so no rule for real events gets them. */
export const TEST_EVENT_SOURCE = `${EVENT_SOURCE}.test` as const;

/**
 * An event that is published again by a replay has one resource, which begins with this and ends with the id of the
 * replay. No other event of the bridge has a resource, so rules leave replays out by `"resources": [{"exists": false}]`.
 */
export const REPLAY_RESOURCE = `${EVENT_SOURCE}/replay/`;

/** The type of a journal entry decides the `detail-type` of its event. */
export const DETAIL_TYPES = {
  state_changed: 'Operation State Changed',
  watch_ended: 'Operation Watch Ended',
  project_discovered: 'Project Discovered',
  project_unreachable: 'Project Unreachable',
  project_transferred: 'Project Transferred',
  usage_crossed: 'Project Usage Crossed',
  account_watched: 'Account Watched',
  account_degraded: 'Account Degraded',
  account_recovered: 'Account Recovered',
  operation_stalled: 'Operation Stalled',
  command_settled: 'Command Settled',
  branch_ready: 'Branch Ready',
  branch_failed: 'Branch Failed',
  compute_state_changed: 'Compute State Changed',
} as const satisfies Record<JournalEntry['type'], string>;
