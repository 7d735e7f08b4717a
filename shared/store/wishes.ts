/**
 * Stores what callers ask of the poller: a fresh reading of a project, its repair, and the replay of events. The poller
 * takes each and notes how far it has come. A nudge says which account has such work.
 */

import * as z from 'zod';
import { eventChoice } from '../records/event-choice.ts';
import { DAY_MS, isoTimeOf, MINUTE_MS, type Timestamp, timestamp } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { toError } from '../runtime/errors.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import {
  accountIdOfWork,
  isReadRequestKey,
  nudgeKey,
  repairKey,
  repairProjectIdOf,
  repairsOf,
  replayKey,
  wishesOf,
  wishKey,
} from './keys.ts';
import { expiresAtOf, type RecordResult, resultOf } from './records.ts';
import { type Table, type Update, updateOnce, WORK_INDEX } from './table.ts';
import { KEY } from './table-access.ts';
import { type NoteUnreadable, readable } from './unreadable.ts';

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
  since: timestamp,
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
      // A condition has no "exists", and every time is less than this text.
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

/** A nudge has these attributes. */
export const NUDGE_ATTRIBUTES = [...KEY, 'kind', 'expires_at'] as const;

/** A nudge is read within seconds. It stays for a few minutes, for people who look for the cause of a delay. */
const KEPT_MS = 10 * MINUTE_MS;

/**
 * One process nudges an account at most once in this time, because the poller looks again for some seconds after each
 * nudge.
 */
const INTERVAL_MS = 1_000;

/** A process remembers the last nudge of at most this many accounts. Beyond that it begins to remember anew. */
const REMEMBERED_MAX = 10_000;

/** Resolves when the nudge is written, or at once when the same process nudged the account a moment ago. */
type Nudge = (accountId: string) => Promise<void>;

export function createNudge(table: Table, clock: Clock): Nudge {
  const nudgedAtMs = new Map<string, number>();
  return async (accountId) => {
    const nowMs = clock.now();
    const beforeMs = nudgedAtMs.get(accountId);
    if (beforeMs !== undefined && Math.abs(nowMs - beforeMs) < INTERVAL_MS) return;
    if (nudgedAtMs.size >= REMEMBERED_MAX) nudgedAtMs.clear();
    nudgedAtMs.set(accountId, nowMs);
    const expires_at = Math.floor((nowMs + KEPT_MS) / 1_000);
    await table.update({ key: nudgeKey(nowMs, accountId), set: { kind: 'nudge', expires_at } });
  };
}

/**
 * The nudge is written beside the item, so that a command waits for the slower of the two writes, and not for both in turn. A poller
 * that comes too early looks again. A nudge that fails is logged, and the poller finds the work within a minute.
 */
export function nudgingTable(table: Table, nudge: Nudge, telemetry: Telemetry): Table {
  return {
    ...table,
    async update(update) {
      const accountId = leavesWork(update) ? accountIdOfWork(update.key) : undefined;
      if (accountId === undefined) return table.update(update);
      const [outcome] = await Promise.all([table.update(update), nudged(nudge, accountId, telemetry)]);
      return outcome;
    },
  };
}

async function nudged(nudge: Nudge, accountId: string, telemetry: Telemetry): Promise<void> {
  try {
    await nudge(accountId);
  } catch (error) {
    telemetry.log('warn', 'nudge.failed', { account_id: accountId, reason: toError(error).name });
  }
}

/** A record that the write does not put into the work index leaves nothing to do. */
function leavesWork({ key, set }: Update): boolean {
  return isReadRequestKey(key) || set[WORK_INDEX.partitionKey] !== undefined;
}
