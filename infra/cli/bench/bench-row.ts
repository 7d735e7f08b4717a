/** Defines what a run of the benchmark has measured, as it is recorded for the page on performance. */

import recorded from './recorded.json' with { type: 'json' };

/** All delays are in seconds, from the transition to the event on the bus. */
export interface BenchRow {
  readonly world: string;
  readonly policy: string;
  readonly engine: string;
  readonly projects: number;
  readonly seed: number;
  /** The row has this seed and those that follow it, and every transition of them counts the same. */
  readonly seed_count: number;
  /** The hours that were measured with each seed. */
  readonly hours: number;
  readonly requests_per_minute: number;
  readonly transitions: number;
  /** Counts the transitions that were not published at the end. Each counts with the time that it had waited. */
  readonly waiting: number;
  readonly mean_s: number;
  readonly p50_s: number;
  readonly p95_s: number;
  readonly p99_s: number;
  /** No poller without hints has a smaller mean in this world. */
  readonly bound_s: number;
  /** Neither has one a smaller mean than this, where one price of a request is shared by all kinds of bursts. It is absent where it was not computed. */
  readonly tight_bound_s?: number | undefined;
}

/** `npm run bench -- --record` writes them. */
export interface BenchRecord {
  readonly measured_on: string;
  /** Says what has changed since the run. A new record has no note. */
  readonly note?: string | undefined;
  readonly rows: readonly BenchRow[];
  /** Drawn worlds have their quantities within these ranges. */
  readonly ranges: readonly { readonly quantity: string; readonly min: number; readonly max: number }[];
}

export const recordedBench: BenchRecord = recorded;
