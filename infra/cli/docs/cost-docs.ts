/**
 * Computes what a month costs at several sizes, from the calls of one day of a bridge as they were counted
 * (counted.json), which `npm run cost -- count` counts again, and from what AWS charges in us-east-1, on demand, without
 * free tiers, as of November 2026, in USD, and writes docs/cost.md.
 */

import type { MetricName } from '../../../shared/runtime/telemetry.ts';
import { functionDefinitions } from '../../functions.ts';
import countedCalls from './counted.json' with { type: 'json' };
import type { GeneratedFile } from './generated-sections.ts';

export interface CountedDay {
  readonly accounts: number;
  /** Each account has this number of projects. */
  readonly projects: number;
  /** The bridge has this number of lanes. The counts are those of all of them together. */
  readonly lanes: number;
  /** The function of a lane has this memory, in megabytes. */
  readonly memory_mb: number;
  readonly linger_seconds: number;
  /** It is null when the interval follows the number of projects. */
  readonly poll_interval_seconds: number | null;
  readonly operations: number;
  readonly events: number;
  /** Requests to the upstream cost nothing but the time that they take. */
  readonly requests: number;
  /** All invocations of the day together ran for this number of seconds. */
  readonly alive_seconds: number;
  /** The seconds from a transition to its event, in the mean. */
  readonly delay_mean_s: number;
  /** This many seconds or less passed for 95 of 100 transitions. */
  readonly delay_p95_s: number;
  /** The request units of the table and all of its indexes, by what is read or written. */
  readonly units: Readonly<Record<string, { readonly read: number; readonly write: number }>>;
}

export const countedDays: readonly CountedDay[] = countedCalls;

function unitsOf({ units }: CountedDay, kind: 'read' | 'write'): number {
  return Object.values(units).reduce((sum, each) => sum + each[kind], 0);
}

const prices = {
  lambdaPerGbSecondArm: 0.0000133334,
  lambdaPerMillionRequests: 0.2,
  dynamoDbPerMillionWriteUnits: 0.625,
  dynamoDbPerMillionReadUnits: 0.125,
  eventBridgePerMillionEvents: 1,
  schedulerPerMillionInvocations: 1,
  sqsPerMillionRequests: 0.4,
  sqsFifoPerMillionRequests: 0.5,
  xRayPerMillionTraces: 5,
  cloudWatchPerMetricMonth: 0.3,
  cloudWatchPerAlarmMonth: 0.1,
  logsPerGb: 0.5,
  secretPerMonth: 0.4,
  secretPerMillionReadings: 5,
} as const;

export interface CostLine {
  readonly item: string;
  readonly amount: string;
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
function monthlyCost(day: CountedDay, alarmCount: number): readonly CostLine[] {
  const polls = day.lanes * MINUTES;
  const calls = polls + 2 * MINUTES;
  const metricCount = STEADY_METRICS.length;
  const logGb = logGigabytes(day);
  return [
    lambdaLine(day, calls),
    tableLine(day),
    line('EventBridge', `${inWords(day.events * DAYS)} events`, {
      count: day.events * DAYS,
      perMillion: prices.eventBridgePerMillionEvents,
    }),
    line('Scheduler', `${inWords(calls)} invocations`, {
      count: calls,
      perMillion: prices.schedulerPerMillionInvocations,
    }),
    line('SQS', `${inWords(2 * MINUTES * RECEIVES_PER_QUEUE_AND_MINUTE)} empty receives, half of them FIFO`, {
      count: MINUTES * RECEIVES_PER_QUEUE_AND_MINUTE,
      perMillion: prices.sqsPerMillionRequests + prices.sqsFifoPerMillionRequests,
    }),
    // At most the first invocation of each second is traced, so this is the most that the traces cost.
    line('X-Ray', `${inWords(calls + day.operations * DAYS)} traces at most`, {
      count: calls + day.operations * DAYS,
      perMillion: prices.xRayPerMillionTraces,
    }),
    {
      item: 'CloudWatch',
      amount: `${metricCount} metrics, ${alarmCount} metrics of alarms, ${logGb.toFixed(2)} GB of logs`,
      usd:
        metricCount * prices.cloudWatchPerMetricMonth +
        alarmCount * prices.cloudWatchPerAlarmMonth +
        logGb * prices.logsPerGb,
    },
    secretsLine(day),
  ];
}

function totalOf(lines: readonly CostLine[]): number {
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
    amount: `${inWords(gbSeconds)} GB s, ${inWords(calls + ends)} invocations`,
    usd: gbSeconds * prices.lambdaPerGbSecondArm + ((calls + ends) / 1e6) * prices.lambdaPerMillionRequests,
  };
}

function tableLine(day: CountedDay): CostLine {
  const [writes, reads] = [unitsOf(day, 'write') * DAYS, unitsOf(day, 'read') * DAYS];
  return {
    item: 'DynamoDB',
    amount: `${inWords(writes)} write and ${inWords(reads)} read units`,
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
    amount: `${SECRETS} secrets, ${inWords(reads)} readings`,
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
  amount: string,
  { count, perMillion }: { readonly count: number; readonly perMillion: number },
): CostLine {
  return { item, amount, usd: (count / 1e6) * perMillion };
}

function inWords(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)} million`;
  return value >= 1e3 ? `${Math.round(value / 1e3)} thousand` : String(Math.round(value));
}

/** The alarms of a stack watch this number of metrics. A test compares it with the synthesized CloudFormation template. */
export const ALARM_COUNT = 33;

/** After this time the next invocation begins anyway, so the poller never ends early. */
const ALWAYS_SECONDS = 60;

export function costDocs(): readonly GeneratedFile[] {
  return [{ path: 'docs/cost.md', text: costPage() }];
}

export function costPage(days: readonly CountedDay[] = countedDays): string {
  const single = days.filter(
    ({ accounts, linger_seconds }) => accounts === 1 && linger_seconds === ALWAYS_SECONDS,
  );
  const lingering = days.filter(({ accounts, projects }) => accounts === 1 && projects <= 1_000);
  const inLanes = days.filter(
    ({ accounts, projects }) => projects === 10 && (accounts > 1 || single.length === 0),
  );
  return `<!-- Generated by \`npm run generate\` from infra/cli/docs/cost-docs.ts; \`npm run cost\` prints it. -->

# Cost

A month in USD: 30.4 times the calls of a day, which were counted while the whole poller ran on virtual time, with the benchmark's projects
and a project list that shows no changes (\`npm run cost -- count\`). Commands, alerts and visits to the console cost a fraction of a cent each, and
are not included. The prices are those of us-east-1, on demand, without free tiers, in November 2026
([cost-docs.ts](../infra/cli/docs/cost-docs.ts)). The optional dashboard costs $3 more. Callbacks of workflows (\`callbacks\`) cost an alarm, $0.10,
and for each million of commands with one about $10. A log of the bus (\`bus_log\`) costs about a dollar for each million of events that a
subscriber gets.

## One account

${table(single, ({ projects }) => `${inFigures(projects)} projects`, serviceRows)}

The function of the poller has ${memoryOf(single)}.${fixedIntervalNote(single)}

## Ending early

\`linger_seconds\` says how long an invocation goes on when nothing is expected to happen soon. It trades the price of the poller's function
against delay.

| projects | \`linger_seconds\` | a month | mean delay | 95 of 100 within |
|--:|--:|--:|--:|--:|
${lingering
  .toSorted((a, b) => a.projects - b.projects || b.linger_seconds - a.linger_seconds)
  .map(
    (day) =>
      `| ${inFigures(day.projects)} | ${day.linger_seconds} | ${usdOf(priceOf(day))} | ${seconds(day.delay_mean_s)} | ${seconds(day.delay_p95_s)} |`,
  )
  .join('\n')}

## Many small accounts

These are accounts of 10 projects in lanes of at most a hundred accounts, with \`poll_interval_seconds\` ${inLanes[0]?.poll_interval_seconds ?? ''} and the keys of all of them in one
secret.

${table(inLanes, ({ accounts }) => `${inFigures(accounts)} accounts`, serviceRows)}
| **for each account** | ${inLanes.map((day) => `**${usdOf(priceOf(day) / day.accounts)}**`).join(' | ')} |

A lane has ${memoryOf(inLanes)}.

## Usage

\`usage.keeps_history\` writes the item of a project up to ${HISTORY_WRITES_A_DAY} times a day, and only after it was used: at most ${usdOf(historyPrice(1_000))} a month for 1,000 projects.
Without it nothing is written until a threshold is crossed, which takes two writes and one event. No request is spent on either.

Polls of a project of which nothing is open read nothing from the table, so the reads hardly depend on how often projects are polled.
`;
}

/** One write unit every six hours (shared/records/usage.ts). The item of a project has about one kilobyte. */
const HISTORY_WRITES_A_DAY = 4;

function historyPrice(projectCount: number): number {
  return ((projectCount * HISTORY_WRITES_A_DAY * DAYS) / 1e6) * prices.dynamoDbPerMillionWriteUnits;
}

function priceOf(day: CountedDay): number {
  return totalOf(monthlyCost(day, ALARM_COUNT));
}

type RowsOf = (days: readonly CountedDay[]) => readonly string[];

function table(days: readonly CountedDay[], title: (day: CountedDay) => string, rowsOf: RowsOf): string {
  const head = `| | ${days.map(title).join(' | ')} |\n|---|${days.map(() => '--:|').join('')}`;
  return [head, ...rowsOf(days)].join('\n');
}

const serviceRows: RowsOf = (days) => {
  const columns = days.map((day) => monthlyCost(day, ALARM_COUNT));
  const services = (columns[0] ?? []).map(
    ({ item }, row) => `| ${item} | ${columns.map((lines) => usdOf(lines[row]?.usd ?? 0)).join(' | ')} |`,
  );
  return [
    ...services,
    `| **total** | ${columns.map((lines) => `**${usdOf(totalOf(lines))}**`).join(' | ')} |`,
    `| mean delay | ${days.map(({ delay_mean_s }) => seconds(delay_mean_s)).join(' | ')} |`,
    `| 95 of 100 within | ${days.map(({ delay_p95_s }) => seconds(delay_p95_s)).join(' | ')} |`,
  ];
};

function nameOf({ accounts, projects }: CountedDay): string {
  return accounts === 1 ? `${inFigures(projects)} projects` : `${inFigures(accounts)} accounts`;
}

function memoryOf(days: readonly CountedDay[]): string {
  return days.map((day) => `${day.memory_mb} MB for ${nameOf(day)}`).join(', ');
}

/** Says which of the accounts were counted with an interval that is not the default. */
function fixedIntervalNote(days: readonly CountedDay[]): string {
  const fixed = days.filter(({ poll_interval_seconds }) => poll_interval_seconds !== null);
  if (fixed.length === 0) return '';
  const counted = fixed.map((day) => `${nameOf(day)} with ${day.poll_interval_seconds}`);
  return ` These were counted with a \`poll_interval_seconds\`\nof their own: ${counted.join(', ')}.`;
}

function usdOf(amount: number): string {
  return `$${amount.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

function seconds(value: number): string {
  return `${Number(value.toPrecision(2))} s`;
}

function inFigures(value: number): string {
  return Math.round(value).toLocaleString('en');
}
