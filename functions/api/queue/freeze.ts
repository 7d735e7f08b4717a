/** Holds all commands of an account, and lets them go on: for an incident at the upstream, or for a change window. */

import type { AccountFreeze } from '../../../shared/commands/queue/account-freeze.ts';
import type { Wakes } from '../../../shared/commands/queue/wakes.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { Problem } from '../serving/problem.ts';
import type { AccountQueue } from './account-queue.ts';
import { type FreezeWatch, UNFROZEN_MS } from './freeze-watch.ts';

/** A freeze lasts for minutes at least. */
const RETRY_AFTER_SECONDS = '60';

/** Rejects with `Problem` `frozen`, which gives the reason. Commands in line wait without being asked to. */
export async function refuseWhileFrozen(watch: FreezeWatch): Promise<void> {
  const freeze = await watch.read();
  if (freeze === undefined) return;
  throw new Problem('frozen', {
    detail: `Commands of this account are held since ${freeze.changed_at}: ${sentenceOf(freeze.reason)} Nothing was sent. Send it with "Prefer: respond-async" to have it wait.`,
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
    provesNoWork: true,
  });
}

/** Ends a reason that a person wrote without a full stop. */
function sentenceOf(reason: string): string {
  return /[.!?]$/.test(reason) ? reason : `${reason}.`;
}

/** Resolves when no process sends a command any more that it takes on from now on, however lately it looked. */
export async function freezeAccount(
  { store, freeze }: Pick<AccountQueue, 'store' | 'freeze'>,
  { reason, client_id }: Pick<AccountFreeze, 'reason' | 'client_id'>,
  clock: Clock,
): Promise<void> {
  await store.writeFreeze({ is_frozen: true, reason, client_id });
  freeze.forget();
  await clock.sleep(UNFROZEN_MS);
}

/** More lines than this go on with the next sweep, within a minute. */
const WOKEN_LINES_MAX = 1_000;

export async function liftFreeze(
  { store }: AccountQueue,
  wakes: Wakes,
  {
    account_id,
    client_id,
    newId,
  }: {
    readonly account_id: string;
    readonly client_id: string;
    readonly newId: () => string;
  },
): Promise<void> {
  await store.writeFreeze({ is_frozen: false, reason: '', client_id });
  const projectIds = await store.findLines(WOKEN_LINES_MAX);
  const woken = projectIds.map((project_id) => ({ account_id, project_id, id: newId() }));
  if (woken.length > 0) await wakes.send(woken);
}
