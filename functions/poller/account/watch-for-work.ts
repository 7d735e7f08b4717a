/**
 * Watches for commands and wishes that other processes record while an invocation runs, and ends the invocation early
 * once nothing is expected to happen soon.
 */

import { MINUTE_MS } from '../../../shared/records/time.ts';
import type { WorkIndexEntry } from '../../../shared/store/bridge-store.ts';
import type { IndexPosition } from '../../../shared/store/table.ts';
import type { PollingNeed } from '../planner/poll-planner.ts';
import type { InvocationDeps } from './account-deps.ts';

/**
 * One look reads at most this many keys, which is all of a usual account. After an outage of the bus there are many
 * more, and several looks pass over all of them.
 */
const PAGE_KEYS = 1_000;

/** The bell rings for work, so a look only finds what was left without a ring, because a process died in between. */
const REST_MS = MINUTE_MS;

/** `meet` lets recorded projects be polled that this process has not met yet, because the list does not show them. */
export async function watchForWork(
  deps: InvocationDeps,
  meet: (projectIds: readonly string[]) => Promise<void>,
): Promise<void> {
  const { store, planner, clock, telemetry, limits, bell, signal } = deps;
  const pause = bell.listen();
  const commands = createCommandWatch();
  let start: IndexPosition | undefined;
  while (!signal.aborted) {
    try {
      const { entries, next } = await store.findWorkPage({ limit: PAGE_KEYS, start });
      for (const projectId of commands.take(entries, next === undefined)) planner.askAtOnce(projectId);
      start = next;
      // The next invocation takes what this one cannot serve any more.
      if (signal.aborted) return;
      const wishes = await store.takeWishes();
      await meet(wishes);
      for (const projectId of wishes) planner.wish(projectId);
    } catch {
      // The table is busy. The next look comes in a moment, and every project has its turn anyway.
    }
    const waitingCount = planner.waitingCount();
    if (waitingCount > 0) telemetry.measure('ReadingsWaiting', waitingCount);
    // The rest of a pass over the index follows without a rest.
    if (start === undefined) await pause(REST_MS, signal);
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

/**
 * The need for the invocation is derived this often. It is billed by the millisecond, but looking more often would
 * cost more than it saves.
 */
const LOOK_MS = 250;

/**
 * Aborts `stop` when the invocation is no longer needed. `isBusy` says whether it has work that the planner does not
 * know of.
 */
export async function endWhenQuiet(
  { planner, clock, limits }: InvocationDeps,
  stop: AbortController,
  isBusy: () => boolean,
): Promise<void> {
  const { lingerMs } = limits;
  if (lingerMs === undefined) return;
  const startedAtMs = clock.now();
  let neededAtMs = startedAtMs;
  while (!stop.signal.aborted) {
    await clock.sleep(LOOK_MS, stop.signal).catch(() => {});
    const nowMs = clock.now();
    if (isBusy() || isNeeded(planner.need(startedAtMs, nowMs))) neededAtMs = nowMs;
    else if (nowMs - neededAtMs >= lingerMs) stop.abort(new Error('Nothing is expected to happen soon'));
  }
}

/** Below one transition in a minute, the next invocation usually comes before the transition does. */
const EXPECTED_PER_MS_MIN = 1 / 60_000;

/**
 * An invocation is billed by the millisecond, and the next one begins within a minute. So it goes on only while a transition is
 * expected before that, and for a configured time longer (docs, "How soon a transition is seen").
 */
export function isNeeded(need: PollingNeed): boolean {
  return !need.hasReadAll || need.hasWork || need.expectedTransitionsPerMs >= EXPECTED_PER_MS_MIN;
}
