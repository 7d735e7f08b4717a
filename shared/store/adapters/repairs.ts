/**
 * Stores repairs of projects. A caller asks for one, and the poller reads the list of the project again down to a time
 * and notes how far it has come. A project has one item for its latest repair.
 */

import * as z from 'zod';
import { DAY_MS } from '../../core/time/durations.ts';
import { isoTimeOf, normaliseTimestamp, type Timestamp } from '../../core/time/timestamp.ts';
import type { Clock } from '../../runtime/clock.ts';
import { repairKey, repairProjectIdOf, repairsOf } from '../keys.ts';
import type { Attribute, Table } from '../table.ts';
import { type NoteUnreadable, UnreadableItemError } from '../unreadable.ts';
import { updateOnce } from '../update-once.ts';
import { type RecordResult, resultOf } from './record-result.ts';
import { expiresAtOf } from './retention.ts';

const repairItem = z.object({
  kind: z.literal('repair'),
  repair_id: z.string(),
  project_id: z.string(),
  /** Operations that were created at this time or later are compared. */
  since: z.custom<Timestamp>((text) => typeof text === 'string' && normaliseTimestamp(text) === text),
  /** The caller asked for it at this time by our clock, ISO 8601. */
  requested_at: z.string(),
  /** The list is read on below this cursor of the upstream. */
  cursor: z.string().optional(),
  /** This many rows of the upstream were compared. A row that is read twice counts twice. */
  compared_count: z.number().int().nonnegative(),
  /** This many operations got an event more, their state back, or a lost event back. */
  repaired_count: z.number().int().nonnegative(),
  /** This many operations could not be repaired. The first of them are listed. */
  unrepaired_count: z.number().int().nonnegative(),
  unrepaired: z.array(z.object({ operation_id: z.string(), reason: z.string() })),
  /** It ended at this time by our clock, ISO 8601. */
  ended_at: z.string().optional(),
  /** It says in a sentence why the repair ended before the list was read. */
  failure: z.string().optional(),
});

export type Repair = Readonly<z.output<typeof repairItem>>;

/** The item of a repair has these attributes, beside those of the work index. */
export const REPAIR_ATTRIBUTES = Object.keys(repairItem.shape);

/** At most this many operations that could not be repaired are listed, so that the item stays small. */
export const UNREPAIRED_LISTED_MAX = 50;

/** A repair that has not ended after this time may be replaced: no poller may be running, or an older one. */
const REPLACED_AFTER_MS = DAY_MS;

export interface RepairRequest {
  readonly projectId: string;
  readonly repairId: string;
  readonly since: Timestamp;
}

export function createRepairs(
  table: Pick<Table, 'get' | 'queryWork' | 'update'>,
  accountId: string,
  { clock, noteUnreadable }: { readonly clock: Pick<Clock, 'now'>; readonly noteUnreadable: NoteUnreadable },
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
        compared_count: 0,
        repaired_count: 0,
        unrepaired_count: 0,
        unrepaired: [],
      };
      const update = {
        key: repairKey(accountId, projectId),
        set: { ...attributesOf(asked), work, expires_at: expiresAtOf(clock) },
        remove: ['cursor', 'ended_at', 'failure'],
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
      if (item === undefined) return undefined;
      const parsed = repairItem.safeParse(item);
      if (parsed.success) return parsed.data;
      const unreadable = { key, fields: parsed.error.issues.map(({ path }) => path.join('.')) };
      noteUnreadable(unreadable);
      throw new UnreadableItemError(unreadable);
    },

    /**
     * Notes how far a repair has come. Resolves to `conflict` when it has ended meanwhile or another one has replaced
     * it. Two pollers may both note their progress: the later note counts, and at most some pages are read again.
     */
    async saveRepair(repair: Repair): Promise<RecordResult> {
      const { project_id, repair_id, ended_at, cursor } = repair;
      const outcome = await table.update({
        key: repairKey(accountId, project_id),
        set: attributesOf(repair),
        remove: [...(ended_at === undefined ? [] : ['work']), ...(cursor === undefined ? ['cursor'] : [])],
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

function attributesOf(repair: Repair): Record<string, Attribute | undefined> {
  return { ...repair, unrepaired: repair.unrepaired.map((each) => ({ ...each })) };
}
