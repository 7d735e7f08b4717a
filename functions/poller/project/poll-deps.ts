/** Lists what a poll of one project is built from: the ports and options that its steps declare for themselves. */

import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { RelayDeps } from '../../../shared/protocol/relay-records.ts';
import type { SettleDeps } from '../../../shared/protocol/settle-commands.ts';
import type { ArrivalHistory } from '../planner/activity/arrival-history.ts';
import type { StoredReader } from './read-stored.ts';
import type { RecorderDeps } from './recording/operation-recorder.ts';
import type { ReadingOptions } from './recording/reading-context.ts';
import type { StallDeps, StallOptions } from './recording/record-stalls.ts';
import type { ProgressDeps, ProgressOptions } from './save-progress.ts';
import type { FetchDeps, ListedProject } from './walking/fetch-page.ts';
import type { SweepOptions } from './walking/sweep-operations.ts';
import type { WalkOptions } from './walking/walk-operations.ts';

export interface PollDeps
  extends Pick<FetchDeps, 'clock' | 'telemetry'>,
    Pick<ProgressDeps, 'askForRecorded'>,
    Pick<RecorderDeps, 'samples' | 'counts'>,
    Pick<StallDeps, 'usualDurationOf'>,
    Pick<RelayDeps, 'bus' | 'ledger' | 'onPublished'> {
  readonly upstream: FetchDeps['upstream'] & RecorderDeps['upstream'];
  readonly store: StoredReader &
    RecorderDeps['store'] &
    ProgressDeps['store'] &
    SettleDeps['store'] &
    RelayDeps['store'];
  readonly options: PollOptions;
}

export interface PollOptions
  extends ReadingOptions,
    WalkOptions,
    SweepOptions,
    ProgressOptions,
    StallOptions {
  readonly walkLimits: WalkOptions['walkLimits'];
}

export interface PollRequest extends ListedProject {
  /**
   * The account's `boot_at` ends the history of a project that has no end of its own. It is undefined when it cannot
   * be read, and then only a project that was read before is polled.
   */
  readonly bootAt: Timestamp | undefined;
  /** Operations begin this often in the project, as earlier polls have seen it. */
  readonly history?: ArrivalHistory | undefined;
  /**
   * It is called once the operations were read, before anything is published, because the bus may take longer than
   * the invocation has.
   */
  readonly onRead?: (() => void) | undefined;
}
