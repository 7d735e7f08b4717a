/**
 * Checks the logs and metrics of the code: no programming mistake, no failure without a cause, and no fault without
 * its metric.
 */

import type { FigureName } from '../../../../shared/runtime/telemetry.ts';
import type { Violation } from '../../check-history.ts';
import type { Evidence } from './evidence.ts';

const MISTAKES: ReadonlySet<string> = new Set([
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'AssertionError',
  'ERR_ASSERTION',
]);

/** These failures are injected under the names that the table uses. */
const TABLE_FAILURES: ReadonlySet<string> = new Set([
  'ProvisionedThroughputExceededException',
  'TimeoutError',
]);

/** The adapter names the keys that it could not read. */
const KEYS_UNREAD = /left \d+ keys unread/;

const TABLE_FAULTS = ['table_throttled', 'table_reply_lost', 'table_keys_unprocessed'] as const;

export function checkTelemetry(evidence: Evidence): readonly Violation[] {
  return [
    ...mistakes(evidence),
    ...unexplained(evidence),
    ...endings(evidence),
    ...silences(evidence),
    ...misuse(evidence),
  ];
}

function mistakes({ stage }: Evidence): readonly Violation[] {
  return stage.ear.lines
    .filter(({ fields }) => MISTAKES.has(String(fields['reason'])))
    .map(({ event, fields }) => ({
      rule: 'mistake',
      operation_id: '',
      detail: `${event} ${JSON.stringify(fields)}`,
    }));
}

function unexplained({ stage }: Evidence): readonly Violation[] {
  const { fired } = stage.world;
  const isExplained = (reason: string, detail: string) => {
    if (reason === 'AppError' && KEYS_UNREAD.test(detail)) return fired.has('table_keys_unprocessed');
    if (TABLE_FAILURES.has(reason)) return TABLE_FAULTS.some((kind) => fired.has(kind));
    if (reason === 'UpstreamError') return true;
    return fired.has('item_unreadable') && detail.includes('does not parse');
  };
  return stage.ear.lines
    .filter(
      ({ event, fields }) =>
        event === 'poll.failed' && !isExplained(String(fields['reason']), String(fields['detail'])),
    )
    .map(({ fields }) => ({ rule: 'unexplained', operation_id: '', detail: JSON.stringify(fields) }));
}

function endings({ stage }: Evidence): readonly Violation[] {
  return stage.endings
    .filter(({ detail }) => !TABLE_FAILURES.has(detail.split(':')[0] ?? '') && !KEYS_UNREAD.test(detail))
    .map(({ kind, by, atMs, detail }) => ({
      rule: kind === 'killed' ? 'killed-at-time-out' : 'invocation-failed',
      operation_id: by,
      detail: `${new Date(atMs).toISOString()} ${detail}`,
    }));
}

/** A metric of a single occurrence can be lost with a process that crashes at that moment. */
const OCCURRENCES_MIN = 6;

/** Pairs what has happened with the metric on which an alarm or a person relies. A refused command is told to its caller instead. */
function silences({ stage }: Evidence): readonly Violation[] {
  const { world, ear, upstream } = stage;
  const statusesOfPolls = upstream.log.filter(({ isCommand }) => !isCommand).map(({ status }) => status);
  const heard: readonly (readonly [string, number, FigureName])[] = [
    ['refusals for the rate', statusesOfPolls.filter((status) => status === 429).length, 'UpstreamThrottled'],
    ['errors of the upstream', statusesOfPolls.filter((status) => status >= 500).length, 'UpstreamFailed'],
    ['malformed rows', world.fired.get('operation_row_malformed') ?? 0, 'MalformedRows'],
    ['refused entries', world.fired.get('bus_entry_refused') ?? 0, 'EventsParked'],
  ];
  return heard
    .filter(([, count, metric]) => count >= OCCURRENCES_MIN && (ear.sums.get(metric) ?? 0) === 0)
    .map(([what, count, metric]) => ({
      rule: 'silence',
      operation_id: '',
      detail: `${count} ${what} without ${metric}`,
    }));
}

function misuse({ stage }: Evidence): readonly Violation[] {
  return stage.bus.misuse.map((detail) => ({ rule: 'misuse', operation_id: 'bus', detail }));
}
