/** How much a field of the project list tells: the share of transitions that moved it, learned while polling. */

/** Plain data: it is kept across restarts. */
export interface HintRecall {
  readonly foundCount: number;
  readonly missedCount: number;
}

/** Nothing known: worth a try, and soon given up when it never tells anything. */
export const UNTRIED: HintRecall = { foundCount: 0, missedCount: 0 };

/** Older evidence fades: a service that changes its mind is believed again after as many new observations. */
const EVIDENCE_COUNT_MAX = 400;

/** One standard deviation below the mean: with little evidence a hint counts for less than it seems. */
const DEVIATIONS_BELOW = 1;

/** With less than this the sweep is only a rare check whether the field has begun to move. */
export const RECALL_MIN = 0.005;

/** No field is believed to tell everything: a project that it never shows must be polled all the same. */
export const RECALL_MAX = 0.99;

export function noteHint(recall: HintRecall, hasMoved: boolean): HintRecall {
  const total = recall.foundCount + recall.missedCount;
  const keep = total >= EVIDENCE_COUNT_MAX ? 1 - 1 / EVIDENCE_COUNT_MAX : 1;
  return {
    foundCount: recall.foundCount * keep + (hasMoved ? 1 : 0),
    missedCount: recall.missedCount * keep + (hasMoved ? 0 : 1),
  };
}

/** A low quantile of the Beta posterior with a flat prior, by its mean and deviation. */
export function cautiousRecall({ foundCount, missedCount }: HintRecall): number {
  const total = foundCount + missedCount + 2;
  const mean = (foundCount + 1) / total;
  const deviation = Math.sqrt((mean * (1 - mean)) / (total + 1));
  return Math.min(RECALL_MAX, Math.max(RECALL_MIN, mean - DEVIATIONS_BELOW * deviation));
}
