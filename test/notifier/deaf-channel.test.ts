/**
 * Tests that a dead Slack is noticed: the alarm fires as CloudWatch evaluates it, the other channel reports it, and
 * health names it.
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { deafChannelReasons } from '../../functions/api/read-model/alerts.ts';
import { createPagerDutyChannel } from '../../functions/notifier/channels/pagerduty.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { type Resource, synthesize } from '../aws/stack-under-test.ts';
import { aNotifier, anEvent } from './channel-under-test.ts';
import { createPagerDuty, ROUTING_KEY } from './channels/pagerduty-stand-in.ts';

const MINUTE_MS = 60_000;

let alarm: Resource;
beforeAll(() => {
  const found = synthesize()
    .ofType('AWS::CloudWatch::Alarm')
    .find(({ Properties }) => Properties.AlarmName === 'operations-bridge-channel-deaf');
  if (found === undefined) throw new Error('There is no alarm for a deaf channel');
  alarm = found;
}, 120_000);

interface Measure {
  readonly metric: string;
  readonly value: number;
  readonly atMs: number;
}

/**
 * Returns the first instant at which all of the alarm's periods breach its threshold. Missing data counts as the
 * alarm defines.
 */
function firesAt(measures: readonly Measure[], fromMs: number, untilMs: number): number | undefined {
  const { Period, EvaluationPeriods, Threshold, Statistic, MetricName, TreatMissingData } = alarm.Properties;
  if (Statistic !== 'Maximum') throw new Error(`This test cannot evaluate ${Statistic}`);
  const periodMs = Number(Period) * 1_000;
  const startMs = Math.floor(fromMs / periodMs) * periodMs;
  const isBreaching = (periodStartMs: number) => {
    const values = measures
      .filter(
        ({ metric, atMs }) =>
          metric === MetricName && Math.floor(atMs / periodMs) * periodMs === periodStartMs,
      )
      .map(({ value }) => value);
    return values.length === 0 ? TreatMissingData === 'breaching' : Math.max(...values) > Threshold;
  };
  for (let endMs = startMs + EvaluationPeriods * periodMs; endMs <= untilMs; endMs += periodMs) {
    const periods = Array.from({ length: EvaluationPeriods }, (_, back) => endMs - (back + 1) * periodMs);
    if (periods.every(isBreaching)) return endMs;
  }
  return undefined;
}

describe('a channel whose webhook was revoked', () => {
  test('raises the alarm within fifteen minutes, also when alerts are rare', async () => {
    const notifier = aNotifier();
    await notifier.pass(30);
    const revokedMs = notifier.clock.now();
    notifier.slack.state = 'down';
    await notifier.deliver(anEvent());
    await notifier.pass(40);

    const firedMs = firesAt(notifier.measures, revokedMs - 20 * MINUTE_MS, notifier.clock.now()) ?? 0;
    expect(firedMs - revokedMs).toBeGreaterThanOrEqual(10 * MINUTE_MS);
    expect(firedMs - revokedMs).toBeLessThanOrEqual(15 * MINUTE_MS);
  });

  test('is named by an alert on the other channel, once, and so is its return', async () => {
    const { deliver, slack, email, pass } = aNotifier();
    slack.state = 'down';
    await deliver(anEvent());
    await pass(60);
    slack.state = 'up';
    await pass(10);

    const kinds = email.messages.flatMap(({ message }) =>
      message.flat().map(({ kind, channel }) => [kind, channel]),
    );
    expect(kinds).toEqual([
      ['failed', undefined],
      ['channel_deaf', 'slack'],
      ['channel_back', 'slack'],
    ]);
    expect(slack.messages.flatMap(({ message }) => message.flat().map(({ kind }) => kind))).toEqual([
      'failed',
    ]);
  });

  test('is named by health until it takes messages again', async () => {
    const { deliver, slack, table, pass, clock } = aNotifier();
    const reasons = () => deafChannelReasons(table.as('api'), ['slack', 'email'], clock.now());
    slack.state = 'down';
    await deliver(anEvent());
    await pass(9);
    const early = await reasons();
    await pass(6);
    const late = await reasons();
    slack.state = 'up';
    await pass(6);

    expect(early).toEqual([]);
    expect(late.join()).toMatch(/alert channel slack has taken nothing for 15 min.*\(down\)/);
    expect(await reasons()).toEqual([]);
  });
});

describe('a channel that is taken out of the configuration while it takes no messages', () => {
  test('is named by no reminder, and its page at PagerDuty is resolved', async () => {
    const { deps, deliver, slack, email, pass, wait, clock } = aNotifier();
    const service = createPagerDuty(clock);
    const pagerDuty = createPagerDutyChannel({
      credentials: { current: async () => createSecret(ROUTING_KEY) },
      links: {},
      clock: { ...clock, sleep: () => new Promise(() => {}) },
      fetch: service.fetch,
    });
    const others = [email.channel, { name: 'pagerduty', ...pagerDuty }];
    Object.assign(deps, { channels: [slack.channel, ...others] });
    slack.state = 'down';
    await deliver(anEvent());
    await pass(20);
    const before = service.openAlerts().length;
    Object.assign(deps, { channels: others });
    for (let day = 0; day < 5; day++) {
      wait(24 * 60 * MINUTE_MS);
      await pass(2);
    }

    const aboutSlack = email.messages.flatMap(({ message }) =>
      message.flat().filter(({ channel }) => channel === 'slack'),
    );
    expect(aboutSlack.map(({ kind }) => kind)).toEqual(['channel_deaf']);
    expect([before, service.openAlerts().length]).toEqual([1, 0]);
  });
});

describe('the alarm for a deaf channel', () => {
  test('stays silent while channels take what is due, whatever the mutes hold back', async () => {
    const untilMs = aNotifier().clock.now() + 3 * 3_600_000;
    const mute = {
      project_ids: ['muted'],
      from: '2020-01-01T00:00:00Z',
      until: new Date(untilMs).toISOString(),
    };
    const notifier = aNotifier({ mutes: [mute] });
    const startMs = notifier.clock.now();
    for (let minute = 0; minute < 240; minute++) {
      await notifier.deliver(anEvent({ project_id: minute % 2 === 0 ? 'muted' : 'loud' }));
      await notifier.pass(1);
    }

    expect(firesAt(notifier.measures, startMs + MINUTE_MS, notifier.clock.now())).toBeUndefined();
  });

  test('fires when the notifier does not run at all', async () => {
    const notifier = aNotifier();
    await notifier.pass(30);
    const stoppedMs = notifier.clock.now();

    const firedMs = firesAt(notifier.measures, stoppedMs - 10 * MINUTE_MS, stoppedMs + 60 * MINUTE_MS);
    expect((firedMs ?? 0) - stoppedMs).toBeLessThanOrEqual(5 * MINUTE_MS);
  });

  test('fires also when every try to send kills the process', async () => {
    const notifier = aNotifier();
    const startMs = notifier.clock.now();
    notifier.slack.state = 'hangs';
    for (let minute = 0; minute < 20; minute++) {
      void notifier.deliver(anEvent());
      await new Promise((resolve) => setImmediate(resolve));
      void notifier.pass(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const firedMs = firesAt(notifier.measures, startMs, notifier.clock.now()) ?? 0;

    expect(firedMs - startMs).toBeLessThanOrEqual(15 * MINUTE_MS);
    expect(firedMs).toBeGreaterThan(startMs);
  });
});
