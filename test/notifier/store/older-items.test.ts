/**
 * Tests items that versions before 2026-11 wrote: waiting notices in them are reported, and reported ones are not
 * reported again.
 */

import { describe, expect, test } from 'vitest';
import { aNotice, aNotifier, anEvent, idsOf } from '../channel-under-test.ts';

const KEY = { pk: 'ALERT#slack', sk: 'INCIDENT#main|solitary-cell-58208823|start_compute' };

function olderItem(fields: object) {
  const body = { pending: [], told_ids: [], told_at_ms: {}, ...fields };
  return { revision: 7, body: JSON.parse(JSON.stringify(body)), work: 'ALERT#slack' };
}

describe('the item of an incident as an older version wrote it', () => {
  test('gives up what waits in it, and no event that it reported is reported again', async () => {
    const { deliver, slack, table, pass } = aNotifier();
    const [waiting, known] = [anEvent(), anEvent()];
    const pending = [aNotice({ id: waiting.detail.id }), aNotice({ id: 'second' })];
    table.sync.update({ key: KEY, set: olderItem({ pending, told_ids: [known.detail.id] }) });

    await deliver(known, waiting);
    await pass(20);

    expect(idsOf(slack).toSorted()).toEqual([waiting.detail.id, 'second'].toSorted());
    expect(table.sync.queryWork({ work: 'ALERT#slack' })).toEqual([]);
    expect(table.sync.peek(KEY)?.['body']).toMatchObject({ pending: [], told_ids: [known.detail.id] });
  });

  test('with one notice in it that cannot be read reports the others, and says where that one was', async () => {
    const { slack, table, pass, measured } = aNotifier();
    const broken = { id: 'broken', kind: 'something else' };
    table.sync.update({ key: KEY, set: olderItem({ pending: [aNotice({ id: 'fine' }), broken] }) });

    await pass(2);

    expect(idsOf(slack).toSorted()).toEqual(['broken', 'fine']);
    expect(slack.messages.flatMap(({ message }) => message.flat())).toContainEqual(
      expect.objectContaining({ id: 'broken', kind: 'unreadable', project_id: 'solitary-cell-58208823' }),
    );
    expect(measured('ItemsUnreadable')).toEqual([1]);
  });

  test('keeps its thread, so that the message on Slack goes on', async () => {
    const { deliver, deps, slack, table } = aNotifier();
    const thread = { channel: 'C', ts: '1.1', first: aNotice(), toldCount: 2, isOver: false };
    const toldAt = { 'failed warning': 0 };
    table.sync.update({ key: KEY, set: olderItem({ thread, told_at_ms: toldAt }) });
    const threads: unknown[] = [];
    const listening = {
      ...slack.channel,
      send: (...[message, before]: Parameters<typeof slack.channel.send>) => {
        threads.push(before?.thread);
        return slack.channel.send(message);
      },
    };
    Object.assign(deps, { channels: [listening] });

    await deliver(anEvent());

    expect(threads).toEqual([thread]);
  });
});

describe('a channel whose own item was changed by hand', () => {
  test.each([
    [
      'every field is something else',
      { revision: 'x', held_until_ms: 'soon', sent_at_ms: 'now', message: 3 },
    ],
    ['the revision is a list', { revision: [1], failures_in_row: {} }],
  ])('goes on when %s', async (_what, set) => {
    const { deliver, slack, table } = aNotifier();
    table.sync.update({ key: { pk: 'ALERT#slack', sk: 'CHANNEL' }, set });
    const event = anEvent();

    await deliver(event);

    expect(idsOf(slack)).toEqual([event.detail.id]);
  });
});

describe('a notice whose item cannot be read', () => {
  test('is reported by what its key says', async () => {
    const { deliver, slack, table, pass } = aNotifier();
    slack.state = 'down';
    const event = anEvent();
    await deliver(event);
    const key = { pk: 'ALERT#slack', sk: `NOTICE#${event.detail.id}` };
    table.sync.update({ key, set: { notice: 'torn' } });
    slack.state = 'up';
    await pass(2);

    expect(slack.messages.flatMap(({ message }) => message.flat())).toMatchObject([
      {
        id: event.detail.id,
        kind: 'unreadable',
        project_id: 'solitary-cell-58208823',
        action: 'start_compute',
      },
    ]);
  });
});
