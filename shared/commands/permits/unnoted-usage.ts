/** Collects what one instance of the API has used, until a note in the table counts it for all instances. */

import type { NewUsage } from '../../store/command-usage.ts';
import { WINDOW_MS } from './shared-use.ts';

/** This bounds the size of one note's write. The names beyond it go into the next note. */
const NOTED_NAMES_MAX = 50;

export class UnnotedUsage {
  #sentCount = 0;
  /** Counts the requests that were noted before they were sent. */
  #notedAheadCount = 0;
  #counts = new Map<string, number>();

  /** Adds to the count under a name. Adding 0 makes the next note ask what the others have counted under it. */
  count(name: string, by: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }

  countSent(): void {
    if (this.#notedAheadCount > 0) this.#notedAheadCount -= 1;
    else this.#sentCount += 1;
  }

  /** The last note has counted requests that will be sent soon, so they must not count again. */
  countNotedAhead(requestCount: number): void {
    this.#notedAheadCount += requestCount;
  }

  /** Removes and returns what the next note will count. */
  take(nowMs: number): NewUsage {
    const entries = [...this.#counts];
    const members = new Map(entries.slice(0, NOTED_NAMES_MAX));
    const requestCount = this.#sentCount;
    this.#sentCount = 0;
    this.#counts = new Map(entries.slice(NOTED_NAMES_MAX));
    return { requestCount, members, window: Math.floor(nowMs / WINDOW_MS) };
  }

  /** Takes back what a failed note did not count. */
  putBack({ requestCount, members }: NewUsage): void {
    this.#sentCount += requestCount;
    for (const [name, by] of members) this.count(name, by);
  }
}
