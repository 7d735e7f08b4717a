/** Which messages go out now: one per incident while there are few, and a few for all of them in a storm. */

import type { Notice } from './notice.ts';

/** The notices of one message, oldest first within each incident. */
export type Message = readonly (readonly Notice[])[];

export interface ChannelPace {
  /** At most so many messages start within `perMs`; what is due beyond that is told together. */
  readonly messageCountMax: number;
  readonly perMs: number;
  /** What one message can name; a storm beyond it takes several. */
  readonly noticesPerMessageMax: number;
}

/** Nothing to send when no slot is free: the notices stay pending and are planned again. */
export function planMessages(
  due: readonly (readonly Notice[])[],
  sentAtMs: readonly number[],
  { pace, nowMs }: { readonly pace: ChannelPace; readonly nowMs: number },
): readonly Message[] {
  const usedCount = sentAtMs.filter((sentMs) => sentMs > nowMs - pace.perMs).length;
  const freeCount = pace.messageCountMax - usedCount;
  if (freeCount <= 0 || due.length === 0) return [];
  const sorted = due.flatMap((notices) => inPortions(notices.toSorted(byTime), pace.noticesPerMessageMax));
  // The last free slot is worth most: it tells all that is left instead of one more incident.
  if (sorted.length <= Math.max(1, freeCount - 1)) return sorted.map((notices) => [notices]);
  return packed(sorted, pace.noticesPerMessageMax);
}

function byTime(a: Notice, b: Notice): number {
  if (a.observed_at !== b.observed_at) return a.observed_at < b.observed_at ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

function inPortions(notices: readonly Notice[], size: number): readonly (readonly Notice[])[] {
  const count = Math.ceil(notices.length / size);
  return Array.from({ length: count }, (_, index) => notices.slice(index * size, (index + 1) * size));
}

function packed(incidents: readonly (readonly Notice[])[], size: number): readonly Message[] {
  const messages: (readonly Notice[])[][] = [];
  let leftCount = 0;
  for (const notices of incidents) {
    const last = messages.at(-1);
    if (last === undefined || leftCount < notices.length) {
      messages.push([notices]);
      leftCount = size - notices.length;
    } else {
      last.push(notices);
      leftCount -= notices.length;
    }
  }
  return messages;
}
