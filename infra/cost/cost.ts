/** What a month costs, from counted calls: the poller's own limits and the table's own item sizes, not guesses about them. */

import { accountLimits } from '../../functions/poller/limits.ts';
import { pollAccountRequest, pollerSchedule } from '../../shared/config/poller-config.ts';
import { metricUnits } from '../../shared/runtime/metric-names.ts';
import { functionDefinitions } from '../functions.ts';
import { prices } from './prices.ts';

export interface Usage {
  readonly projectCount: number;
  /** Operations of a project in a day; the reference workload has about thirty. */
  readonly operationsPerProjectDay: number;
  /** Alarms of the stack with one account. */
  readonly alarmCount: number;
}

export interface CostLine {
  readonly item: string;
  readonly amount: string;
  readonly usd: number;
}

const DAYS = 30.4;
const MINUTES = DAYS * 24 * 60;

/** Scheduling, running and the end. */
const TRANSITIONS_PER_OPERATION = 3;

/** Record and acknowledge on the table, and its indexes: two per transition for the feed, two per operation for work, one for its place. */
const WRITES_PER_TRANSITION = 2 + 2;
const WRITES_PER_OPERATION = 2 + 1;

/** The status of the account, once a minute, at its full two hours of points. */
const STATUS_WRITE_UNITS = 6;

/** Items of the project and of its work, half a unit each. */
const READS_PER_POLL = 1;

export function monthlyCost({
  projectCount,
  operationsPerProjectDay,
  alarmCount,
}: Usage): readonly CostLine[] {
  const perMinute = pollAccountRequest.shape.requests_per_minute.parse(undefined);
  const intervalSeconds = pollAccountRequest.shape.poll_interval_seconds.parse(undefined);
  const pollsPerMinute = Math.min(perMinute, projectCount * (60 / intervalSeconds));
  const operations = projectCount * operationsPerProjectDay * DAYS;
  const transitions = operations * TRANSITIONS_PER_OPERATION;
  const { poller, notifier } = functionDefinitions;
  const gbSeconds =
    MINUTES * (pollerSchedule.everyMs / 1_000) * (poller.memoryMb / 1_024) +
    MINUTES * 0.2 * (notifier.memoryMb / 1_024);
  const invocations = MINUTES * 2;
  const writes =
    transitions * WRITES_PER_TRANSITION + operations * WRITES_PER_OPERATION + MINUTES * STATUS_WRITE_UNITS;
  const looksPerMinute =
    accountLimits.run.workIntervalMs === undefined ? 0 : (60_000 / accountLimits.run.workIntervalMs) * 2;
  const reads = MINUTES * (pollsPerMinute * READS_PER_POLL + looksPerMinute * 0.5);
  const metricCount = Object.keys(metricUnits).length;
  const million = (units: number, price: number) => (units / 1e6) * price;
  return [
    line(
      'Lambda',
      `${inWords(gbSeconds)} GB s, ${inWords(invocations)} invocations`,
      gbSeconds * prices.lambdaPerGbSecondArm + million(invocations, prices.lambdaPerMillionRequests),
    ),
    line(
      'DynamoDB',
      `${inWords(writes)} write and ${inWords(reads)} read units`,
      million(writes, prices.dynamoDbPerMillionWriteUnits) +
        million(reads, prices.dynamoDbPerMillionReadUnits),
    ),
    line(
      'EventBridge',
      `${inWords(transitions)} events`,
      million(transitions, prices.eventBridgePerMillionEvents),
    ),
    line(
      'Scheduler',
      `${inWords(invocations)} invocations`,
      million(invocations, prices.schedulerPerMillionInvocations),
    ),
    line(
      'SQS',
      `${inWords(MINUTES * 3)} empty receives and more`,
      million(MINUTES * 3 * 5, prices.sqsPerMillionRequests),
    ),
    line(
      'CloudWatch',
      `${metricCount} metrics, ${alarmCount} alarms, a dashboard, ${gigabytes(MINUTES)} GB of logs`,
      metricCount * prices.cloudWatchPerMetricMonth +
        alarmCount * prices.cloudWatchPerAlarmMonth +
        prices.cloudWatchPerDashboardMonth +
        Number(gigabytes(MINUTES)) * prices.logsPerGb,
    ),
    line('Secrets Manager', '2 secrets', 2 * prices.secretPerMonth),
  ];
}

export function totalOf(lines: readonly CostLine[]): number {
  return lines.reduce((sum, { usd }) => sum + usd, 0);
}

/** A few lines and metrics an invocation, about four kilobytes. */
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
