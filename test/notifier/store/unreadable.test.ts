import { describe, expect, test } from 'vitest';
import { noticeOf } from '../../../functions/notifier/deciding/notice-of-event.ts';
import { alertChannelKey, alertIncidentKey } from '../../../shared/store/keys.ts';
import { aNotifier, anEvent, idsOf } from '../channel-under-test.ts';

describe('an item of the notifier that cannot be read', () => {
  test('an incident: its own notices and the others go out, and the item stays as it is', async () => {
    const { deliver, slack, table, pass } = aNotifier();
    const event = anEvent();
    await deliver(event);
    const notice = noticeOf('Operation State Changed', event.detail);
    if (notice === undefined) throw new Error('Nobody has to know');
    const key = alertIncidentKey('slack', `${notice.account_id}|${notice.project_id}|${notice.action}`);
    await table.update({ key, set: { body: 'of tomorrow', work: 'ALERT#slack' } });
    const damaged = table.sync.peek(key);
    const other = anEvent({ action: 'create_branch' });

    expect(await deliver(other)).toEqual({ batchItemFailures: [] });
    const own = anEvent();
    expect(await deliver(own)).toEqual({ batchItemFailures: [] });
    await pass(10);

    expect(idsOf(slack).toSorted()).toEqual([event.detail.id, other.detail.id, own.detail.id].toSorted());
    expect(table.sync.peek(key)).toEqual(damaged);
  });

  test('the state of a channel: it is not silent for ever', async () => {
    const { deliver, slack, table } = aNotifier();
    const first = anEvent();
    await deliver(first);
    await table.update({
      key: alertChannelKey('slack'),
      set: { sent_at_ms: 'of tomorrow', not_before_ms: 'x' },
    });
    const next = anEvent({ action: 'create_branch' });
    await deliver(next);

    expect(idsOf(slack)).toEqual([first.detail.id, next.detail.id]);
  });
});
