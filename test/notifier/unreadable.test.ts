import { describe, expect, test } from 'vitest';
import { incidentOf, noticeOf } from '../../shared/alerts/notice.ts';
import { alertChannelKey, alertIncidentKey } from '../../shared/store/keys.ts';
import { aNotifier, anEvent, idsOf } from './channel-under-test.ts';

describe('an item of the notifier that cannot be read', () => {
  test('an incident: the others go out, and its own notices stay in the queue', async () => {
    const { deliver, slack, table } = aNotifier();
    const event = anEvent();
    await deliver(event);
    const notice = noticeOf('Operation State Changed', event.detail);
    if (notice === undefined) throw new Error('Nobody has to know');
    const key = alertIncidentKey('slack', incidentOf(notice));
    await table.update({ key, set: { body: 'of tomorrow', work: 'ALERT#slack' } });
    const damaged = table.sync.peek(key);
    const other = anEvent({ action: 'create_branch' });

    expect(await deliver(other)).toEqual({ batchItemFailures: [] });
    expect((await deliver(anEvent())).batchItemFailures).toHaveLength(1);

    expect(idsOf(slack)).toEqual([event.detail.id, other.detail.id]);
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
