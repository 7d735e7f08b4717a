/** Counts what happened, for the lines after Ctrl-C. */

import { oneLine } from '../../../shared/runtime/printable.ts';
import type { DeliveredEvent } from '../aws/services/deliveries.ts';
import { delayMsOf } from './event-line.ts';

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
      projects.add(String(event.detail['project_id']));
      const status = event.detail['status'];
      if (typeof status === 'string') statuses.set(status, (statuses.get(status) ?? 0) + 1);
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
        `${found.event_count} events of ${found.project_count} projects${byStatus === '' ? '' : `: ${byStatus}`}`,
        `${found.repetition_count} repetitions of an event, with the same id`,
        ...(median === undefined || most === undefined
          ? []
          : [`detected after ${seconds(median)} in the median, ${seconds(most)} in 95 of 100 cases`]),
        `${found.request_count} requests, ${found.requests_per_minute} a minute, ${found.throttled_count} of them throttled`,
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
