/** Waits while operations that the bridge has recorded hold a project. It reads the table and sends no request. */

import type { CommandRequest } from '../../../shared/commands/command-request.ts';
import { findLockHolders } from '../../../shared/commands/lock-holders.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { waitFor } from '../serving/wait-for.ts';
import type { UpstreamAccount } from './upstream-account.ts';
import type { WaitingPlace } from './waiting-place.ts';

export interface LockReleaseDeps {
  readonly account: Pick<UpstreamAccount, 'work' | 'recording' | 'wishForReading'>;
  readonly clock: Clock;
  readonly place: WaitingPlace;
}

/** The command waits until then, in milliseconds since the epoch by our clock, or until the signal aborts. */
export interface Patience {
  readonly untilMs: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves when nothing that is recorded holds the project, when the time is over, or at once when the caller has no
 * free place. What the table does not answer is left to the upstream, which refuses a command while a lock is held.
 */
export async function awaitLockRelease(
  { account, clock, place }: LockReleaseDeps,
  projectId: string,
  { untilMs, signal }: Patience,
): Promise<void> {
  const isHeld = async () => {
    const holders = await findLockHolders(account, projectId).catch(() => []);
    return holders.length > 0;
  };
  await waitFor({
    read: isHeld,
    isDone: (held) => !held,
    waitMs: untilMs - clock.now(),
    clock,
    signal,
    async beginWait() {
      const endWait = await place.beginWait();
      if (endWait !== undefined) await account.wishForReading(projectId);
      return endWait;
    },
  });
}

/** Returns the project whose lock a command needs. A command about no single project needs none. */
export function lockedProjectOf({ ids, body }: CommandRequest): string | undefined {
  const named = ids['project_id'] ?? body?.['project_id'];
  return typeof named === 'string' ? named : undefined;
}
