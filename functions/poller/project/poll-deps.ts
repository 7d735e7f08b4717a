/** Lists what a poll of one project is built from, and what it is asked for. */

import type { UsualDuration } from '../../../shared/core/journal/journal-entries.ts';
import type { Backfill } from '../../../shared/core/records/operation-record.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { DurationSample } from '../../../shared/insights/duration-sample.ts';
import type { CountedChange } from '../../../shared/insights/hour-counts.ts';
import type { RelayDeps } from '../../../shared/protocol/relay-records.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { BridgeStore } from '../../../shared/store/adapters/bridge-store.ts';
import type { Permit } from '../../../shared/upstream/request-budget.ts';
import type { UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import type { ArrivalHistory } from '../planner/project-activity.ts';
import type { WalkLimits } from './walk.ts';

export interface PollDeps extends RelayDeps {
  readonly upstream: UpstreamClient;
  readonly store: BridgeStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly options: PollOptions;
  /** Takes what the operations took that have ended. It is undefined when nothing is kept of that. */
  readonly samples?: { take(sample: DurationSample): void } | undefined;
  /** Takes what recorded transitions add to the counts of their hours. It is undefined when nothing is counted. */
  readonly counts?: { take(change: CountedChange): void } | undefined;
  /**
   * Resolves to what an action usually takes, and to undefined when too few operations have ended. Without it, only the
   * thresholds of `options` apply to stalls.
   */
  readonly usualDurationOf?:
    | ((projectId: string, action: string) => Promise<UsualDuration | undefined>)
    | undefined;
}

/**
 * The configuration may fix thresholds for an action, in milliseconds and in ascending order. Those of `default` apply
 * to every action that has none of its own. Without any, the threshold of an action comes from what it usually takes.
 */
export type StallThresholdsMs = Readonly<Record<string, readonly number[]>>;

export interface PollOptions {
  readonly walkLimits: WalkLimits;
  readonly backfill: Backfill;
  /** The bound moves once this many newer rows were seen: a write per walk would double the cost of a quiet account. */
  readonly boundStepRows: number;
  readonly sweepIntervalMs: number;
  readonly stallThresholdsMs: StallThresholdsMs;
}

export interface PollRequest {
  readonly projectId: string;
  /**
   * The account's `boot_at` is `since` of a project that has none of its own. It is undefined when it cannot be read,
   * and then only a project that was read before is polled.
   */
  readonly bootAt: Timestamp | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The first request leaves with this permit. It takes its own when this is undefined. */
  readonly permit?: Permit | undefined;
  /** Operations begin this often in the project, as earlier polls have seen it. */
  readonly history?: ArrivalHistory | undefined;
  /**
   * It is called once the operations were read, before anything is published, because the bus may take longer than
   * the invocation has.
   */
  readonly onRead?: (() => void) | undefined;
}
