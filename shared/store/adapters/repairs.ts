/**
 * Stores repairs of projects. A caller asks for one, and the poller lowers the bound of the project and notes when a walk
 * has read everything above it again. A project has one item for its latest repair.
 */

import * as z from 'zod';
import { DAY_MS } from '../../core/time/durations.ts';
import { isoTimeOf, normaliseTimestamp, type Timestamp } from '../../core/time/timestamp.ts';
import type { Clock } from '../../runtime/clock.ts';
import { repairKey, repairProjectIdOf, repairsOf } from '../keys.ts';
import type { Table } from '../table.ts';
import { type NoteUnreadable, readable } from '../unreadable.ts';
import { updateOnce } from '../update-once.ts';
import { type RecordResult, resultOf } from './record-result.ts';
import { expiresAtOf } from './retention.ts';

const repairItem = z.object({
  kind: z.literal('repair'),
  repair_id: z.string(),
  project_id: z.string(),
  /** Operations that were created at this time or later are read again. */
  since: z.custom<Timestamp>((text) => typeof text === 'string' && normaliseTimestamp(text) === text),
  /** The caller asked for it at this time by our clock, ISO 8601. */
  requested_at: z.string(),
  /** The bound was lowered at this time by our clock, ISO 8601. */
  lowered_at: z.string().optional(),
  /** A walk has ended since, at this time by our clock, ISO 8601. */
  ended_at: z.string().optional(),
});

export type Repair = Readonly<z.output<typeof repairItem>>;

/** The item of a repair has these attributes, beside those of the work index. */
export const REPAIR_ATTRIBUTES = Object.keys(repairItem.shape);

/** A repair that has not ended after this time may be replaced: no poller may be running, or an older one. */
const REPLACED_AFTER_MS = DAY_MS;

export interface RepairRequest {
  readonly projectId: string;
  readonly repairId: string;
  readonly since: Timestamp;
}

export function createRepairs(
  table: Table,
  accountId: string,
  { clock, noteUnreadable }: { readonly clock: Clock; readonly noteUnreadable: NoteUnreadable },
) {
  const work = repairsOf(accountId);
  return {
    /** Resolves to `conflict` while another repair of the project has not ended. */
    async requestRepair({ projectId, repairId, since }: RepairRequest): Promise<RecordResult> {
      const nowMs = clock.now();
      const asked: Repair = {
        kind: 'repair',
        repair_id: repairId,
        project_id: projectId,
        since,
        requested_at: isoTimeOf(nowMs),
      };
      const update = {
        key: repairKey(accountId, projectId),
        set: { ...asked, work, expires_at: expiresAtOf(clock) },
        remove: ['lowered_at', 'ended_at'],
        condition: {
          kind: 'any',
          of: [
            { kind: 'absent', name: 'work' },
            { kind: 'less', name: 'requested_at', value: isoTimeOf(nowMs - REPLACED_AFTER_MS) },
          ],
        },
      } as const;
      return resultOf(await updateOnce(table, update, ['repair_id']));
    },

    /** Resolves to the projects with a repair that has not ended. The index can lag, so the items themselves decide. */
    async findRepairs(): Promise<readonly string[]> {
      return (await table.queryWork({ work })).flatMap((key) => repairProjectIdOf(key) ?? []);
    },

    /** Resolves to undefined when nobody has asked for a repair of the project within the last weeks. */
    async readRepair(projectId: string): Promise<Repair | undefined> {
      const key = repairKey(accountId, projectId);
      const item = await table.get(key);
      return item && readable(repairItem, item, noteUnreadable);
    },

    /** Resolves to `conflict` when the repair has ended meanwhile or another one has replaced it. */
    async saveRepair(repair: Repair): Promise<RecordResult> {
      const { project_id, repair_id, ended_at } = repair;
      const outcome = await table.update({
        key: repairKey(accountId, project_id),
        set: { ...repair },
        remove: ended_at === undefined ? [] : ['work'],
        condition: {
          kind: 'all',
          of: [
            { kind: 'equals', name: 'repair_id', value: repair_id },
            { kind: 'absent', name: 'ended_at' },
          ],
        },
      });
      return resultOf(outcome);
    },
  };
}
