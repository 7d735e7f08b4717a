/** Counts what a replay from the table would send, before anything is sent. */

import * as z from 'zod';
import { AppError } from '../../../shared/runtime/errors.ts';
import type { BridgeClient } from '../connection/bridge-client.ts';

export interface ReplayRange {
  /** ISO 8601. The range ends before `until`. */
  readonly since: string;
  readonly until: string;
  readonly project_id?: string | undefined;
}

export interface ReplayPreview {
  readonly event_count: number;
  /** How many events there are of each type. */
  readonly detail_types: Readonly<Record<string, number>>;
}

const stretch = z.looseObject({
  event_count: z.number(),
  detail_types: z.record(z.string(), z.number()),
  cursor: z.string().optional(),
});

/** One stretch has 500 items of the table. An account with more than 25 million of them would need more requests. */
const STRETCHES_MAX = 50_000;

/** `onProgress` gets the number of events so far, after each stretch but the last. */
export async function previewReplay(
  client: BridgeClient,
  range: ReplayRange,
  onProgress: (eventCount: number) => void,
): Promise<ReplayPreview> {
  const types = new Map<string, number>();
  let cursor: string | undefined;
  let eventCount = 0;
  for (let count = 0; count < STRETCHES_MAX; count++) {
    const query = { ...range, cursor };
    const page = await client.read({ method: 'GET', path: '/bridge/v1/replay/preview', query }, stretch);
    eventCount += page.event_count;
    for (const [type, more] of Object.entries(page.detail_types))
      types.set(type, (types.get(type) ?? 0) + more);
    cursor = page.cursor;
    if (cursor === undefined) {
      const sorted = [...types].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return { event_count: eventCount, detail_types: Object.fromEntries(sorted) };
    }
    onProgress(eventCount);
  }
  throw new AppError('range_too_large', 'The range has too many events to be counted; choose a shorter one.');
}
