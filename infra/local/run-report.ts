/**
 * Tells a person about a local run: first what runs where, then how far the first reading of the projects is and what
 * went wrong, and after Ctrl-C what happened.
 */

import { counted } from '../../shared/runtime/counted.ts';
import { oneLine } from '../../shared/runtime/foreign-text.ts';
import type { DeliveredEvent } from './aws/event-bridge/deliveries.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { delayMsOf, eventHeading, type LineStyle, paint } from './event-lines.ts';
import type { LocalApi } from './local-api.ts';
import type { Upstream } from './local-upstream.ts';
import type { StartOptions } from './start-options.ts';

export interface HeaderParts {
  readonly options: StartOptions;
  readonly upstream: Upstream;
  readonly aws: LocalAws;
  readonly api: LocalApi;
  readonly token: string;
  /** People can sign in at the provider with this host. */
  readonly signInHost: string | undefined;
  /** A person must read these lines. */
  readonly notes: readonly string[];
}

export function headerLines({
  options,
  upstream,
  aws,
  api,
  token,
  signInHost,
  notes,
}: HeaderParts): readonly string[] {
  const speed = options.speed === 1 ? '' : `, ${options.speed} times as fast as real time`;
  const state = options.dataDir === undefined ? 'in memory' : `in ${options.dataDir}`;
  return [
    'Operations Bridge',
    `  upstream   ${upstream.baseUrl}   ${upstream.label}${speed}`,
    `  local AWS  ${aws.endpoint}   DynamoDB, EventBridge, SQS, Secrets Manager; state ${state}`,
    `  access key ${aws.credentials.accessKeyId}   of the local AWS, for this run (AWS_ACCESS_KEY_ID); operations-bridge tokens takes --local`,
    `  aws CLI    export ${exportOf(aws.environment)}`,
    `  API        ${api.origin}   /api/v2 is the API of the upstream, /bridge/v1 is that of the bridge`,
    `  token      ${token}`,
    `  console    ${api.origin}/console   sign in with the token${signInHost === undefined ? '' : `, or at ${signInHost}`}`,
    ...(signInHost === undefined
      ? []
      : [
          `  sign-in    ${api.origin}/console/sign-in/callback   the redirect URI that the provider must know`,
        ]),
    ...(options.publicUrl === undefined
      ? []
      : [
          `  tunnel     ${options.publicUrl}   for Slack, the Request URL is ${options.publicUrl}/bridge/v1/slack/interactions`,
        ]),
    '  poller     its Lambda handler runs once a minute; Ctrl-C stops the run and prints a summary',
    ...notes,
    '',
    eventHeading(false),
  ];
}

/**
 * The variables of a shell in which the aws CLI uses this AWS. In regions that its first version knows, that version
 * sends to SQS in the cloud whatever the variables say; the local AWS takes every region.
 */
function exportOf(environment: Readonly<Record<string, string>>): string {
  const names = ['AWS_ENDPOINT_URL', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
  return [...names.map((name) => `${name}=${environment[name]}`), 'AWS_DEFAULT_REGION=local'].join(' ');
}

export interface ProgressSurroundings {
  readonly print: (line: string) => void;
  readonly style: LineStyle;
}

interface Reading {
  /** It is 0 until the list of projects has been read to its end. The projects of its first pages may be read before. */
  projectCount: number;
  readCount: number;
}

/** The first reading of so many projects takes some ten seconds, for which nobody needs more than its last line. */
const UNREPORTED_PROJECTS = 25;

/**
 * Prints a line at every tenth of the first reading of an account's projects, but after so many of them that a small
 * account makes one line, and one when all are read. Lines name the account from the moment at which there is more
 * than one.
 */
export function createProgress({ print, style }: ProgressSurroundings): (logLine: string) => void {
  const readings = new Map<unknown, Reading>();
  const report = (accountId: unknown, count: (reading: Reading) => void) => {
    const reading = readings.get(accountId) ?? { projectCount: 0, readCount: 0 };
    readings.set(accountId, reading);
    count(reading);
    if (!isReported(reading)) return;
    const whose = readings.size > 1 ? ` of ${String(accountId)}` : '';
    const line = `          ${reading.readCount} of ${reading.projectCount} projects${whose} read`;
    print(paint('gray', line, style));
  };
  return (logLine) => {
    const entry = parseLogLine(logLine);
    if (entry === undefined) return;
    const { account_id: accountId, message } = entry;
    const isFirstList = message === 'projects.listed' && !readings.get(accountId)?.projectCount;
    if (isFirstList)
      report(accountId, (reading) => {
        reading.projectCount = Number(entry['project_count']);
      });
    if (message === 'project.read')
      report(accountId, (reading) => {
        reading.readCount += 1;
      });
    if (entry['level'] === 'ERROR') print(paint('red', `poller: ${describe(entry)}`, style));
  };
}

function isReported({ projectCount, readCount }: Reading): boolean {
  const step = Math.max(UNREPORTED_PROJECTS, Math.ceil(projectCount / 10));
  const isStep = readCount > 0 && readCount % step === 0;
  return readCount <= projectCount && projectCount > 0 && (isStep || readCount === projectCount);
}

function parseLogLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The account comes first, and what to do last. Lines about a whole lane have no account. */
function describe(entry: Readonly<Record<string, unknown>>): string {
  const { account_id, message, reason, detail, advice } = entry;
  const [account = ''] = [account_id].filter(isText).map((id) => `account ${id}: `);
  const what = [message, reason, detail].filter(isText).join(', ');
  return `${account}${what}${isText(advice) ? `. ${advice}` : ''}`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export interface RunSummary {
  noteEvent(event: DeliveredEvent): void;
  /** Adds up the figures in a line of the poller's log (`figures.logged`). */
  noteLogLine(line: string): void;
  figures(elapsedMs: number): RunFigures;
  lines(elapsedMs: number): readonly string[];
}

export interface RunFigures {
  readonly event_count: number;
  /** These were sent again with the id that they had before. */
  readonly repetition_count: number;
  readonly project_count: number;
  readonly count_by_status: Readonly<Record<string, number>>;
  /** These quantiles are undefined while nothing was detected. */
  readonly detected_after_p50_ms: number | undefined;
  readonly detected_after_p95_ms: number | undefined;
  readonly request_count: number;
  readonly requests_per_minute: number;
  readonly throttled_count: number;
}

/** This number is enough for every quantile that is shown. A long run forgets its oldest delays. */
const DELAYS_MAX = 10_000;

export function createRunSummary(): RunSummary {
  const statuses = new Map<string, number>();
  const projects = new Set<string>();
  const ids = new Set<string>();
  const totals = new Map<string, number>();
  const delaysMs: number[] = [];
  let eventCount = 0;

  return {
    noteEvent(event) {
      eventCount += 1;
      ids.add(String(event.detail['id']));
      const { project_id: projectId, status } = event.detail;
      // Events about an account name no project.
      if (isText(projectId)) projects.add(projectId);
      if (isText(status)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const delayMs = delayMsOf(event);
      if (delayMs !== undefined) delaysMs.push(delayMs);
      if (delaysMs.length > DELAYS_MAX) delaysMs.shift();
    },

    noteLogLine(line) {
      for (const [figure, value] of figuresOf(line)) totals.set(figure, (totals.get(figure) ?? 0) + value);
    },

    figures,

    lines(elapsedMs) {
      const found = figures(elapsedMs);
      const { detected_after_p50_ms: median, detected_after_p95_ms: most } = found;
      const byStatus = [...statuses].map(([status, count]) => `${count} ${oneLine(status)}`).join(', ');
      return [
        `${counted(found.event_count, 'event')} of ${counted(found.project_count, 'project')}${byStatus === '' ? '' : `: ${byStatus}`}`,
        `${counted(found.repetition_count, 'repetition')} of an event, with the same id`,
        ...(median === undefined || most === undefined
          ? []
          : [`detected after ${seconds(median)} in the median, ${seconds(most)} in 95 of 100 cases`]),
        `${counted(found.request_count, 'request')}, ${found.requests_per_minute} a minute, ${found.throttled_count} of them throttled`,
      ];
    },
  };

  function figures(elapsedMs: number): RunFigures {
    const requests = totals.get('UpstreamRequests') ?? 0;
    const sortedMs = delaysMs.toSorted((a, b) => a - b);
    return {
      event_count: eventCount,
      repetition_count: eventCount - ids.size,
      project_count: projects.size,
      count_by_status: Object.fromEntries(statuses),
      detected_after_p50_ms: quantileOf(sortedMs, 0.5),
      detected_after_p95_ms: quantileOf(sortedMs, 0.95),
      request_count: requests,
      requests_per_minute: Math.round(requests / Math.max(1, elapsedMs / 60_000)),
      throttled_count: totals.get('UpstreamThrottled') ?? 0,
    };
  }
}

/** Returns undefined when there are no values. */
function quantileOf(sortedMs: readonly number[], share: number): number | undefined {
  return sortedMs[Math.min(sortedMs.length - 1, Math.floor(sortedMs.length * share))];
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}

function figuresOf(line: string): readonly (readonly [string, number])[] {
  if (!line.includes('"figures.logged"')) return [];
  try {
    const record = JSON.parse(line) as Record<string, unknown>;
    return Object.entries(record).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name, value] as const] : [],
    );
  } catch {
    return [];
  }
}
