/**
 * Stands in for CloudWatch and CloudWatch Logs: counts what the local EventBridge does with each rule, keeps the log of
 * the local buses with the records that EventBridge writes at the level INFO without details of events, and serves
 * both. Counts are kept for a day, by the clock of the functions that read them.
 */

import { z } from 'zod';
import { busLogGroupOf } from '../../../functions/api/read-model/bus-log.ts';
import { busArn, defineOperation, ruleArn, type Service, ServiceError } from './protocol.ts';

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

/** EventBridge User Guide, "Amazon EventBridge event bus log schema". */
export type BusStep =
  | 'EVENT_INGEST_SUCCESS'
  | 'NO_STANDARD_RULES_MATCHED'
  | 'RULE_MATCH'
  | 'INVOCATION_ATTEMPT_RETRYABLE_FAILURE'
  | 'INVOCATION_SUCCESS'
  | 'INVOCATION_FAILURE'
  | 'INVOCATION_DLQ';

export interface BusLog {
  /** Without a target the step is one of the event alone. */
  note(
    step: BusStep,
    at: { readonly busName: string; readonly eventId: string },
    target?: { readonly ruleName: string; readonly arn: string; readonly error?: string | undefined },
  ): void;
  find(busName: string, filterPattern: string, startTime: number): readonly KeptRecord[];
}

/** At some hundred bytes each. A person follows an event within minutes. */
const RECORDS_MAX = 5_000;

interface KeptRecord {
  readonly timestamp: number;
  readonly busName: string;
  readonly event_id: string;
  readonly message: string;
}

/** CloudWatch Logs API Reference, FilterLogEvents. Of filter patterns, only the one for the id of an event is known here. */
const filterCall = z.object({
  logGroupName: z.string(),
  filterPattern: z.string().regex(/^\{ \$\.event_id = "[\w-]+" \}$/),
  startTime: z.number().default(0),
});

/** `now` is the clock of the functions that read the log. */
export function createBusLog(now: () => number): BusLog {
  const records: KeptRecord[] = [];
  return {
    note(step, { busName, eventId: event_id }, target) {
      const rule_arn = target && ruleArn(busName, target.ruleName);
      const details =
        step === 'RULE_MATCH'
          ? { target_arns: [target?.arn] }
          : { ...(target && { target_arn: target.arn }) };
      const message = JSON.stringify({
        resource_arn: busArn(busName),
        event_bus_name: busName,
        event_id,
        message_timestamp_ms: now(),
        message_type: step,
        log_level: /FAILURE|DLQ/.test(step) ? 'ERROR' : 'INFO',
        details: { ...(rule_arn && { rule_arn }), ...details },
        ...(target?.error !== undefined && { error: { error_message: target.error } }),
      });
      records.push({ timestamp: now(), busName, event_id, message });
      if (records.length > RECORDS_MAX) records.shift();
    },
    find: (busName, filterPattern, startTime) =>
      records.filter(
        (one) =>
          one.busName === busName &&
          filterPattern.includes(`"${one.event_id}"`) &&
          one.timestamp >= startTime,
      ),
  };
}

/** Each bus has its log group, as the template gives it one. */
export function createLogsService(log: BusLog, hasBus: (name: string) => boolean): Service {
  return new Map([
    [
      'FilterLogEvents',
      defineOperation(filterCall, ({ logGroupName, filterPattern, startTime }) => {
        const busName = logGroupName.split('/').at(-1) ?? '';
        if (!hasBus(busName) || logGroupName !== busLogGroupOf(busName))
          throw new ServiceError('ResourceNotFoundException', 'The specified log group does not exist.');
        const found = log.find(busName, filterPattern, startTime);
        return { events: found.map(({ timestamp, message }) => ({ timestamp, message })) };
      }),
    ],
  ]);
}
