/** What was reported as failing and has not ended within a day is brought to mind again, once a day. */

import { type Incident, REMINDER_MS } from '../../shared/alerts/incident.ts';
import type { Notice } from '../../shared/alerts/notice.ts';
import { standingOf } from '../../shared/alerts/operation-standing.ts';
import type { SendDeps } from './plan-round.ts';
import { mutedUntilMs } from './policy.ts';

export async function addReminders(deps: SendDeps, channel: string): Promise<void> {
  const { store, policy, clock } = deps;
  for (const stored of await store.incidents.listReminders(channel)) {
    if (!stored.isReadable) continue;
    const { incident } = stored;
    const reminder = reminderOf(stored.key.sk, incident, clock.now());
    if (reminder !== undefined && mutedUntilMs(reminder, policy, clock.now()) > 0) continue;
    if (reminder !== undefined) await store.notices.add(channel, reminder);
    await store.incidents.change(channel, stored, (found) => postponed(found, clock.now()));
  }
}

function reminderOf(name: string, incident: Incident, nowMs: number): Notice | undefined {
  const { place, operations, remind_at_ms: remindAtMs } = incident;
  if (place === undefined || remindAtMs === undefined || standingOf(operations) !== 'failing')
    return undefined;
  const failing = Object.entries(operations).filter(([, { state }]) => state === 'failing');
  const [operationId] = failing.length === 1 && place.project_id !== undefined ? (failing[0] ?? []) : [];
  return {
    ...place,
    // The same for each try of this reminder, so that a crash between the two writes adds no second one.
    id: `reminder ${name} ${remindAtMs}`,
    kind: 'reminder',
    severity: 'warning',
    observed_at: new Date(nowMs).toISOString(),
    ...(operationId !== undefined && { operation_id: operationId }),
  };
}

function postponed(incident: Incident, nowMs: number): Incident {
  const { remind_at_ms: _due, ...rest } = incident;
  return standingOf(incident.operations) === 'failing'
    ? { ...rest, remind_at_ms: nowMs + REMINDER_MS }
    : rest;
}
