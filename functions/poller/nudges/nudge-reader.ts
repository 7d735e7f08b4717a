/** Reads the nudges that other processes have written: one small read shows those of all accounts. */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { NUDGES_PARTITION, nudgedAccountIdOf, nudgeKey } from '../../../shared/store/keys.ts';
import type { IndexPosition, TablePartitions } from '../../../shared/store/table.ts';

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
