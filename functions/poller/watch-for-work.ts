/**
 * Commands through the API are recorded by another process while this invocation runs: their projects are read at once instead
 * of in their turn. Callers also wish for fresh readings, which are fulfilled within a small share of the requests. One small
 * read of the index serves all projects; a late index only makes it later.
 */

import type { Run } from './run.ts';

export async function watchForWork({ deps, stop }: Pick<Run, 'deps' | 'stop'>): Promise<void> {
  const { clock, store, planner, limits, telemetry } = deps;
  if (limits.workIntervalMs === undefined) return;
  let known: ReadonlySet<string> | undefined;
  while (!stop.signal.aborted) {
    try {
      const commands = (await store.findWork()).filter(({ isCommand }) => isCommand);
      // What was there at the beginning is known: the invocation has started with it.
      const isNew = (sk: string) => known?.has(sk) === false;
      for (const { key, projectId } of commands) {
        if (projectId !== undefined && isNew(key.sk)) planner.markHot(projectId);
      }
      known = new Set(commands.map(({ key }) => key.sk));
      for (const projectId of await store.takeReadRequests()) planner.wish(projectId);
    } catch {
      // The table is busy: the next look comes in a moment, and every project has its turn anyway.
    }
    const waitingCount = planner.waitingCount();
    if (waitingCount > 0) telemetry.measure('ReadingsWaiting', waitingCount);
    await clock.sleep(limits.workIntervalMs, stop.signal).catch(() => {});
  }
}
