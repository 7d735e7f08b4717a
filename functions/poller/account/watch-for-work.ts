/**
 * Commands through the API are recorded by another process while this invocation runs: their projects are read at once instead
 * of in their turn. Callers also wish for fresh readings, which are fulfilled within a small share of the requests. One small
 * read of the index serves all projects; a late index only makes it later.
 */

import type { IndexPosition } from '../../../shared/store/table.ts';
import type { Run } from './run.ts';

/** All keys of the usual account. After an outage of the bus there are many more, and a look at all of them takes several turns. */
const PAGE_KEYS = 1_000;

export async function watchForWork({ deps, stop }: Pick<Run, 'deps' | 'stop'>): Promise<void> {
  const { clock, store, planner, limits, telemetry } = deps;
  if (limits.workIntervalMs === undefined) return;
  let known: ReadonlySet<string> | undefined;
  let seen = new Set<string>();
  let start: IndexPosition | undefined;
  while (!stop.signal.aborted) {
    try {
      const { places, next } = await store.findWorkPage({ limit: PAGE_KEYS, start });
      for (const { key, projectId } of places.filter(({ isCommand }) => isCommand)) {
        // What was there at the beginning is known: the invocation has started with it.
        if (projectId !== undefined && known?.has(key.sk) === false) planner.markHot(projectId);
        seen.add(key.sk);
      }
      start = next;
      if (next === undefined) {
        known = seen;
        seen = new Set();
      }
      for (const projectId of await store.takeReadRequests()) planner.wish(projectId);
    } catch {
      // The table is busy: the next look comes in a moment, and every project has its turn anyway.
    }
    const waitingCount = planner.waitingCount();
    if (waitingCount > 0) telemetry.measure('ReadingsWaiting', waitingCount);
    await clock.sleep(limits.workIntervalMs, stop.signal).catch(() => {});
  }
}
