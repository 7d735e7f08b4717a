/** Decides what the overview says first: whether events are on time. */

import type { AccountStatus } from '../../../../shared/core/records/account-status.ts';
import type { Health } from '../../bridge/decide-health.ts';

/** `first_reading` means that nothing can be on time or late yet. */
export type Verdict = 'on_time' | 'late' | 'first_reading' | 'paused';

/**
 * `status` is undefined before the poller's first report. A project that is new while others are watched does not
 * begin a first reading anew.
 */
export function verdictOf(
  { healthy, state }: Pick<Health, 'healthy' | 'state'>,
  status: Pick<AccountStatus, 'last_complete_walk_at' | 'points'> | undefined,
): Verdict {
  if (!healthy) return 'late';
  if (state === 'paused') return 'paused';
  const isWatched = status?.points.some(({ delay_p50_ms }) => delay_p50_ms !== undefined) === true;
  return status?.last_complete_walk_at === undefined && !isWatched ? 'first_reading' : 'on_time';
}
