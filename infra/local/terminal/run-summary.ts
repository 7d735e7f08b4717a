/** Counts what happened, for the lines after Ctrl-C. */

import type { DeliveredEvent } from '../aws/services/deliveries.ts';
import { delayMsOf } from './event-line.ts';

export interface RunSummary {
  noteEvent(event: DeliveredEvent): void;
  /** Adds up the figures in a line of the poller's log (`figures.logged`). */
  noteLogLine(line: string): void;
  lines(elapsedMs: number): readonly string[];
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

    lines(elapsedMs) {
      const byStatus = [...statuses].map(([status, count]) => `${count} ${status}`).join(', ');
      const requests = totals.get('UpstreamRequests') ?? 0;
      const perMinute = Math.round(requests / Math.max(1, elapsedMs / 60_000));
      const sorted = delaysMs.toSorted((a, b) => a - b);
      return [
        `${eventCount} events of ${projects.size} projects${byStatus === '' ? '' : `: ${byStatus}`}`,
        `${eventCount - ids.size} repetitions of an event, with the same id`,
        ...(sorted.length > 0
          ? [
              `detected after ${seconds(sorted, 0.5)} in the median, ${seconds(sorted, 0.95)} in 95 of 100 cases`,
            ]
          : []),
        `${requests} requests, ${perMinute} a minute, ${totals.get('UpstreamThrottled') ?? 0} of them throttled`,
      ];
    },
  };
}

function seconds(sortedMs: readonly number[], share: number): string {
  const value = sortedMs[Math.min(sortedMs.length - 1, Math.floor(sortedMs.length * share))] ?? 0;
  return `${(value / 1_000).toFixed(1)} s`;
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
