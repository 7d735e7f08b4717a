/**
 * Watches for commands and wishes that other processes record while this invocation runs. Projects of commands are
 * read at once instead of in their turn, and wishes are fulfilled within a small share of the requests. One small
 * read of the index serves all projects. An index that lags behind only delays the reading.
 */

import { MINUTE_MS } from '../../../shared/core/time/durations.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type {
  WorkIndexEntry,
  WorkIndexPage,
  WorkPageRequest,
} from '../../../shared/store/adapters/work-index.ts';
import type { IndexPosition } from '../../../shared/store/table.ts';
import { type NudgeBell, pauseOf } from '../nudges/nudge-bell.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';

/**
 * One look reads at most this many keys, which is all of a usual account. After an outage of the bus there are many
 * more, and several looks pass over all of them.
 */
const PAGE_KEYS = 1_000;

/** With a bell, a look only finds what was left without a ring, because a process died in between. */
const REST_MS = MINUTE_MS;

/** Other processes leave their work for the poller here. */
interface WorkStore {
  findWorkPage(request: WorkPageRequest): Promise<WorkIndexPage>;
  /** Resolves to the projects of which callers wish for a fresh reading. It returns each wish once. */
  takeWishes(): Promise<readonly string[]>;
}

export interface WorkWatchDeps {
  readonly store: WorkStore;
  readonly planner: Pick<PollPlanner, 'markHot' | 'wish' | 'waitingCount'>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly limits: {
    /**
     * Two looks at what other processes have recorded are this far apart when there is no bell. It is undefined when
     * no other process records anything.
     */
    readonly workIntervalMs?: number | undefined;
  };
  /** It rings when another process has recorded something. Without one the loop looks all the time. */
  readonly bell?: NudgeBell | undefined;
  readonly signal: AbortSignal;
}

export async function watchForWork(deps: WorkWatchDeps): Promise<void> {
  const { store, planner, clock, telemetry, limits, bell, signal } = deps;
  if (limits.workIntervalMs === undefined) return;
  const pause = pauseOf(bell, clock, { lookMs: limits.workIntervalMs, restMs: REST_MS });
  const commands = createCommandWatch();
  let start: IndexPosition | undefined;
  while (!signal.aborted) {
    try {
      const { entries, next } = await store.findWorkPage({ limit: PAGE_KEYS, start });
      for (const projectId of commands.take(entries, next === undefined)) planner.markHot(projectId);
      start = next;
      // The next invocation takes what this one cannot serve any more.
      if (signal.aborted) return;
      for (const projectId of await store.takeWishes()) planner.wish(projectId);
    } catch {
      // The table is busy. The next look comes in a moment, and every project has its turn anyway.
    }
    const waitingCount = planner.waitingCount();
    if (waitingCount > 0) telemetry.measure('ReadingsWaiting', waitingCount);
    // The rest of a pass over the index follows without a rest.
    if (start === undefined) await pause(signal);
    else await clock.sleep(limits.workIntervalMs, signal).catch(() => {});
  }
}

/** Finds the commands that an earlier pass over the index has not shown. */
function createCommandWatch() {
  /** It is undefined during the first pass, because the invocation has started with what is there. */
  let known: ReadonlySet<string> | undefined;
  let seen = new Set<string>();
  return {
    /** Returns the projects of new commands. `isLast` says that the pass ends with this page. */
    take(entries: readonly WorkIndexEntry[], isLast: boolean): readonly string[] {
      const commands = entries.filter(({ isCommand }) => isCommand);
      const added = commands.filter(({ key }) => known?.has(key.sk) === false);
      for (const { key } of commands) seen.add(key.sk);
      if (isLast) [known, seen] = [seen, new Set()];
      return added.flatMap(({ projectId }) => projectId ?? []);
    },
  };
}
