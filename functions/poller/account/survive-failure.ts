/**
 * Limits a failure of one poll, or of one call of the table, to that poll: the invocation goes on, and the next turn
 * comes.
 */

import { toError } from '../../../shared/runtime/errors.ts';
import { isUpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { UnreadableKeyError } from './account-key.ts';
import {
  type AccountHealth,
  type HealthDeps,
  markFailed,
  publishRejectedKey,
} from './status/publish-health.ts';

const ADVICE_ON_UPSTREAM = 'It is tried again in its turn. If it lasts, check the upstream and the network.';

const ADVICE_ON_OTHERS =
  'It is tried again in its turn. If it lasts, check what the reason names: the table, the bus or a role of the function; any other reason is a fault of the bridge.';

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
    const isKeyUnreadable = error instanceof UnreadableKeyError;
    if (kind !== undefined || isKeyUnreadable) markFailed(health, deps.clock.now());
    // The key itself has reported that, once and not for each poll.
    if (isKeyUnreadable) return;
    const { name, message } = toError(error);
    deps.telemetry.log('error', 'poll.failed', {
      account_id: deps.store.accountId,
      reason: name,
      detail: message,
      advice: kind === undefined ? ADVICE_ON_OTHERS : ADVICE_ON_UPSTREAM,
    });
  }
}
