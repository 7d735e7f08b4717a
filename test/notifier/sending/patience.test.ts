/** Tests what wakes people and what does not, with the policy that a bridge has by default. */

import { describe, expect, test } from 'vitest';
import { isForPagerDuty } from '../../../functions/notifier/channels/pagerduty-events.ts';
import { notify } from '../../../functions/notifier/notify.ts';
import { sweep } from '../../../functions/notifier/sweep.ts';
import { accountWatched } from '../../../shared/events/catalog.ts';
import { aNotifier, anEvent, idsOf } from '../channel-under-test.ts';

const PATIENT = { patience_seconds: 300 };

const RECOVERED = { status: 'finished', previous_status: 'failed', terminal: true, new_failures: 0 };

type Notifier = ReturnType<typeof aNotifier>;

/** Returns an event that the bridge observes now. */
function nowEvent({ clock }: Notifier, detail: object = {}, envelope: object = {}) {
  const now = new Date(clock.now()).toISOString();
  return anEvent({ observed_at: now, operation_updated_at: now, ...detail }, envelope);
}

function kindsOf({ slack }: Notifier): readonly (readonly string[])[] {
  return slack.messages.map(({ message }) => message.flat().map(({ kind }) => kind));
}

describe('a failure', () => {
  test('that ends within five minutes is in no message', async () => {
    const notifier = aNotifier(PATIENT);
    await notifier.deliver(nowEvent(notifier, { sequence: 2 }));
    await notifier.pass(4);
    await notifier.deliver(nowEvent(notifier, { ...RECOVERED, sequence: 3 }));
    await notifier.pass(50);

    expect(notifier.slack.messages).toEqual([]);
    expect(notifier.email.messages).toEqual([]);
  });

  test('that has not ended after five minutes is reported then, and so is its end', async () => {
    const notifier = aNotifier(PATIENT);
    const startMs = notifier.clock.now();
    await notifier.deliver(nowEvent(notifier, { sequence: 2 }));
    await notifier.pass(6);
    await notifier.deliver(nowEvent(notifier, { ...RECOVERED, sequence: 3 }));

    expect(kindsOf(notifier)).toEqual([['failed'], ['recovered']]);
    expect(notifier.slack.messages[0]?.atMs).toBe(startMs + 300_000);
  });

  test.each([
    ['the third one of its operation', { failures_count: 3 }],
    ['one that is given up', { status: 'error', terminal: true }],
  ])('is reported at once when it is %s', async (_what, detail) => {
    const notifier = aNotifier(PATIENT);
    await notifier.deliver(nowEvent(notifier, detail));

    expect(idsOf(notifier.slack)).toHaveLength(1);
  });

  test('that ended after three attempts is reported, although the polls saw only its end', async () => {
    const notifier = aNotifier(PATIENT);
    await notifier.deliver(nowEvent(notifier, { ...RECOVERED, failures_count: 3, sequence: 2 }));

    expect(kindsOf(notifier)).toEqual([['recovered']]);
  });

  test('that becomes the third one is reported together with those before it', async () => {
    const notifier = aNotifier(PATIENT);
    await notifier.deliver(nowEvent(notifier, { sequence: 2 }));
    await notifier.pass(1);
    await notifier.deliver(nowEvent(notifier, { sequence: 4, failures_count: 3 }));

    expect(idsOf(notifier.slack)).toHaveLength(2);
  });

  test('whose end comes in first wakes nobody when it comes in itself', async () => {
    const notifier = aNotifier(PATIENT);
    const failure = nowEvent(notifier, { sequence: 2 });
    notifier.wait(30_000);
    await notifier.deliver(nowEvent(notifier, { ...RECOVERED, sequence: 3 }));
    await notifier.pass(1);
    await notifier.deliver(failure);
    await notifier.pass(30);

    expect(notifier.slack.messages).toEqual([]);
  });

  test('that lasted longer while the channel was down is reported with its end', async () => {
    const notifier = aNotifier(PATIENT);
    notifier.slack.state = 'down';
    await notifier.deliver(nowEvent(notifier, { sequence: 2 }));
    await notifier.pass(20);
    await notifier.deliver(nowEvent(notifier, { ...RECOVERED, sequence: 3 }));
    await notifier.pass(5);
    notifier.slack.state = 'up';
    await notifier.pass(10);

    expect(kindsOf(notifier)).toEqual([['failed', 'recovered']]);
  });

  test('of one operation does not take a younger one of the same incident with it', async () => {
    const notifier = aNotifier(PATIENT);
    await notifier.deliver(nowEvent(notifier, { operation_id: 'operation-old' }));
    await notifier.pass(4);
    await notifier.deliver(nowEvent(notifier, { operation_id: 'operation-young' }));
    await notifier.pass(1);
    const first = notifier.slack.messages.flatMap(({ message }) => message.flat());
    await notifier.deliver(
      nowEvent(notifier, { ...RECOVERED, operation_id: 'operation-young', sequence: 9 }),
    );
    await notifier.pass(20);

    expect(first.map(({ operation_id }) => operation_id)).toEqual(['operation-old']);
    expect(notifier.slack.messages).toHaveLength(1);
  });

  test('is judged by the patience of the first route that covers its project', async () => {
    const notifier = aNotifier({
      ...PATIENT,
      routes: [{ project_ids: ['urgent-pond-1'], patience_seconds: 0 }, {}],
    });
    await notifier.deliver(
      nowEvent(notifier, { project_id: 'urgent-pond-1' }),
      nowEvent(notifier, { project_id: 'calm-pond-2' }),
    );

    expect(notifier.slack.messages.flatMap(({ message }) => message.flat())).toMatchObject([
      { project_id: 'urgent-pond-1' },
    ]);
  });

  test('waits for nothing when hundreds of others wait with it', async () => {
    const notifier = aNotifier(PATIENT);
    const events = Array.from({ length: 300 }, (_, index) =>
      nowEvent(notifier, { operation_id: `operation-${index}` }),
    );
    for (let start = 0; start < events.length; start += 10)
      await notifier.deliver(...events.slice(start, start + 10));
    await notifier.pass(2);

    expect(idsOf(notifier.slack)).toHaveLength(300);
  });
});

describe('a pager', () => {
  test('gets each incident at once, although other channels gather them', async () => {
    const { notifier, deliver } = aNotifierWithPager({ patience_seconds: 0, gather_seconds: 600 });

    for (const project_id of ['one', 'two', 'three']) {
      await deliver(anEvent({ project_id }));
      notifier.wait(60_000);
    }

    expect([notifier.slack.messages.length, idsOf(notifier.email).length]).toEqual([1, 3]);
  });

  test('gets neither the first sight of an account nor a digest', async () => {
    const { notifier, deps, deliver } = aNotifierWithPager({ ...PATIENT, gather_seconds: 0 });
    await deliver({ detail: accountWatched.example, 'detail-type': accountWatched.detailType });
    await deliver(nowEvent(notifier, { sequence: 2 }));
    await deliver(nowEvent(notifier, { ...RECOVERED, sequence: 3 }));
    for (let minute = 0; minute < 70; minute++) {
      notifier.wait(60_000);
      await sweep(deps);
    }

    expect(kindsOf(notifier)).toEqual([['first_sight'], ['digest']]);
    expect(notifier.email.messages).toEqual([]);
  });
});

/** Returns a notifier with Slack and, in place of e-mail, a channel that takes what PagerDuty takes. */
function aNotifierWithPager(policy: object) {
  const notifier = aNotifier(policy);
  const pager = { ...notifier.email.channel, isGathered: false as const, takes: isForPagerDuty };
  const deps = { ...notifier.deps, channels: [notifier.slack.channel, pager] };
  const deliver = (event: object) => notify(deps, [{ messageId: 'm', body: JSON.stringify(event) }]);
  return { notifier, deps, deliver };
}

describe('the digest', () => {
  async function heal(notifier: Notifier, operation: string, action = 'start_compute') {
    const of = { operation_id: operation, action };
    await notifier.deliver(nowEvent(notifier, { ...of, sequence: 2 }));
    await notifier.deliver(nowEvent(notifier, { ...of, ...RECOVERED, sequence: 3, failures_count: 2 }));
  }

  test('counts once an hour what ended by itself, by action, beside the digest before', async () => {
    const notifier = aNotifier(PATIENT);
    await heal(notifier, 'one');
    await notifier.pass(10);
    await heal(notifier, 'two');
    await heal(notifier, 'three', 'create_branch');
    await notifier.pass(55);
    await heal(notifier, 'four');
    await notifier.pass(70);

    const digests = notifier.slack.messages.map(({ message }) => message.flat());
    expect(digests).toMatchObject([
      [
        {
          kind: 'digest',
          healed: {
            operation_count: 3,
            by_action: [
              { action: 'start_compute', operation_count: 2, attempt_count: 4 },
              { action: 'create_branch', operation_count: 1, attempt_count: 2 },
            ],
          },
        },
      ],
      [{ kind: 'digest', healed: { operation_count: 1, last_operation_count: 3 } }],
    ]);
  });

  test('is not sent when nothing happened', async () => {
    const notifier = aNotifier(PATIENT);
    await notifier.pass(180);

    expect(notifier.slack.messages).toEqual([]);
  });

  test('is sent once when its process dies before it is noted', async () => {
    const notifier = aNotifier(PATIENT);
    await heal(notifier, 'one');
    await notifier.pass(59);
    const channel = await notifier.deps.store.channels.read('slack');
    await notifier.pass(2);
    // The write that took the counts away was lost with the process.
    const now = await notifier.deps.store.channels.read('slack');
    await notifier.deps.store.channels.write('slack', { ...now, healed: channel.healed });
    await notifier.pass(30);

    expect(notifier.slack.messages).toHaveLength(1);
  });
});
