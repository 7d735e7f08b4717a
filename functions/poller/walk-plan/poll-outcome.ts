/** Describes what one poll has read and recorded, as far as its progress depends on it. */

import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { StoredArrivals } from '../../../shared/core/records/reading-progress.ts';
import type { RecordedOperation } from '../../../shared/core/records/recorded-above.ts';
import type { WalkState } from './walk-state.ts';

export interface PollOutcome {
  /** This record was stored before the poll. It is undefined when nothing was stored. */
  readonly project: ProjectRecord | undefined;
  readonly walk: WalkState;
  /** It is undefined when no sweep was due. */
  readonly sweep: WalkState | undefined;
  /** This many rows are newer than the stored watermark. */
  readonly newerRowCount: number;
  /**
   * The watermark moves once this many newer rows were seen, because a write per walk would double the cost of a
   * quiet account.
   */
  readonly watermarkStepRows: number;
  readonly arrivals: StoredArrivals | undefined;
  /** Nothing can appear behind this cursor any more. It is written along with a watermark. */
  readonly listEnd: string | undefined;
  /**
   * The table holds these operations of a project that cannot be read any more (`wantedRecords`), the newest first. It
   * is undefined when the table was not asked.
   */
  readonly recorded: readonly RecordedOperation[] | undefined;
  /** This poll has met these operations, which are recorded and not open. */
  readonly ended: readonly RecordedOperation[];
  readonly nowMs: number;
}
