/** Tests when the daily reminders of a failure end that no event ends. */

import { expect, test } from 'vitest';
import { acknowledge, createIncidentStore, incidentIdOf } from '../../shared/alerts/incidents.ts';
import { createMuteStore } from '../../shared/alerts/mutes.ts';
import { accountDegraded } from '../../shared/events/catalog.ts';
import { accountItemKey } from '../../shared/store/keys.ts';
import { aNotifier, anEvent } from './channel-under-test.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

type Notifier = ReturnType<typeof aNotifier>;

/** Lets days pass, in which DynamoDB deletes what has expired. */
async function days({ wait, pass, table, clock }: Notifier, count: number): Promise<void> {
  for (let day = 0; day < count; day++) {
    wait((DAY_MINUTES - 2) * MINUTE_MS);
    table.sync.expire(clock.now());
    await pass(2);
  }
}

const remindersOf = ({ email }: Notifier) =>
  email.messages.flatMap(({ message }) => message.flat()).filter(({ kind }) => kind === 'reminder');

test('they end when a person removes an account that cannot be read', async () => {
  const notifier = aNotifier();
  await notifier.deliver({ 'detail-type': 'Account Degraded', detail: accountDegraded.example });
  await days(notifier, 2);
  const before = remindersOf(notifier).length;
  await notifier.table
    .as('api')
    .update({ key: accountItemKey(accountDegraded.example.account_id), set: { state: 'removed' } });
  await days(notifier, 3);

  expect([before, remindersOf(notifier).length]).toEqual([2, 2]);
});

test('they do not come back when the record of an acknowledged incident has expired', async () => {
  const notifier = aNotifier();
  const { clock, table, deliver, pass } = notifier;
  await deliver(anEvent());
  await pass(2);
  const { project_id, action } = anEvent().detail as unknown as Record<string, string>;
  await createIncidentStore(table.as('api'), 'main', { clock }).change(
    incidentIdOf(`main|${project_id}|${action}`),
    (found) => found && acknowledge(found, { at: new Date(clock.now()).toISOString(), client_id: 'marta' }),
  );
  await days(notifier, 50);

  expect(remindersOf(notifier)).toEqual([]);
});

test('they come although a hundred others are muted, and those follow within an hour of the end of their mute', async () => {
  const notifier = aNotifier();
  const { clock, table, indexes, deliver, pass } = notifier;
  for (let place = 0; place < 100; place++)
    await deliver(
      anEvent({ account_id: 'dark', project_id: `project-${place}`, operation_id: `op-${place}` }),
    );
  await pass(5);
  await deliver(anEvent({ operation_id: 'op-main' }));
  const mutes = createMuteStore(table.as('api'), indexes, 'dark', { clock });
  await mutes.add({
    mute_id: 'mute-1',
    reason: 'a migration',
    client_id: 'marta',
    durationMs: 10 * DAY_MINUTES * MINUTE_MS,
  });
  await days(notifier, 3);
  await pass(5);
  const during = remindersOf(notifier);
  await mutes.lift('mute-1', 'marta');
  await pass(65);

  expect(during.map(({ account_id }) => account_id)).toEqual(['main', 'main', 'main']);
  expect(remindersOf(notifier).filter(({ account_id }) => account_id === 'dark')).toHaveLength(100);
});
