/**
 * Counts what the local EventBridge does with each rule, and serves the counts as CloudWatch does. They are kept for a day,
 * by the clock of the functions that read them.
 */

import { z } from 'zod';
import { defineOperation, type Service } from './protocol.ts';

type RuleMetric =
  | 'Invocations'
  | 'FailedInvocations'
  | 'InvocationsSentToDlq'
  | 'InvocationsFailedToBeSentToDlq'
  | 'RetryInvocationAttempts';

export interface RuleCounts {
  note(busName: string, ruleName: string, metric: RuleMetric): void;
  /** The counts of each minute that has one, by the minute's first second since 1970. */
  of(busName: string, ruleName: string, metric: string): ReadonlyMap<number, number>;
}

const MINUTE_SECONDS = 60;
const KEPT_SECONDS = 25 * 3_600;

/** Returns milliseconds since 1970. */
export function createRuleCounts(now: () => number): RuleCounts {
  const counts = new Map<string, Map<number, number>>();
  const keyOf = (...parts: readonly string[]) => parts.join('/');
  return {
    note(busName, ruleName, metric) {
      const seconds = Math.floor(now() / 1_000);
      const minute = seconds - (seconds % MINUTE_SECONDS);
      const key = keyOf(busName, ruleName, metric);
      const minutes = counts.get(key) ?? new Map<number, number>();
      minutes.set(minute, (minutes.get(minute) ?? 0) + 1);
      for (const each of minutes.keys()) if (each < minute - KEPT_SECONDS) minutes.delete(each);
      counts.set(key, minutes);
    },
    of: (...parts) => counts.get(keyOf(...parts)) ?? new Map(),
  };
}

const query = z.object({
  Id: z.string().regex(/^[a-z]\w{0,254}$/),
  MetricStat: z.object({
    Metric: z.object({
      Namespace: z.literal('AWS/Events'),
      MetricName: z.string(),
      Dimensions: z.array(z.object({ Name: z.string(), Value: z.string() })).max(30),
    }),
    Period: z.number().int().min(MINUTE_SECONDS).multipleOf(MINUTE_SECONDS),
    Stat: z.literal('Sum'),
  }),
});

/** CloudWatch API Reference, GetMetricData. */
const asked = z.object({
  StartTime: z.number(),
  EndTime: z.number(),
  MetricDataQueries: z.array(query).min(1).max(500),
});

export function createCloudWatchService(counts: RuleCounts): Service {
  return new Map([
    [
      'GetMetricData',
      defineOperation(asked, ({ StartTime, EndTime, MetricDataQueries }) => ({
        MetricDataResults: MetricDataQueries.map((each) => seriesOf(counts, each, StartTime, EndTime)),
      })),
    ],
    // The alarm of a subscription is taken, and never raised.
    ['PutMetricAlarm', () => ({})],
  ]);
}

/** A period without a count has no point, as on AWS. */
function seriesOf(counts: RuleCounts, { Id, MetricStat }: z.output<typeof query>, from: number, to: number) {
  const { Metric, Period } = MetricStat;
  const dimension = (name: string) => Metric.Dimensions.find(({ Name }) => Name === name)?.Value ?? '';
  const sums = new Map<number, number>();
  const minutes = counts.of(dimension('EventBusName') || 'default', dimension('RuleName'), Metric.MetricName);
  for (const [minute, count] of minutes) {
    const period = minute - (minute % Period);
    if (minute >= from && minute < to) sums.set(period, (sums.get(period) ?? 0) + count);
  }
  const points = [...sums].toSorted(([one], [other]) => other - one);
  return {
    Id,
    Label: Metric.MetricName,
    StatusCode: 'Complete',
    Timestamps: points.map(([time]) => time),
    Values: points.map(([, count]) => count),
  };
}
