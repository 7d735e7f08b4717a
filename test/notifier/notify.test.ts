import { describe, expect, test } from 'vitest';
import { sweep } from '../../functions/notifier/sweep.ts';
import { createIncidentStore, incidentIdOf } from '../../shared/alerts/incidents.ts';
import { REPLAY_RESOURCE } from '../../shared/events/event-names.ts';
import { aNotifier, anEvent, idsOf } from './channel-under-test.ts';

describe('the notifier', () => {
  test('a failure is reported at once, on every channel', async () => {
    const { deliver, slack, email } = aNotifier();
    const event = anEvent();

    expect(await deliver(event)).toEqual({ batchItemFailures: [] });

    expect([idsOf(slack), idsOf(email)]).toEqual([[event.detail.id], [event.detail.id]]);
  });

  test('a copy of an event is reported once, also days later', async () => {
    const { deliver, slack, pass, wait, deps } = aNotifier();
    const event = anEvent();

    await deliver(event, event);
    wait(3 * 86_400_000);
    await deliver(event);
    await pass(10);

    expect(idsOf(slack)).toEqual([event.detail.id]);
    expect(await deps.store.waiting.list('slack', 10, () => true)).toEqual([]);
  });

  test('further failures of the same project and action become one digest that lists them all', async () => {
    const { deliver, slack, pass } = aNotifier();
    const events = Array.from({ length: 20 }, () => anEvent());

    for (const event of events) await deliver(event);
    await pass(6);

    expect(slack.messages.map(({ message }) => message.flat().length)).toEqual([1, 19]);
    expect(new Set(idsOf(slack)).size).toBe(20);
  });

  test('a message that is refused for good is kept for a person, and does not hold others up', async () => {
    const { deliver, slack, table, pass, measured } = aNotifier();
    slack.state = 'refuses';
    const refused = anEvent();
    await deliver(refused);
    expect(measured('AlertsRefused')).toEqual([1]);
    slack.state = 'up';
    const next = anEvent({ action: 'create_branch' });

    await deliver(next);
    await pass(10);

    expect(idsOf(slack)).toEqual([next.detail.id]);
    const parked = table.sync.items().filter((item) => item['kind'] === 'parked_alert');
    expect(parked).toMatchObject([{ pk: 'ALERT#slack', notice_ids: [refused.detail.id], reason: 'refused' }]);
  });

  test('every sweep measures for how long a channel has taken nothing, and 0 when all is well', async () => {
    const { deliver, slack, pass, measured } = aNotifier();
    await pass(1);
    slack.state = 'down';
    await deliver(anEvent());
    await pass(3);

    expect(measured('ChannelDeafMs')).toEqual([0, 60_000, 120_000, 180_000]);
  });

  test('an escalation and a recovery do not wait behind the failures before them', async () => {
    const { deliver, slack } = aNotifier();

    await deliver(anEvent());
    await deliver(anEvent({ failures_count: 3 }));
    await deliver(
      anEvent({ status: 'finished', previous_status: 'running', failures_count: 3, new_failures: 0 }),
    );

    expect(
      slack.messages.map(({ message }) => message.flat().map(({ kind, severity }) => `${kind} ${severity}`)),
    ).toEqual([['failed warning'], ['failed critical'], ['recovered info']]);
  });

  test('replayed events and ordinary progress cause no alert', async () => {
    const { deliver, slack, pass } = aNotifier();

    await deliver(anEvent({}, { 'replay-name': 'yesterday' }));
    await deliver(anEvent({}, { resources: [`${REPLAY_RESOURCE}a-replay`] }));
    await deliver(anEvent({ status: 'finished', failures_count: 0, new_failures: 0 }));
    await pass(2);

    expect(slack.messages).toEqual([]);
  });

  test('an operation that was only open in a project that is gone leaves no incident', async () => {
    const { deliver, slack, table, clock } = aNotifier();
    const gone = { project_id: 'gone-pond-12345678', reason: 'project_gone' };
    const ended = { 'detail-type': 'Operation Watch Ended' };
    await deliver(anEvent({ ...gone, action: 'start_compute', failures_count: 0 }, ended));
    await deliver(anEvent({ ...gone, action: 'create_branch', failures_count: 1 }, ended));

    const incidents = createIncidentStore(table.as('api'), 'main', { clock });
    const incidentOf = (action: string) => incidents.read(incidentIdOf(`main|${gone.project_id}|${action}`));
    expect(slack.messages).toEqual([]);
    expect(await incidentOf('start_compute')).toBeUndefined();
    // The event of its failure may come late, and must not open an incident that nothing ends.
    expect(await incidentOf('create_branch')).toMatchObject({ state: 'recovered' });
  });

  test('a message that is not an event comes back alone, for the dead-letter queue', async () => {
    const { deliver, slack } = aNotifier();

    const response = await deliver({ nonsense: true }, anEvent(), anEvent({ failures_count: 'three' }));

    expect(response.batchItemFailures).toEqual([{ itemIdentifier: 'm0' }, { itemIdentifier: 'm2' }]);
    expect(slack.messages.length).toBe(1);
  });

  test('an hour without Slack loses nothing and delays no e-mail', async () => {
    const { deliver, slack, email, pass } = aNotifier();
    const events = Array.from({ length: 60 }, (_, index) => anEvent({ project_id: `project-${index}` }));
    slack.state = 'down';
    for (const event of events) {
      await deliver(event);
      await pass(1);
    }
    const mailCount = new Set(idsOf(email)).size;
    slack.state = 'up';
    await pass(10);

    expect(mailCount).toBe(60);
    expect(idsOf(slack).toSorted()).toEqual(events.map(({ detail }) => detail.id).toSorted());
  });

  test('a channel that hangs delays no other channel', async () => {
    const { deliver, slack, email } = aNotifier();
    slack.state = 'hangs';

    void deliver(anEvent());
    await new Promise((resolve) => setTimeout(resolve, 20));

    expect(email.messages.length).toBe(1);
  });

  test('a wait of up to five minutes that the channel asks for is never shortened', async () => {
    const { deliver, slack, pass, clock } = aNotifier();
    const startMs = clock.now();
    slack.state = 'down';
    slack.retryAfterMs = 4 * 60_000;
    await deliver(anEvent());
    slack.state = 'up';
    await pass(30);

    expect(slack.messages.map(({ atMs }) => (atMs - startMs) / 60_000)).toEqual([4]);
  });

  test('a storm of a thousand failures becomes a handful of messages that name them all', async () => {
    const { deliver, slack, email, pass } = aNotifier();
    const events = Array.from({ length: 1_000 }, (_, index) =>
      anEvent({ project_id: `project-${index % 700}` }),
    );

    for (let start = 0; start < events.length; start += 10) await deliver(...events.slice(start, start + 10));
    await pass(8);

    const ids = events.map(({ detail }) => detail.id).toSorted();
    expect(idsOf(slack).toSorted()).toEqual(ids);
    expect(idsOf(email).toSorted()).toEqual(ids);
    expect(slack.messages.length).toBeLessThan(25);
    expect(email.messages.length).toBeLessThan(8);
  });

  test('alerts of a mute are reported when it ends', async () => {
    const { deliver, slack, pass, clock } = aNotifier({
      mutes: [{ from: '2020-01-01T00:00:00Z', until: '2020-01-01T00:00:01Z' }],
    });
    const iso = (ms: number) => new Date(ms).toISOString();
    const muted = aNotifier({ mutes: [{ from: iso(clock.now()), until: iso(clock.now() + 3_600_000) }] });

    await deliver(anEvent());
    await muted.deliver(anEvent());
    await pass(1);
    await muted.pass(59);
    const during = muted.slack.messages.length;
    await muted.pass(2);

    expect([slack.messages.length, during, muted.slack.messages.length]).toEqual([1, 0, 1]);
  });

  test('alerts of a project go only to the channels of its route', async () => {
    const routes = [
      { project_ids: ['quiet'], channels: ['email'] },
      { channels: ['slack'], severity_min: 'critical' },
    ];
    const { deliver, slack, email } = aNotifier({ routes });

    await deliver(anEvent({ project_id: 'quiet' }), anEvent(), anEvent({ status: 'error', terminal: true }));

    expect([idsOf(slack).length, idsOf(email).length]).toEqual([1, 1]);
  });

  test('two sweeps at once send one message', async () => {
    const { deps, deliver, slack, wait } = aNotifier();
    slack.state = 'down';
    await deliver(anEvent());
    slack.state = 'up';
    wait(60_000);

    await Promise.all([sweep(deps), sweep(deps)]);

    expect(slack.messages.length).toBe(1);
  });

  test('a sender that wakes late repeats only the message that it was sending', async () => {
    const { deps, deliver, slack, wait } = aNotifier();
    slack.state = 'down';
    await deliver(
      anEvent({ project_id: 'one' }),
      anEvent({ project_id: 'two' }),
      anEvent({ project_id: 'three' }),
    );
    slack.state = 'up';
    wait(60_000);
    let isFirst = true;
    const late = {
      ...slack.channel,
      async send(message: Parameters<typeof slack.channel.send>[0]) {
        const wasFirst = isFirst;
        isFirst = false;
        if (wasFirst) {
          wait(60_000);
          await sweep(deps);
        }
        return slack.channel.send(message);
      },
    };

    await sweep({ ...deps, channels: [late] });

    expect(idsOf(slack).length).toBe(4);
    expect(new Set(idsOf(slack)).size).toBe(3);
  });
});
