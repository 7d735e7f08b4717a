/** Measures how late final states were delivered, apart from the time for which the bridge was down. */

import type { DeliveredEvent } from '../../infra/local/aws/event-bridge/deliveries.ts';
import type { GroundTruthOperation } from '../../infra/simulator/world/project-state.ts';
import { TERMINAL_STATUSES } from '../end-to-end/truth.ts';

export interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Lateness {
  readonly operationId: string;
  /** This is the time from the final state to its first delivery, in milliseconds. */
  readonly delayMs: number;
  /** The bridge was down for this part of the delay, in milliseconds. */
  readonly outageMs: number;
}

/**
 * Measures operations that never failed. A failed operation is watched at a falling rate, so no delay is promised for
 * it.
 */
export function latenessOf(
  truth: readonly GroundTruthOperation[],
  delivered: readonly DeliveredEvent[],
  outages: readonly Outage[],
): readonly Lateness[] {
  const deliveredAtMs = firstFinalDeliveries(delivered);
  return truth.flatMap(({ operation_id, states }) => {
    const final = states.find(({ status }) => TERMINAL_STATUSES.has(status));
    const toMs = deliveredAtMs.get(operation_id);
    const isRetried = states.some(({ status }) => status === 'failed');
    if (final === undefined || toMs === undefined || isRetried) return [];
    const outageMs = overlapMs(outages, { fromMs: final.at_ms, toMs });
    return [{ operationId: operation_id, delayMs: Math.max(0, toMs - final.at_ms), outageMs }];
  });
}

/** The time of an envelope is cut to whole seconds, so the event arrived up to a second later. */
const ENVELOPE_SECOND_MS = 1_000;

function firstFinalDeliveries(delivered: readonly DeliveredEvent[]): ReadonlyMap<string, number> {
  const firstMs = new Map<string, number>();
  for (const { detail, time, ...event } of delivered) {
    const isFinal =
      event['detail-type'] === 'Operation State Changed' && TERMINAL_STATUSES.has(String(detail['status']));
    if (!isFinal || detail['observed_by'] === 'backfill') continue;
    const id = String(detail['operation_id']);
    const atMs = Date.parse(time) + ENVELOPE_SECOND_MS;
    firstMs.set(id, Math.min(atMs, firstMs.get(id) ?? atMs));
  }
  return firstMs;
}

/** Sums the covered time once. Outages overlap when a kill meets a process that is still starting. */
export function overlapMs(outages: readonly Outage[], { fromMs, toMs }: Outage): number {
  let coveredToMs = fromMs;
  let sumMs = 0;
  for (const outage of outages.toSorted((one, other) => one.fromMs - other.fromMs)) {
    const startMs = Math.max(outage.fromMs, coveredToMs);
    const endMs = Math.min(outage.toMs, toMs);
    if (endMs <= startMs) continue;
    sumMs += endMs - startMs;
    coveredToMs = endMs;
  }
  return sumMs;
}
