/** Joins the adapters of one account, for entries that build dependencies. Use cases ask for the ports that they use. */

import type { Clock } from '../../runtime/clock.ts';
import type { Table } from '../table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../unreadable.ts';
import { createJournalWrites, createParkedEvents } from './journal-writes.ts';
import { createLeases } from './leases.ts';
import { createProjectRecords } from './project-records.ts';
import {
  createAccountRecords,
  createCommandRecords,
  createDerivedRecords,
  createOperationRecords,
} from './records.ts';
import { createReadingWishes, createRepairs, createReplays } from './wishes.ts';
import { createWorkIndex } from './work-index.ts';

export type BridgeStore = ReturnType<typeof createBridgeStore>;

/** `noteUnreadable` is called for every item that cannot be read, wholly or in part. */
export function createBridgeStore(
  table: Table,
  accountId: string,
  clock: Clock,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
) {
  return {
    accountId,
    ...createAccountRecords(table, accountId, noteUnreadable),
    ...createProjectRecords(table, accountId, noteUnreadable),
    ...createOperationRecords(table, accountId, noteUnreadable),
    ...createCommandRecords(table, noteUnreadable),
    ...createDerivedRecords(table, noteUnreadable),
    ...createJournalWrites(table, clock),
    ...createParkedEvents(table, accountId, clock),
    ...createWorkIndex(table, accountId, noteUnreadable),
    ...createReadingWishes(table, accountId, clock),
    ...createRepairs(table, accountId, { clock, noteUnreadable }),
    ...createReplays(table, accountId, { clock, noteUnreadable }),
    ...createLeases(table, accountId, { clock, noteUnreadable }),
  };
}
