/** Notes alerts that an acknowledgement held back: they are counted for the channel's next digest, and no longer wait. */

import { countAcknowledged } from '../deciding/messages/digest.ts';
import type { WaitingNotice } from '../deciding/notices/pending-notice.ts';
import { hold, type Turn } from './turn.ts';

/**
 * The count is written first. A crash after it counts these alerts twice in one digest, and loses none. Resolves to
 * false when another notifier holds the channel.
 */
export async function noteAcknowledged(turn: Turn, found: readonly WaitingNotice[]): Promise<boolean> {
  if (found.length === 0) return true;
  const { deps, channel, state } = turn;
  const healed = countAcknowledged(state?.healed, found.length, deps.clock.now());
  if (!(await hold(turn, { healed }))) return false;
  const sks = found.map(({ sk }) => sk);
  await deps.store.ends.settle(channel.name, sks, { outcome: 'acknowledged' });
  deps.telemetry.log('info', 'alert.acknowledged', { channel: channel.name, notice_count: sks.length });
  return true;
}
