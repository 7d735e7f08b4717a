/** Checks Account Degraded and Account Recovered, and how a refused key is handled. */

import type { Violation } from '../../check-history.ts';
import { MINUTE_MS, type WidePlan } from '../plan.ts';
import { LEFT_ALONE_MS } from '../timeline.ts';
import type { LoggedRequest } from '../upstream/request-log.ts';
import { isWithin } from '../upstream/truth.ts';
import type { Evidence } from './evidence.ts';

/**
 * About this number of requests can be under way when the first refusal arrives; more refusals in a minute are a
 * storm.
 */
const REFUSED_PER_MINUTE_MAX = 15;

export function checkAccount({ stage, events }: Evidence): readonly Violation[] {
  const { log } = stage.upstream;
  const wrong = (rule: string, detail: string): Violation => ({ rule, operation_id: '', detail });
  const refusals = log.filter(({ status, isCommand }) => status === 401 && !isCommand);
  // The first page of a list that cannot be read to its end is read again and again, and serves nobody.
  const readable = log.filter(
    ({ projectId }) => stage.upstream.truth.projectOf(projectId ?? '')?.failingBelowUs === undefined,
  );
  const own = events.filter(({ detailType }) => detailType.startsWith('Account '));
  const lies = own
    .filter(({ detailType }) => detailType === 'Account Degraded')
    .filter(({ event, atMs, by }) =>
      event.reason === 'key_rejected'
        ? !refusals.some((refused) => refused.atMs <= atMs)
        : wasServed(readable, by, Math.min(atMs, Date.parse(event.observed_at))),
    )
    .map(({ detail }) => wrong('degraded-in-vain', detail));
  // An outage of the bus can reverse the order in which the first copies arrive, and clocks that differ can reverse
  // their times. So both orders must name the same last event.
  const last = own.toSorted((a, b) => a.event.observed_at.localeCompare(b.event.observed_at)).at(-1);
  const lastPublished = own.toSorted((a, b) => a.atMs - b.atMs).at(-1);
  const { projects } = stage.upstream.truth;
  const endMs = stage.timeline.endMs - 1;
  const isReadable = projects.some(
    ({ visible, failing }) => isWithin(visible, endMs) && !isWithin(failing, endMs),
  );
  const isLeft =
    last?.detailType === 'Account Degraded' &&
    lastPublished === last &&
    stage.restores.length === 0 &&
    isReadable;
  const storm = refusals.some(
    ({ atMs }) =>
      refusals.filter((other) => other.atMs >= atMs && other.atMs < atMs + MINUTE_MS).length >
      REFUSED_PER_MINUTE_MAX,
  );
  return [
    ...lies,
    ...(isLeft ? [wrong('not-recovered', last.detail)] : []),
    ...(storm ? [wrong('refused-key-storm', `${refusals.length} requests with a refused key`)] : []),
  ];
}

/**
 * Returns true when the process that published Account Degraded had read operations during the minute before `atMs`, when it was
 * decided: an outage of the bus may delay the event until the account is served again.
 */
function wasServed(log: readonly LoggedRequest[], by: string, atMs: number): boolean {
  const READINGS_MIN = 3;
  const lately = log.filter(
    (request) => request.by === by && request.atMs <= atMs && request.atMs > atMs - MINUTE_MS,
  );
  return (
    lately.filter(({ route, isDelivered, status }) => route === 'operations' && isDelivered && status === 200)
      .length >= READINGS_MIN
  );
}

/** Covers a few seconds between two reads of the secret, one request, and the wait for the rate limit. */
const NOTICED_WITHIN_MS = 30_000;

/** A project that was refused is not polled again before its interval is over, which may be longer than that. */
const noticedWithinMs = ({ pollIntervalSeconds }: WidePlan) =>
  Math.max(NOTICED_WITHIN_MS, pollIntervalSeconds * 1_000 + 10_000);

/**
 * Checks that a process whose key was refused uses the new one within the invocation, unless it was disturbed or asked to wait, or has
 * no project to read.
 */
export function checkKey({ stage, listedAtMs }: Evidence): readonly Violation[] {
  const { upstream, world, secretChanges } = stage;
  const { fired, plan } = world;
  const isDisturbed = [
    'lambda_frozen',
    'lambda_crashed',
    'invocation_missed',
    'lambda_cold_start',
    'table_restored',
  ] as const;
  if (plan.lingerMs !== undefined || isDisturbed.some((kind) => fired.has(kind))) return [];
  const wasAskedToWait = upstream.log.some(({ status }) => status === 429 || status >= 500);
  if (wasAskedToWait) return [];
  const withinMs = noticedWithinMs(plan);
  return secretChanges.flatMap((atMs) => {
    const own = upstream.log.filter((request) => !request.isCommand);
    const wasRefused = own.some((request) => request.status === 401 && request.atMs < atMs);
    const next =
      own.find((request) => request.atMs > atMs && request.status === 200)?.atMs ?? Number.POSITIVE_INFINITY;
    const hasWork = upstream.truth.projects.some(
      (project) => isWithin(project.visible, atMs) && (listedAtMs(project) ?? atMs) < atMs,
    );
    // Between two invocations no process runs that could notice the new key.
    const isRunning = stage.invocations.some(({ by, fromMs, toMs }) => {
      const refusedHere = own.some(
        (request) => request.by === by && request.status === 401 && request.atMs >= fromMs,
      );
      return refusedHere && fromMs < atMs && toMs > atMs + withinMs;
    });
    // A project rests after a poll that the table has failed.
    const rests = stage.ear.lines.some(
      (line) => line.event === 'poll.failed' && line.atMs <= atMs && line.atMs > atMs - LEFT_ALONE_MS,
    );
    const isLate = wasRefused && hasWork && isRunning && !rests && next > atMs + withinMs;
    return isLate
      ? [{ rule: 'key-noticed-late', operation_id: '', detail: new Date(atMs).toISOString() }]
      : [];
  });
}
