/**
 * Limits a failure of one poll, or of one call of the table, to that poll: the invocation goes on, and the next turn
 * comes.
 */

import { toError } from '../../../shared/runtime/errors.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import {
  type AccountHealth,
  type HealthDeps,
  markFailed,
  publishRejectedKey,
} from './status/publish-health.ts';

export async function surviveFailure(
  deps: HealthDeps,
  health: AccountHealth,
  task: () => Promise<void>,
): Promise<void> {
  try {
    await task();
  } catch (error) {
    const kind = isUpstreamError(error) ? error.kind : undefined;
    if (kind === 'unauthorized') return publishRejectedKey(deps, health);
    if (kind === 'cancelled') return;
    if (kind !== undefined) markFailed(health, deps.clock.now());
    const { name, message } = toError(error);
    deps.telemetry.log('error', 'poll.failed', { reason: name, message });
  }
}
