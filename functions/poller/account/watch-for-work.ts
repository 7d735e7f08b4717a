/**
 * Commands through the API are recorded by another process while this invocation runs: their projects are read at once instead
 * of in their turn. Callers also wish for fresh readings, which are fulfilled within a small share of the requests. One small
 * read of the index serves all projects; an index that lags behind only delays the reading.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type {
  WorkIndexEntry,
  WorkIndexPage,
  WorkPageRequest,
} from '../../../shared/store/adapters/work-index.ts';
import type { IndexPosition } from '../../../shared/store/table.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';

/** All keys of a usual account. After an outage of the bus there are many more, and a look at all of them takes several turns. */
const PAGE_KEYS = 1_000;

/** What other processes leave for the poller. */
export interface WorkStore {
  findWorkPage(request: WorkPageRequest): Promise<WorkIndexPage>;
  /** The projects that callers wish to be read; each wish is given out once. */
  takeWishes(): Promise<readonly string[]>;
}

export interface WorkWatchDeps {
  readonly store: WorkStore;
  readonly planner: Pick<PollPlanner, 'markHot' | 'wish' | 'waitingCount'>;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'measure'>;
  readonly limits: {
    /** Between two looks at what other processes have recorded; undefined: no other process records anything. */
    readonly workIntervalMs?: number | undefined;
  };
  readonly signal: AbortSignal;
}

export async function watchForWork(deps: WorkWatchDeps): Promise<void> {
  const { store, planner, clock, telemetry, limits, signal } = deps;
  if (limits.workIntervalMs === undefined) return;
  const commands = createCommandWatch();
  let start: IndexPosition | undefined;
  while (!signal.aborted) {
    try {
      const { entries, next } = await store.findWorkPage({ limit: PAGE_KEYS, start });
      for (const projectId of commands.take(entries, next === undefined)) planner.markHot(projectId);
      start = next;
      for (const projectId of await store.takeWishes()) planner.wish(projectId);
    } catch {
      // The table is busy: the next look comes in a moment, and every project has its turn anyway.
    }
    const waitingCount = planner.waitingCount();
    if (waitingCount > 0) telemetry.measure('ReadingsWaiting', waitingCount);
    await clock.sleep(limits.workIntervalMs, signal).catch(() => {});
  }
}

/** Finds the commands that an earlier pass over the index has not shown. */
function createCommandWatch() {
  /** Undefined during the first pass: the invocation has started with what is there. */
  let known: ReadonlySet<string> | undefined;
  let seen = new Set<string>();
  return {
    /** The projects of new commands. `isLast`: the pass ends with this page. */
    take(entries: readonly WorkIndexEntry[], isLast: boolean): readonly string[] {
      const commands = entries.filter(({ isCommand }) => isCommand);
      const added = commands.filter(({ key }) => known?.has(key.sk) === false);
      for (const { key } of commands) seen.add(key.sk);
      if (isLast) [known, seen] = [seen, new Set()];
      return added.flatMap(({ projectId }) => projectId ?? []);
    },
  };
}
