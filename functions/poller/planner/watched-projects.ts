/**
 * Decides how soon a project in which something is expected is polled again where the project list shows every transition. Its next transition would
 * be seen with the next reading of its page, half a turn of the pages later on average. A poll of its own sees it sooner, and delays all
 * pages by one request:
 *
 *   page    transitions per second that are expected of a mean page
 *   turn    seconds between two readings of a page
 *   own     transitions per second that are expected of the project
 *
 * One request less makes each turn longer, and costs page x turn^2 / 2 seconds of delay. With polls of its own at the best interval,
 * turn x sqrt(page / own), the project costs turn x sqrt(page x own) a second. Without them its delays are own x turn / 2.
 * So its own polls pay where more than four times as much is expected of the project as of a mean page.
 */

import { listedStride } from './project-list/page-intensity.ts';

/**
 * Own polls begin to pay at four. They gain little up to eight, and what is expected of one operation is a guess. With 5,000 projects and a
 * deployment each hour four made the mean delay a hundredth longer than eight, and in quieter worlds both gained the same.
 */
const OWN_PER_PAGE_MIN = 8;

/** Where the list shows fewer transitions, such projects are polled by their own weights. */
const RECALL_MIN = 0.9;

export interface WatchedProject {
  /** The transitions per millisecond that the open operation and the running computes of the project add. */
  readonly ownPerMs: number;
  /** The transitions per millisecond that are expected of a mean page of the project list. */
  readonly pagePerMs: number;
  /** The share of transitions, from 0 to 1, that the list is expected to show. */
  readonly recall: number;
}

/**
 * Returns after how much virtual time the project is polled again, or undefined when its page shows its transitions soon enough. It is in the
 * same proportion to the strides of pages as the intervals above.
 */
export function watchedStride({ ownPerMs, pagePerMs, recall }: WatchedProject): number | undefined {
  if (recall < RECALL_MIN || ownPerMs <= OWN_PER_PAGE_MIN * pagePerMs) return undefined;
  return listedStride(ownPerMs, recall);
}
