/**
 * Writes samples into the insights of their day by compare-and-set, so that two pollers do not overwrite each other and
 * no sample is counted twice.
 */

import { withSamples } from '../../../../shared/insights/day-insights.ts';
import type { InsightsStore, ReadDay, StoredDay } from '../../../../shared/insights/insights-store.ts';
import type { SampleGroup } from './pending-samples.ts';

export interface WriteSamplesDeps {
  readonly store: InsightsStore;
  /** The id of this process stands in each item that it writes, so that it recognises its own write. */
  readonly writer: string;
}

export type WriteOutcome =
  | { readonly kind: 'written'; readonly leftOutCount: number }
  /** Nothing was written, and a later attempt may write the samples. */
  | { readonly kind: 'waiting' }
  /** The item cannot be read, or nothing says whether the write was made. Writing again could count samples twice. */
  | { readonly kind: 'lost' };

/** Two pollers that write the same item at the same moment need two attempts. */
const ATTEMPTS_MAX = 3;

export async function writeSamples(deps: WriteSamplesDeps, group: SampleGroup): Promise<WriteOutcome> {
  const { store, writer } = deps;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const stored = await readOrWait(store, group);
    if (stored === 'unreadable') return { kind: 'lost' };
    if (stored === 'unknown') return { kind: 'waiting' };
    const { insights, leftOutCount } = withSamples(stored.insights, group.samples);
    const next = { insights, revision: stored.revision + 1, writer };
    const outcome = await tryWrite(store, group, next);
    if (outcome === 'applied') return { kind: 'written', leftOutCount };
    if (outcome !== 'refused') return { kind: outcome };
  }
  return { kind: 'waiting' };
}

async function readOrWait(store: InsightsStore, group: SampleGroup): Promise<ReadDay | 'unknown'> {
  return store.readDay(group).catch(() => 'unknown' as const);
}

/**
 * A write whose reply was lost may have been made, and so may one that is refused: the SDK repeats a call by itself,
 * and its second answer can be caused by its first. The item itself says whose write it shows.
 */
async function tryWrite(
  store: InsightsStore,
  group: SampleGroup,
  next: StoredDay,
): Promise<'applied' | 'refused' | 'waiting' | 'lost'> {
  const outcome = await store.writeDay(group, next).catch(() => 'unknown' as const);
  if (outcome === 'applied') return outcome;
  const now = await readOrWait(store, group);
  if (typeof now === 'string') return 'lost';
  if (now.revision === next.revision && now.writer === next.writer) return 'applied';
  if (outcome === 'refused') return now.revision > next.revision ? 'lost' : 'refused';
  return now.revision < next.revision ? 'waiting' : 'lost';
}
