/** Computes what a month costs, from the calls of one day as they were counted (counted.json) and a price list. */

import type { MetricName } from '../../../shared/runtime/metric-names.ts';
import { functionDefinitions } from '../../functions.ts';
import { type CountedDay, unitsOf } from './counted-day.ts';
import { prices } from './prices.ts';

export interface CostLine {
  readonly item: string;
  readonly usd: number;
}

const DAYS = 30.4;
const MINUTES = DAYS * 24 * 60;

/** An invocation that stops near the end of its minute also runs for a moment before and after the polling. */
const START_AND_STOP_SECONDS = 0.5;

/** The notifier sweeps once a minute. */
const NOTIFIER_SECONDS = 0.2;

/** Lambda polls each of the two queues with five pollers, each about three times a minute. That of the commands is FIFO. */
const RECEIVES_PER_QUEUE_AND_MINUTE = 15;

/** The worker for queued commands sweeps once a minute, and finds no line in a quiet account. */
const COMMANDS_SECONDS = 0.2;

/** Each operation that ends invokes the worker, which reads one line. */
const LOCK_RELEASED_SECONDS = 0.1;

/** An invocation writes a few log lines and metrics, of this size. */
const INVOCATION_LOG_BYTES = 4_000;

/** Each account of a lane adds a line with its figures, of this size. */
const ACCOUNT_LOG_BYTES = 1_500;

/** A secret is read again after five minutes. All accounts of a lane may have their keys in one secret. */
const SECRET_READS_PER_LANE = MINUTES / 5;

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

/** Returns one line for each service. `alarmCount` is the number of metrics that alarms watch. */
export function monthlyCost(day: CountedDay, alarmCount: number): readonly CostLine[] {
  const polls = day.lanes * MINUTES;
  const calls = polls + 2 * MINUTES;
  const metricCount = STEADY_METRICS.length;
  const logGb = logGigabytes(day);
  return [
    lambdaLine(day, calls),
    tableLine(day),
    line('EventBridge', {
      count: day.events * DAYS,
      perMillion: prices.eventBridgePerMillionEvents,
    }),
    line('Scheduler', {
      count: calls,
      perMillion: prices.schedulerPerMillionInvocations,
    }),
    line('SQS', {
      count: MINUTES * RECEIVES_PER_QUEUE_AND_MINUTE,
      perMillion: prices.sqsPerMillionRequests + prices.sqsFifoPerMillionRequests,
    }),
    // At most the first invocation of each second is traced, so this is the most that the traces cost.
    line('X-Ray', {
      count: calls + day.operations * DAYS,
      perMillion: prices.xRayPerMillionTraces,
    }),
    {
      item: 'CloudWatch',
      usd:
        metricCount * prices.cloudWatchPerMetricMonth +
        alarmCount * prices.cloudWatchPerAlarmMonth +
        logGb * prices.logsPerGb,
    },
    secretsLine(day),
  ];
}

export function totalOf(lines: readonly CostLine[]): number {
  return lines.reduce((sum, { usd }) => sum + usd, 0);
}

function lambdaLine(day: CountedDay, calls: number): CostLine {
  const { notifier, commands } = functionDefinitions;
  const pollerSeconds = day.alive_seconds * DAYS + day.lanes * MINUTES * START_AND_STOP_SECONDS;
  const ends = day.operations * DAYS;
  const workerSeconds = MINUTES * COMMANDS_SECONDS + ends * LOCK_RELEASED_SECONDS;
  const gbSeconds =
    pollerSeconds * (day.memory_mb / 1_024) +
    MINUTES * NOTIFIER_SECONDS * (notifier.memoryMb / 1_024) +
    workerSeconds * (commands.memoryMb / 1_024);
  return {
    item: 'Lambda',
    usd: gbSeconds * prices.lambdaPerGbSecondArm + ((calls + ends) / 1e6) * prices.lambdaPerMillionRequests,
  };
}

function tableLine(day: CountedDay): CostLine {
  const [writes, reads] = [unitsOf(day, 'write') * DAYS, unitsOf(day, 'read') * DAYS];
  return {
    item: 'DynamoDB',
    usd:
      (writes / 1e6) * prices.dynamoDbPerMillionWriteUnits +
      (reads / 1e6) * prices.dynamoDbPerMillionReadUnits,
  };
}

/** One secret holds the keys of all accounts, one the pepper of the tokens, and one the key of the queue. */
const SECRETS = 3;

function secretsLine({ lanes }: CountedDay): CostLine {
  const reads = lanes * SECRET_READS_PER_LANE;
  return {
    item: 'Secrets Manager',
    usd: SECRETS * prices.secretPerMonth + (reads / 1e6) * prices.secretPerMillionReadings,
  };
}

/** The poller, the notifier and the worker for commands each begin once a minute. */
function logGigabytes({ accounts, lanes }: CountedDay): number {
  const perMinute = (lanes + 2) * INVOCATION_LOG_BYTES + accounts * ACCOUNT_LOG_BYTES;
  return (MINUTES * perMinute) / 1e9;
}

function line(
  item: string,
  { count, perMillion }: { readonly count: number; readonly perMillion: number },
): CostLine {
  return { item, usd: (count / 1e6) * perMillion };
}
