/**
 * Crashes at every step: a run of the notifier ends at its n-th call to the table or a channel, before or after the
 * call had its effect, for every n. Afterwards every notice is reported on every channel, and at most one message was
 * sent twice.
 */

import { describe, expect, test } from 'vitest';
import type { NotifierDeps } from '../../../functions/notifier/alert-store.ts';
import { createAlertStore } from '../../../functions/notifier/alert-store.ts';
import { notify } from '../../../functions/notifier/notify.ts';
import type { Table, TableIndexes } from '../../../shared/store/table.ts';
import { aNotifier, anEvent, type ChannelUnderTest, idsOf } from '../channel-under-test.ts';

const CALLS_MAX = 80;

describe('a notifier that dies', () => {
  test.each(['before', 'after'] as const)(
    '%s any one of its calls had its effect loses nothing',
    async (when) => {
      let crashCount = 0;
      for (let crashAt = 1; crashAt <= CALLS_MAX; crashAt++) {
        const { hasCrashed, channels, expected } = await runWithCrash(crashAt, when);
        if (hasCrashed) crashCount += 1;
        for (const channel of channels) {
          expect(new Set(idsOf(channel)), `crash ${when} call ${crashAt}`).toEqual(expected);
          expect(repeatedMessageCount(channel), `crash ${when} call ${crashAt}`).toBeLessThanOrEqual(1);
        }
      }
      expect(crashCount).toBeGreaterThan(20);
    },
  );
});

test('a message that was written down as sent is noted to its end by the next process, and not repeated', async () => {
  const { deliver, slack, table, pass } = aNotifier();
  slack.state = 'down';
  const [sent, other] = [anEvent(), anEvent()];
  await deliver(sent, other);
  const message = { phase: 'reported', sks: [`NOTICE#${sent.detail.id}`], at_ms: 1 };
  table.sync.update({ key: { pk: 'ALERT#slack', sk: 'CHANNEL' }, set: { message, not_before_ms: 0 } });
  slack.state = 'up';
  await pass(10);

  expect(idsOf(slack)).toEqual([other.detail.id]);
  expect(table.sync.peek({ pk: 'ALERT#slack', sk: `NOTICE#${sent.detail.id}` })).toMatchObject({
    outcome: 'reported',
  });
});

async function runWithCrash(crashAt: number, when: 'before' | 'after') {
  const notifier = aNotifier();
  const events = [anEvent(), anEvent({ project_id: 'other' }), anEvent()];
  const records = events.map((event, index) => ({ messageId: `m${index}`, body: JSON.stringify(event) }));
  const crash = createCrash(crashAt, when);
  const dying: NotifierDeps = {
    ...notifier.deps,
    store: createAlertStore(
      crash.around(notifier.table),
      crash.aroundIndexes(notifier.indexes),
      notifier.deps,
    ),
    channels: notifier.deps.channels.map((channel) => crash.aroundSend(channel)),
  };
  await Promise.race([notify(dying, records), crash.happened]);
  // The queue offers the batch again when its visibility time-out is over.
  notifier.wait(360_000);
  await notify(notifier.deps, records);
  await notifier.pass(15);
  return {
    hasCrashed: crash.hasHappened(),
    channels: [notifier.slack, notifier.email],
    expected: new Set(events.map(({ detail }) => detail.id)),
  };
}

/** Counts the messages that repeat a notice which an earlier message reported. */
function repeatedMessageCount({ messages }: ChannelUnderTest): number {
  const reported = new Set<string>();
  return messages.filter(({ message }) => {
    const ids = message.flat().map(({ id }) => id);
    const isRepeated = ids.some((id) => reported.has(id));
    for (const id of ids) reported.add(id);
    return isRepeated;
  }).length;
}

/** After the crash no call of this process returns, as after a kill. */
function createCrash(crashAt: number, when: 'before' | 'after') {
  let callCount = 0;
  const { promise: happened, resolve } = Promise.withResolvers<void>();
  const dead = () => new Promise<never>(() => {});
  const step = async <Result>(perform: () => Promise<Result>): Promise<Result> => {
    callCount += 1;
    if (callCount > crashAt) return dead();
    if (callCount < crashAt) return perform();
    if (when === 'after') await perform();
    resolve();
    return dead();
  };
  return {
    happened,
    hasHappened: () => callCount >= crashAt,
    around: (table: Table): Table => ({
      get: (key) => step(() => table.get(key)),
      getMany: (keys) => step(() => table.getMany(keys)),
      update: (update) => step(() => table.update(update)),
      queryWork: (query) => step(() => table.queryWork(query)),
      queryWorkPage: (query) => step(() => table.queryWorkPage(query)),
    }),
    aroundIndexes: (indexes: TableIndexes): TableIndexes => ({
      query: (query) => step(() => indexes.query(query)),
    }),
    aroundSend: <Sender extends NotifierDeps['channels'][number]>(channel: Sender): Sender => ({
      ...channel,
      send: (message) => step(() => channel.send(message)),
    }),
  };
}
