/** Reads what of an account is open, and what is recorded and not on the bus yet. */

import { pendingEntries } from '../../../shared/core/journal/journal.ts';
import type { JournalEntry } from '../../../shared/core/journal/journal-entries.ts';
import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import type { JournalRecord } from '../../../shared/core/records/journal-record.ts';
import { isOpen, type OperationRecord } from '../../../shared/core/records/operation-record.ts';
import { createWorkIndex } from '../../../shared/store/adapters/work-index.ts';
import type { Table } from '../../../shared/store/table.ts';
import type { NoteUnreadable } from '../../../shared/store/unreadable.ts';

export interface OpenWork {
  /**
   * Resolves to the operations of a project or of the account that have neither ended nor been given up, oldest
   * first.
   */
  openOperations(projectId?: string): Promise<readonly OperationRecord[]>;
  /**
   * Counts the events that are recorded and not on the bus yet. Normally there are none, or some that are a second
   * old.
   */
  unpublished(): Promise<Unpublished>;
  /** Answers both questions about the account with at most `WORK_AT_HAND_MAX` items, for a page that people wait for. */
  workAtHand(): Promise<WorkAtHand>;
}

/** Says what one bounded look at the work index has found. */
export interface WorkAtHand {
  /** These operations have not ended, oldest first. */
  readonly open: readonly OperationRecord[];
  /** These commands wait for their operations. */
  readonly commands: readonly CommandRecord[];
  readonly unpublished: Unpublished;
  /** It is false when there is more than was looked at. */
  readonly isWhole: boolean;
}

export interface Unpublished {
  readonly count: number;
  /** The oldest of them was observed at this time (ISO 8601). */
  readonly oldest_at: string | undefined;
}

/**
 * At most this many items are read at once. An account with more open operations is in trouble, and a longer list
 * would not help.
 */
export const OPEN_OPERATIONS_MAX = 1_000;

/** A page shows at most this many open operations, and what needs a person is found by its failures, too. */
export const WORK_AT_HAND_MAX = 80;

export function createOpenWork(table: Table, accountId: string, noteUnreadable: NoteUnreadable): OpenWork {
  const work = createWorkIndex(table, accountId, noteUnreadable);
  return {
    async openOperations(projectId) {
      const { entries } = await work.findWorkPage({ limit: OPEN_OPERATIONS_MAX, projectId });
      const operations = entries.filter(({ operationId }) => operationId !== undefined);
      const records = await work.readRecords(operations.map(({ key }) => key));
      return openOf(records);
    },

    async unpublished() {
      const { entries } = await work.findWorkPage({ limit: OPEN_OPERATIONS_MAX });
      return unpublishedOf(await work.readRecords(entries.map(({ key }) => key)));
    },

    async workAtHand() {
      const { entries, next } = await work.findWorkPage({ limit: WORK_AT_HAND_MAX });
      const records = await work.readRecords(entries.map(({ key }) => key));
      return {
        open: openOf(records),
        commands: records.flatMap((record) =>
          record.kind === 'command' && !record.is_settled ? [record] : [],
        ),
        unpublished: unpublishedOf(records),
        isWhole: next === undefined,
      };
    },
  };
}

function openOf(records: readonly JournalRecord[]): readonly OperationRecord[] {
  return records
    .flatMap((record) => (record.kind === 'operation' && isOpen(record) ? [record] : []))
    .toSorted((a, b) => a.created_at.localeCompare(b.created_at));
}

function unpublishedOf(records: readonly JournalRecord[]): Unpublished {
  const pending = records.flatMap((record) => pendingEntries<JournalEntry>(record));
  const times = pending.map(({ observed_at }) => observed_at).toSorted();
  return { count: pending.length, oldest_at: times[0] };
}
