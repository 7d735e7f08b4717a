/** Builds the status of a lane that has little to do. */

import type { LaneStatus } from '../../shared/accounts/lanes.ts';

export function aLaneStatus(changes: Partial<LaneStatus> = {}): LaneStatus {
  return {
    lane: 0,
    written_at: '2026-01-15T12:00:00.000Z',
    account_count: 90,
    load_percent: 40,
    event_loop_delay_ms: 20,
    late_decision_ms: 60,
    memory_mb: 180,
    sockets_max: 12,
    advice: 'none',
    set_aside: [],
    ...changes,
  };
}
