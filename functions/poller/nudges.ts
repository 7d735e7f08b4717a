/**
 * Lets the loops of an account wait until another process has left work for it, instead of looking in the table again
 * and again: one small read shows the nudges of all accounts, and a bell for each account passes them on.
 */

import type { Clock } from '../../shared/runtime/clock.ts';
import { sleepUntil, untilStopped } from '../../shared/runtime/concurrency.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { NUDGES_PARTITION, nudgedAccountIdOf, nudgeKey } from '../../shared/store/keys.ts';
import type { IndexPosition, TablePartitions } from '../../shared/store/table.ts';

export interface NudgeBell {
  /** Another process has left work for the account. */
  ring(): void;
  /** Creates what one loop waits with. Each loop hears every ring once. */
  listen(): Pause;
}

/** Resolves after `durationMs`, and earlier when there is something to look for. It never rejects. */
type Pause = (durationMs: number, signal: AbortSignal) => Promise<void>;

/**
 * After a ring the loops look again every second for this long: an index may lag behind the item that was written, and a
 * process that writes several items rings for the first one.
 */
const NUDGED_MS = 4_000;
const NUDGED_LOOK_MS = 1_000;

export function createNudgeBell(clock: Clock): NudgeBell {
  let ringCount = 0;
  let rungAtMs = Number.NEGATIVE_INFINITY;
  let next = Promise.withResolvers<void>();
  return {
    ring() {
      ringCount += 1;
      rungAtMs = clock.now();
      next.resolve();
      next = Promise.withResolvers();
    },
    listen() {
      let heardCount = ringCount;
      return async (durationMs, signal) => {
        if (heardCount === ringCount) {
          const isNudged = clock.now() - rungAtMs < NUDGED_MS;
          const waitMs = isNudged ? Math.min(durationMs, NUDGED_LOOK_MS) : durationMs;
          await sleepUntil(next.promise, clock, waitMs, signal);
        }
        heardCount = ringCount;
      };
    },
  };
}

/**
 * Nudges are read again until they are this old, because the clocks of two processes differ, and because a write may
 * take a second until it can be read.
 */
const READ_AGAIN_MS = 5_000;

/** A page has 1 MB, which is ten thousand nudges. More of them in a few seconds are left to the look of each account. */
const PAGES_MAX = 3;

export interface NudgeReader {
  /** Resolves to the accounts that were nudged since the previous call, each as often as it was nudged. */
  read(): Promise<readonly string[]>;
}

export function createNudgeReader(partitions: TablePartitions, clock: Clock): NudgeReader {
  let heard: ReadonlySet<string> = new Set();
  let readAtMs = clock.now();
  return {
    async read() {
      const nowMs = clock.now();
      const found = await readSince(partitions, Math.min(readAtMs, nowMs) - READ_AGAIN_MS);
      const fresh = found.filter((sk) => !heard.has(sk));
      heard = new Set(found);
      readAtMs = nowMs;
      return fresh.flatMap((sk) => nudgedAccountIdOf(sk) ?? []);
    },
  };
}

async function readSince(partitions: TablePartitions, sinceMs: number): Promise<readonly string[]> {
  const found: string[] = [];
  let start: IndexPosition | undefined = { ...nudgeKey(sinceMs, '') };
  for (let page = 0; page < PAGES_MAX && start !== undefined; page++) {
    const { items, next } = await partitions.readPartition({
      partition: NUDGES_PARTITION,
      start,
      mayLag: true,
    });
    found.push(...items.map(({ sk }) => sk));
    start = next;
  }
  return found;
}

/** A command makes its project hot about a second after it was recorded. */
const LOOK_MS = 1_000;

/** While the table cannot be read the lane looks less often. Nothing is lost: the next look reads what it has missed. */
const FAILED_LOOK_MS = 5_000;

export interface NudgeWatchDeps {
  readonly nudges: { read(): Promise<readonly string[]> };
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/**
 * Calls `onNudge` with the account of each nudge, also of accounts of other lanes, until `signal` aborts. A read that is under
 * way then is not waited for.
 */
export async function watchNudges(
  { nudges, clock, telemetry }: NudgeWatchDeps,
  onNudge: (accountId: string) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let lookMs = LOOK_MS;
    try {
      for (const accountId of (await untilStopped(nudges.read(), signal)) ?? []) onNudge(accountId);
    } catch (error) {
      lookMs = FAILED_LOOK_MS;
      telemetry.log('warn', 'nudges.not_read', { reason: toError(error).name });
    }
    await clock.sleep(lookMs, signal).catch(() => {});
  }
}
