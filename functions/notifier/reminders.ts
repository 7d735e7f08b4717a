/** Reminds people once a day of what was reported as failing and has not ended since. */

import type { Clock } from '../../shared/runtime/clock.ts';
import { alertListOf } from '../../shared/store/keys.ts';
import { type Key, LIST_INDEX, type TableIndexes } from '../../shared/store/table.ts';
import { type Incident, REMINDER_MS } from './deciding/incident.ts';
import { isAcknowledged, standingOf } from './deciding/incident-record.ts';
import type { Notice } from './deciding/notice.ts';
import { type Mutes, mutedUntilMs } from './deciding/policy.ts';
import type { IncidentItems } from './incidents.ts';
import type { IncidentMemory, StoredIncident } from './sending/channel-state.ts';
import type { AcknowledgedIncidents } from './sending/turn.ts';
import type { NoticeInbox } from './store-event.ts';

/** One sweep takes at most this many reminders, and the next sweep takes the rest. */
const REMINDERS_MAX = 100;

export function createDueReminders(indexes: TableIndexes, clock: Clock, items: IncidentItems): DueReminders {
  return {
    async listReminders(channel) {
      const { keys } = await indexes.query({
        index: LIST_INDEX,
        partition: alertListOf(channel, 'reminders'),
        limit: REMINDERS_MAX,
      });
      const nowIso = new Date(clock.now()).toISOString();
      const due = keys.filter(({ sortKey }) => sortKey <= nowIso);
      return items.readMany(due.map(({ pk, sk }): Key => ({ pk, sk })));
    },
  };
}

export interface DueReminders {
  /** Resolves to the incidents that have been failing for a day since they were last reported. */
  listReminders(channel: string): Promise<readonly StoredIncident[]>;
}

export interface ReminderDeps {
  readonly store: {
    readonly reminders: DueReminders;
    readonly inbox: NoticeInbox;
    readonly incidents: IncidentMemory;
  } & AcknowledgedIncidents;
  readonly policy: Mutes;
  readonly clock: Clock;
}

export async function addReminders({ store, policy, clock }: ReminderDeps, channel: string): Promise<void> {
  for (const stored of await store.reminders.listReminders(channel)) {
    if (!stored.isReadable) continue;
    const { incident } = stored;
    const reminder = reminderOf(stored.key.sk, incident, clock.now());
    if (reminder !== undefined && mutedUntilMs(reminder, policy, clock.now()) > 0) continue;
    if (reminder !== undefined && !(await isAcknowledgedNow(store, reminder)))
      await store.inbox.add(channel, reminder);
    await store.incidents.change(channel, stored, (found) => postponed(found, clock.now()));
  }
}

async function isAcknowledgedNow(
  { readAcknowledged }: AcknowledgedIncidents,
  reminder: Notice,
): Promise<boolean> {
  return (await readAcknowledged()).some((record) => isAcknowledged(reminder, record));
}

function reminderOf(name: string, incident: Incident, nowMs: number): Notice | undefined {
  const { place, operations, remind_at_ms: remindAtMs } = incident;
  if (place === undefined || remindAtMs === undefined || standingOf(operations) !== 'failing')
    return undefined;
  const failing = Object.entries(operations).filter(([, { state }]) => state === 'failing');
  const [operationId] = failing.length === 1 && place.project_id !== undefined ? (failing[0] ?? []) : [];
  return {
    ...place,
    // Each attempt at this reminder gives it the same id, so that a crash between the two writes adds no second one.
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
