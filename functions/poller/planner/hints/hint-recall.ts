/** Estimates how reliably a field of the project list shows transitions, by the share of transitions that moved it. */

import type { HintRecall } from '../../../../shared/core/records/hint-evidence.ts';

/** This stands for a field of which nothing is known. It is worth a try, and soon given up when it never shows anything. */
export const UNTRIED: HintRecall = { foundCount: 0, missedCount: 0 };

/**
 * Older evidence fades beyond this many observations, so that a changed service is believed after about as many new
 * ones.
 */
const EVIDENCE_COUNT_MAX = 400;

/** The estimate lies this many standard deviations below the mean, so that little evidence counts for little. */
const DEVIATIONS_BELOW = 1;

/**
 * At least this recall is assumed: what a field may show of which all evidence that is kept are misses. A field that shows
 * nothing is still read now and then, because it may begin to move.
 */
export const RECALL_MIN = 1 / (EVIDENCE_COUNT_MAX + 2);

/** The low estimate is at most this. A field proves itself with it. */
const RECALL_MAX = 0.99;

/**
 * Each miss of a field multiplies the odds that it shows every transition by this number. The odds recover as the miss
 * fades.
 */
const ODDS_AFTER_MISS = 1e-6;

/** At most this recall is expected, because even a field that has never missed a transition may begin to. */
const EXPECTED_MAX = 0.999_99;

export function noteHint(recall: HintRecall, hasMoved: boolean): HintRecall {
  const total = recall.foundCount + recall.missedCount;
  const keep = total >= EVIDENCE_COUNT_MAX ? 1 - 1 / EVIDENCE_COUNT_MAX : 1;
  return {
    foundCount: recall.foundCount * keep + (hasMoved ? 1 : 0),
    missedCount: recall.missedCount * keep + (hasMoved ? 0 : 1),
  };
}

/** Returns a low quantile of the Beta posterior with a flat prior, computed from its mean and deviation. */
export function cautiousRecall({ foundCount, missedCount }: HintRecall): number {
  const total = foundCount + missedCount + 2;
  const mean = (foundCount + 1) / total;
  const deviation = Math.sqrt((mean * (1 - mean)) / (total + 1));
  return Math.min(RECALL_MAX, Math.max(RECALL_MIN, mean - DEVIATIONS_BELOW * deviation));
}

/**
 * Returns the share of transitions, from 0 to 1, that the field is expected to show. A field either shows every
 * transition or a certain share of them, and both are equally likely once it has shown one. While it misses nothing,
 * each further transition makes the first more likely. So what it is expected to miss shrinks with the square of the
 * evidence, and requests are not spent on looking for what it never missed. After one miss only `cautiousRecall` counts.
 */
export function expectedRecall(recall: HintRecall): number {
  const oddsOfAll = recall.foundCount * ODDS_AFTER_MISS ** recall.missedCount;
  const share = cautiousRecall(recall);
  return Math.min(EXPECTED_MAX, share + ((1 - share) * oddsOfAll) / (1 + oddsOfAll));
}
