/** Computes what a month costs, from the calls of one day as they were counted (counted.json) and a price list. */

import type { MetricName } from '../../../shared/runtime/metric-names.ts';
import { functionDefinitions } from '../../functions.ts';
import counted from './counted.json' with { type: 'json' };
import { prices } from './prices.ts';

/** The counts are of one account with its poller at the default settings. `npm run cost:count` counts them again. */
export interface CountedDay {
  readonly projects: number;
  readonly operations: number;
  /** Requests to the upstream cost nothing but the time that they take. */
  readonly requests: number;
  readonly events: number;
  /** The table and all of its indexes take these request units. */
  readonly write_units: number;
  readonly read_units: number;
  /** All invocations of the day together ran for this number of seconds. */
  readonly alive_seconds: number;
  readonly invocations: number;
}

export interface CostLine {
  readonly item: string;
  readonly amount: string;
  readonly usd: number;
}

export const countedDays: readonly CountedDay[] = counted;

const DAYS = 30.4;
const MINUTES = DAYS * 24 * 60;

/** An invocation that stops near the end of its minute also runs for a moment before and after the polling. */
const START_AND_STOP_SECONDS = 0.5;

/** The notifier sweeps once a minute. */
const NOTIFIER_SECONDS = 0.2;

/** Lambda polls each of the two queues with five pollers, each about three times a minute. */
const QUEUE_RECEIVES_PER_MINUTE = 30;

/** The worker for queued commands sweeps once a minute, and finds no line in a quiet account. */
const COMMANDS_SECONDS = 0.2;

/** Each operation that ends invokes the worker, which reads one line. */
const LOCK_RELEASED_SECONDS = 0.1;

/**
 * These metrics are measured in every hour. CloudWatch bills a metric by the hours in which it has values, and the others
 * have values only when something is wrong. Their number does not grow with accounts.
 */
const STEADY_METRICS: readonly MetricName[] = [
  'WalkAgeMs',
  'UnpublishedAgeMs',
  'PublishDelayMs',
  'UpstreamThrottledPercent',
  'ChannelDeafMs',
];

export function monthlyCost(day: CountedDay, alarmCount: number): readonly CostLine[] {
  const { poller, notifier, commands } = functionDefinitions;
  const invocations = day.invocations * DAYS;
  const pollerSeconds = day.alive_seconds * DAYS + invocations * START_AND_STOP_SECONDS;
  const ends = day.operations * DAYS;
  const workerSeconds = MINUTES * COMMANDS_SECONDS + ends * LOCK_RELEASED_SECONDS;
  const gbSeconds =
    pollerSeconds * (poller.memoryMb / 1_024) +
    MINUTES * NOTIFIER_SECONDS * (notifier.memoryMb / 1_024) +
    workerSeconds * (commands.memoryMb / 1_024);
  const calls = invocations + 2 * MINUTES;
  const [writes, reads, events] = [day.write_units, day.read_units, day.events].map((count) => count * DAYS);
  const metricCount = STEADY_METRICS.length;
  const million = (units: number, price: number) => (units / 1e6) * price;
  return [
    line(
      'Lambda',
      `${inWords(gbSeconds)} GB s, ${inWords(calls + ends)} invocations`,
      gbSeconds * prices.lambdaPerGbSecondArm + million(calls + ends, prices.lambdaPerMillionRequests),
    ),
    line(
      'DynamoDB',
      `${inWords(writes ?? 0)} write and ${inWords(reads ?? 0)} read units`,
      million(writes ?? 0, prices.dynamoDbPerMillionWriteUnits) +
        million(reads ?? 0, prices.dynamoDbPerMillionReadUnits),
    ),
    line(
      'EventBridge',
      `${inWords(events ?? 0)} events`,
      million(events ?? 0, prices.eventBridgePerMillionEvents),
    ),
    line('Scheduler', `${inWords(calls)} invocations`, million(calls, prices.schedulerPerMillionInvocations)),
    line(
      'SQS',
      `${inWords(MINUTES * QUEUE_RECEIVES_PER_MINUTE)} empty receives`,
      million(MINUTES * QUEUE_RECEIVES_PER_MINUTE, prices.sqsPerMillionRequests),
    ),
    line(
      'CloudWatch',
      `${metricCount} metrics, ${alarmCount} metrics of alarms, ${gigabytes(MINUTES)} GB of logs`,
      metricCount * prices.cloudWatchPerMetricMonth +
        alarmCount * prices.cloudWatchPerAlarmMonth +
        Number(gigabytes(MINUTES)) * prices.logsPerGb,
    ),
    line('Secrets Manager', '2 secrets', 2 * prices.secretPerMonth),
  ];
}

export function totalOf(lines: readonly CostLine[]): number {
  return lines.reduce((sum, { usd }) => sum + usd, 0);
}

/** Estimates the size of the logs: an invocation writes a few lines and metrics, about four kilobytes. */
function gigabytes(invocations: number): string {
  return ((invocations * 4_000) / 1e9).toFixed(2);
}

function line(item: string, amount: string, usd: number): CostLine {
  return { item, amount, usd };
}

function inWords(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} million`;
  return value >= 1e3 ? `${Math.round(value / 1e3)} thousand` : String(Math.round(value));
}
