/**
 * Tests cases in which an earlier notifier lost, repeated or hid alerts. Each test failed before the defect was
 * mended.
 */

import { describe, expect, test } from 'vitest';
import { plainSlack } from '../../../functions/notifier/channels/slack-message.ts';
import { aNotice, aNotifier, anEvent, idsOf } from '../channel-under-test.ts';

const DAY_MINUTES = 1_440;

const RECOVERED = { status: 'finished', previous_status: 'failed', terminal: true, new_failures: 0 };

function sortedIds(events: readonly { readonly detail: { readonly id: string } }[]): readonly string[] {
  return events.map(({ detail }) => detail.id).toSorted();
}

/** Returns the largest number of messages that started within any span of this length. */
function mostWithin(times: readonly number[], spanMs: number): number {
  return Math.max(
    0,
    ...times.map((startMs) => times.filter((atMs) => atMs >= startMs && atMs < startMs + spanMs).length),
  );
}

describe('an item that cannot be read', () => {
  test('keeps no other alert of its channel back, and is counted and named', async () => {
    const { deliver, slack, table, pass, measured, logged } = aNotifier();
    table.sync.update({
      key: { pk: 'ALERT#slack', sk: 'INCIDENT#main|broken|start_compute' },
      set: { revision: 1, body: 'not an incident', work: 'ALERT#slack' },
    });
    const events = Array.from({ length: 50 }, (_, index) => anEvent({ project_id: `project-${index}` }));

    await deliver(...events);
    await pass(60);

    expect(idsOf(slack).toSorted()).toEqual(sortedIds(events));
    expect(measured('ItemsUnreadable').some((count) => count > 0)).toBe(true);
    expect(JSON.stringify(logged('alert.item_unreadable'))).toContain('INCIDENT#main|broken|start_compute');
  });
});

describe('a channel that is down', () => {
  test('takes nothing from the other one, however many notices wait, and everything is reported later', async () => {
    const { deliver, slack, email, pass } = aNotifier();
    const events = Array.from({ length: 2_000 }, () => anEvent());
    slack.state = 'down';

    for (let start = 0; start < events.length; start += 10) {
      const response = await deliver(...events.slice(start, start + 10));
      expect(response.batchItemFailures).toEqual([]);
    }
    await pass(20);
    const mailed = idsOf(email).toSorted();
    slack.state = 'up';
    await pass(20);

    expect(mailed).toEqual(sortedIds(events));
    expect(idsOf(slack).toSorted()).toEqual(sortedIds(events));
  });

  test('is tried again within minutes although it asks for a day', async () => {
    const { deliver, slack, pass, clock } = aNotifier();
    const startMs = clock.now();
    slack.state = 'down';
    slack.retryAfterMs = DAY_MINUTES * 60_000;
    await deliver(anEvent());
    slack.state = 'up';
    await pass(10);

    expect(slack.messages.map(({ atMs }) => (atMs - startMs) / 60_000)).toEqual([5]);
  });
});

describe('a mute', () => {
  test('keeps everything, and all of it is reported when it ends', async () => {
    const startMs = aNotifier().clock.now();
    const until = new Date(startMs + 8 * 3_600_000).toISOString();
    const { deliver, slack, email, pass } = aNotifier({
      mutes: [{ from: new Date(startMs).toISOString(), until }],
    });
    const events = Array.from({ length: 2_000 }, (_, index) =>
      anEvent({ project_id: `project-${index % 3}` }),
    );

    for (let hour = 0; hour < 8; hour++) {
      for (let start = hour * 250; start < (hour + 1) * 250; start += 10)
        await deliver(...events.slice(start, start + 10));
      if (hour < 7) await pass(60);
    }
    const during = slack.messages.length;
    await pass(80);

    expect(during).toBe(0);
    expect(idsOf(slack).toSorted()).toEqual(sortedIds(events));
    expect(idsOf(email).toSorted()).toEqual(sortedIds(events));
  });
});

describe('the pace of a channel', () => {
  test('holds in a storm, too', async () => {
    const { deliver, slack, email, pass } = aNotifier();
    const events = Array.from({ length: 3_000 }, (_, index) =>
      anEvent({ project_id: `project-${index % 900}` }),
    );

    for (let start = 0; start < events.length; start += 10) await deliver(...events.slice(start, start + 10));
    await pass(20);

    expect(idsOf(slack).toSorted()).toEqual(sortedIds(events));
    const times = (channel: typeof slack) => channel.messages.map(({ atMs }) => atMs);
    expect(mostWithin(times(slack), 60_000)).toBeLessThanOrEqual(5);
    expect(mostWithin(times(email), 30_000)).toBeLessThanOrEqual(1);
  });

  test('a refusal in the middle of a digest does not send the rest to another window', async () => {
    const { deliver, slack, pass } = aNotifier();
    await deliver(anEvent());
    const events = Array.from({ length: 150 }, () => anEvent({ failures_count: 1 }));
    slack.failAfterMessages = 2;
    for (let start = 0; start < events.length; start += 10) await deliver(...events.slice(start, start + 10));
    await pass(5);
    slack.failAfterMessages = undefined;
    await pass(3);

    expect(idsOf(slack).length).toBe(151);
  });
});

describe('something that fails for days', () => {
  test('sends few messages although it fails every minute, and each failure is in one of them', async () => {
    const { deliver, slack, pass } = aNotifier();
    const events = [];
    for (let minute = 0; minute < 3 * DAY_MINUTES; minute++) {
      const isEnd = minute % 2 === 1;
      const operation_id = `operation-${Math.floor(minute / 2)}`;
      const event = anEvent({
        operation_id,
        sequence: minute + 1,
        ...(isEnd && { ...RECOVERED, failures_count: 1 }),
      });
      events.push(event);
      await deliver(event);
      await pass(1);
    }
    expect(slack.messages.length).toBeLessThan(80);
    await pass(300);

    expect(idsOf(slack).toSorted()).toEqual(sortedIds(events));
  });

  test('is brought to mind once a day until it has ended', async () => {
    const { deliver, slack, pass } = aNotifier();
    await deliver(anEvent({ sequence: 1 }));
    await pass(3 * DAY_MINUTES + 10);
    const reminded = slack.messages.length;
    await deliver(anEvent({ ...RECOVERED, failures_count: 1, sequence: 2 }));
    await pass(3 * DAY_MINUTES);

    expect([reminded, slack.messages.length]).toEqual([4, 5]);
  });

  test('that ends as cancelled, the end is reported', async () => {
    const { deliver, slack } = aNotifier();

    await deliver(anEvent());
    await deliver(anEvent({ ...RECOVERED, status: 'cancelled', failures_count: 1 }));

    expect(slack.messages.map(({ message }) => message.flat().map(({ kind }) => kind))).toEqual([
      ['failed'],
      ['cancelled'],
    ]);
  });

  test('the failures before a recovery are reported with it or before it', async () => {
    const { deliver, slack, pass } = aNotifier();
    await deliver(anEvent({ sequence: 1 }));
    await deliver(anEvent({ sequence: 2 }));
    await deliver(anEvent({ ...RECOVERED, failures_count: 2, sequence: 3 }));
    await pass(30);

    expect(
      slack.messages
        .at(-1)
        ?.message.flat()
        .map(({ kind }) => kind),
    ).toEqual(['failed', 'recovered']);
  });

  test('a failure that comes after the recovery of its operation says that it is over', async () => {
    const { deliver, slack, pass } = aNotifier();
    await deliver(anEvent({ ...RECOVERED, failures_count: 2, sequence: 3 }));
    await pass(1);
    await deliver(anEvent({ sequence: 2 }));
    await pass(30);

    expect(slack.messages.at(-1)?.message.flat()).toMatchObject([{ kind: 'failed', has_ended: true }]);
  });
});

describe('a storm', () => {
  test('its messages begin with what is most severe, and so does each message in itself', async () => {
    const { deliver, slack, pass } = aNotifier();
    slack.state = 'down';
    const events = Array.from({ length: 1_000 }, (_, index) =>
      anEvent({ project_id: `project-${String(index % 400).padStart(3, '0')}` }),
    );
    const worst = anEvent({ project_id: 'zzz-last', failures_count: 3 });
    for (let start = 0; start < events.length; start += 10) await deliver(...events.slice(start, start + 10));
    await deliver(worst);
    slack.state = 'up';
    await pass(30);

    expect(idsOf(slack)[0]).toBe(worst.detail.id);
    expect(idsOf(slack).length).toBe(1_001);
  });
});

describe('a copy', () => {
  test('of an old event is known, however many the incident has had since', async () => {
    const { deliver, slack, pass } = aNotifier();
    const first = anEvent();
    await deliver(first);
    for (let batch = 0; batch < 80; batch++) {
      await deliver(...Array.from({ length: 10 }, () => anEvent()));
      await pass(6);
    }
    await pass(500);
    const before = idsOf(slack).length;
    await deliver(first);
    await pass(500);

    expect(before).toBe(801);
    expect(idsOf(slack).length).toBe(801);
  });
});

describe('a clock that was ahead', () => {
  test('silences no channel after it was put right', async () => {
    const { deliver, slack, email, pass, wait } = aNotifier();
    wait(DAY_MINUTES * 60_000);
    await deliver(anEvent());
    slack.state = 'down';
    await deliver(anEvent({ action: 'create_branch' }));
    slack.state = 'up';
    wait(-DAY_MINUTES * 60_000);
    const late = anEvent({ action: 'apply_config' });
    await deliver(late);
    await pass(10);

    expect(idsOf(slack)).toContain(late.detail.id);
    expect(idsOf(email)).toContain(late.detail.id);
  });
});

describe('the plain words for a message whose blocks are refused', () => {
  test('name every operation of it, also with hostile ids', () => {
    const notices = Array.from({ length: 100 }, (_, index) =>
      aNotice({
        id: `event-${index}`,
        operation_id: `operation-${index}-end`,
        project_id: '&'.repeat(200),
        action: '<>'.repeat(100),
      }),
    );
    const { text } = plainSlack([notices]);

    expect(notices.filter(({ operation_id = '' }) => !text.includes(operation_id))).toEqual([]);
    expect(text.length).toBeLessThan(40_000);
  });
});

describe('a policy with routes of projects alone', () => {
  test('alerts about the account go to every channel, and a warning says so', async () => {
    const { deliver, slack, email, logged } = aNotifier({
      routes: [{ project_ids: ['one'], channels: ['slack'] }],
    });
    const event = anEvent(
      { reason: 'key_rejected', project_id: undefined, operation_id: undefined, action: undefined },
      { 'detail-type': 'Account Degraded' },
    );

    await deliver(event);

    expect([idsOf(slack), idsOf(email)]).toEqual([[event.detail.id], [event.detail.id]]);
    expect(logged('alert.no_route').length).toBeGreaterThan(0);
  });
});

describe('an event that this version does not know', () => {
  test.each<[string, object, object]>([
    ['a newer schema', { schema: 2 }, {}],
    ['an unknown value of a field', { reason: 'something_new' }, { 'detail-type': 'Account Degraded' }],
    ['a number that is none', { failures_count: 'three' }, {}],
    ['no status', { status: undefined, new_failures: 1 }, {}],
  ])('%s still makes an alert, once', async (_what, detail, envelope) => {
    const { deliver, slack, email, pass } = aNotifier();
    const event = anEvent(detail, envelope);

    await deliver(event);
    await deliver(event);
    await pass(10);

    expect([idsOf(slack), idsOf(email)]).toEqual([[event.detail.id], [event.detail.id]]);
  });
});
