/**
 * Stores what callers ask of the poller: a fresh reading of a project, its repair, and the replay of events. The
 * poller takes each and notes how far it has come.
 */

import * as z from 'zod';
import { eventChoice } from '../records/event-choice.ts';
import { DAY_MS, isoTimeOf, normaliseTimestamp, type Timestamp } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { repairKey, repairProjectIdOf, repairsOf, replayKey, wishesOf, wishKey } from './keys.ts';
import { type RecordResult, resultOf } from './records.ts';
import { expiresAtOf } from './retention.ts';
import type { Table } from './table.ts';
import { type NoteUnreadable, readable } from './unreadable.ts';
import { updateOnce } from './update-once.ts';

export function createReadingWishes(table: Table, accountId: string, clock: Clock) {
  const work = wishesOf(accountId);
  return {
    /**
     * Asks the poller to read the project at once. Within `intervalMs` of another wish for the project it changes
     * nothing: the other wish still waits, or was fulfilled just now.
     */
    async wishForReading(projectId: string, intervalMs: number): Promise<void> {
      const nowMs = clock.now();
      await table.update({
        key: wishKey(accountId, projectId),
        set: { kind: 'read_request', work, asked_at_ms: nowMs, expires_at: expiresAtOf(clock) },
        condition: {
          kind: 'any',
          of: [
            { kind: 'absent', name: 'asked_at_ms' },
            { kind: 'less', name: 'asked_at_ms', value: nowMs - intervalMs + 1 },
          ],
        },
      });
    },

    /** Resolves to the projects that were wished for since the previous call. */
    async takeWishes(): Promise<readonly string[]> {
      const keys = await table.queryWork({ work });
      await Promise.all(keys.map((key) => table.update({ key, set: {}, remove: ['work'] })));
      return keys.map(({ sk }) => sk);
    },
  };
}

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

const replayItem = z.object({
  ...eventChoice.shape,
  /** The resource of every event that is sent names this id. */
  replay_id: z.string(),
  /** It is true when the parked events are sent again, unmarked, and nothing is chosen. */
  of_parked: z.boolean().optional(),
  /** It is true when the events are only counted. */
  is_dry_run: z.boolean().optional(),
  requested_at: z.string(),
  /** The replay goes on behind this position of the index. */
  position: z.record(z.string(), z.string()).optional(),
  /** The second pass reads the items again that changed while the first one was under way. */
  is_second_pass: z.boolean().optional(),
  /** This many items of the table were read. */
  read_count: z.number(),
  /** The first pass has sent this many events, and the second one as many as `repeated_count`. */
  sent_count: z.number(),
  repeated_count: z.number().optional(),
  /** The bus refused this many events for good. */
  refused_count: z.number(),
  ended_at: z.string().optional(),
  is_stopped: z.boolean().optional(),
});

export type Replay = Readonly<z.output<typeof replayItem>>;

const NOTHING = { read_count: 0, sent_count: 0, refused_count: 0 };

/** The item of a replay has these attributes. */
export const REPLAY_ATTRIBUTES = ['kind', ...Object.keys(replayItem.shape)];

export type Replays = ReturnType<typeof createReplays>;

export function createReplays(
  table: Table,
  accountId: string,
  { clock, noteUnreadable }: { readonly clock: Clock; readonly noteUnreadable: NoteUnreadable },
) {
  const key = replayKey(accountId);
  return {
    /** Resolves to `conflict` while another replay of the account has not ended. */
    async requestReplay(asked: Partial<Replay> & Pick<Replay, 'replay_id'>): Promise<RecordResult> {
      const begin = { kind: 'replay', requested_at: isoTimeOf(clock.now()), ...NOTHING };
      const set = { ...begin, ...asked, expires_at: expiresAtOf(clock) };
      const remove = REPLAY_ATTRIBUTES.filter((name) => !(name in set));
      const hasEnded = { kind: 'less', name: 'ended_at', value: 'later than every time' } as const;
      const condition = { kind: 'any', of: [{ kind: 'absent', name: 'replay_id' }, hasEnded] } as const;
      return resultOf(await updateOnce(table, { key, set, remove, condition }, ['replay_id']));
    },

    /** Resolves to undefined when there was no replay within the last weeks. */
    async readReplay(): Promise<Replay | undefined> {
      const item = await table.get(key);
      return item && readable(replayItem, item, noteUnreadable);
    },

    /** Notes how far the replay has come. Resolves to `conflict` when it has ended meanwhile, or another one has begun. */
    async noteReplay(replayId: string, { position, ...progress }: Partial<Replay>): Promise<RecordResult> {
      const isSame = { kind: 'equals', name: 'replay_id', value: replayId } as const;
      const condition = { kind: 'all', of: [isSame, { kind: 'absent', name: 'ended_at' }] } as const;
      const set = { ...progress, position: position && { ...position } };
      return resultOf(await table.update({ key, set, remove: position ? [] : ['position'], condition }));
    },
  };
}
