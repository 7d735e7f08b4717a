/**
 * Decides which projects are polled by themselves although the project list shows every transition. The list shows the next transition of a
 * project with the next reading of its page, which is half an interval of the pages later on average. A poll of the project shows it sooner, but delays
 * all pages by one request:
 *
 *   page       transitions per second that are expected of a mean page
 *   interval   seconds between two readings of a page
 *   own        transitions per second that are expected of the project
 *
 * Each request that pages do without adds page x interval^2 / 2 seconds to the delays of all transitions. A project that is polled at its best interval,
 * which is interval x sqrt(page / own), costs interval x sqrt(page x own) in a second, with the delays of its own transitions. A project that is not
 * polled has delays of own x interval / 2 in a second. So polls pay where more than four times as much is expected of the project as of a mean page.
 */

import { listedStride } from './project-list/page-intensity.ts';

/**
 * Polls begin to pay at four. They gain little up to eight, and what is expected of one operation is an estimate. With 5,000 projects and a
 * deployment each hour, four made the mean delay a hundredth longer than eight did. In quieter worlds both gained the same.
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
 * same proportion to the stride of a page as its best interval is to that of a page.
 */
export function watchedStride({ ownPerMs, pagePerMs, recall }: WatchedProject): number | undefined {
  if (recall < RECALL_MIN || ownPerMs <= OWN_PER_PAGE_MIN * pagePerMs) return undefined;
  return listedStride(ownPerMs, recall);
}
