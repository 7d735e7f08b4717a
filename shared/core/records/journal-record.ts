/** Everything that has a journal, and what its journal asks for. */

import type { AccountRecord } from './account-record.ts';
import type { CommandRecord } from './command-record.ts';
import { isOpen, type OperationRecord } from './operation-record.ts';
import type { ProjectRecord } from './project-record.ts';

export type JournalRecord = OperationRecord | ProjectRecord | AccountRecord | CommandRecord;

/** Something is left to read or to publish: such a record stands in the work index. */
export function hasWork(record: JournalRecord): boolean {
  if (record.published < record.revision) return true;
  if (record.kind === 'command') return !record.is_settled;
  return record.kind === 'operation' && isOpen(record);
}

/** The record once its journal is acknowledged up to a revision. */
export function acknowledged<R extends JournalRecord>(record: R, through: number): R {
  return { ...record, published: Math.max(record.published, through) };
}
