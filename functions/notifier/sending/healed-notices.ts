/**
 * Notes failures that ended before they woke people: they are counted for the channel's next digest, their operations
 * stand as recovered, and their notices no longer wait.
 */

import { incidentOf } from '../../../shared/alerts/incident-key.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { countHealed } from '../deciding/messages/digest.ts';
import { noteHealed } from '../deciding/messages/incident.ts';
import { WRITES_AT_ONCE } from './notice-ends.ts';
import type { HealedNotices } from './plan-round.ts';
import { hold, type Turn } from './turn.ts';

/**
 * The count is written first. A crash after it counts these failures twice in one digest, and loses none. Resolves to
 * false when another notifier holds the channel.
 */
export async function noteHealedNotices(turn: Turn, { waiting, incidents }: HealedNotices): Promise<boolean> {
  if (waiting.length === 0) return true;
  const { deps, channel, state } = turn;
  const notices = waiting.map(({ notice }) => notice);
  const healed = countHealed(state?.healed, notices, deps.clock.now());
  if (!(await hold(turn, { healed }))) return false;
  await forEachConcurrently([...Map.groupBy(notices, incidentOf)], WRITES_AT_ONCE, async ([name, own]) => {
    const stored = incidents.get(name);
    if (stored === undefined) return;
    await deps.store.incidents.change(channel.name, stored, (incident) => noteHealed(incident, own));
  });
  const sks = waiting.map(({ sk }) => sk);
  await deps.store.ends.settle(channel.name, sks, { outcome: 'healed' });
  deps.telemetry.log('info', 'alert.healed', { channel: channel.name, notice_count: sks.length });
  return true;
}
