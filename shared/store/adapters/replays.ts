/**
 * Stores the replay of an account: a caller asks for it, and the poller publishes the events of the range again and
 * notes how far it has come. An account has one item for its latest replay.
 */

import * as z from 'zod';
import { isoTimeOf } from '../../core/time/timestamp.ts';
import type { Clock } from '../../runtime/clock.ts';
import { replayKey } from '../keys.ts';
import type { Table } from '../table.ts';
import { type NoteUnreadable, UnreadableItemError } from '../unreadable.ts';
import { updateOnce } from '../update-once.ts';
import { type RecordResult, resultOf } from './record-result.ts';
import { expiresAtOf } from './retention.ts';

const replayItem = z.object({
  kind: z.literal('replay'),
  /** The resource of every event that is sent names this id. */
  replay_id: z.string(),
  /** The range begins at this time and ends before the other, ISO 8601 in UTC, in milliseconds. */
  since: z.string(),
  until: z.string(),
  project_id: z.string().optional(),
  /** It is true when the parked events are sent again, unmarked, and no range. */
  of_parked: z.boolean().optional(),
  requested_at: z.string(),
  /** In the index of the feed, the replay goes on behind this position. */
  position: z.record(z.string(), z.string()).optional(),
  /** The second pass reads the items again that changed while the first one was under way. */
  is_second_pass: z.boolean().optional(),
  /** This many events were sent. After a crash the last few of them may have been sent twice. */
  sent_count: z.number().int().nonnegative(),
  /** The bus refused this many events for good. */
  refused_count: z.number().int().nonnegative(),
  /** It ended at this time by our clock, ISO 8601. */
  ended_at: z.string().optional(),
  /** It is true when a caller ended the replay before all events were sent. */
  is_stopped: z.boolean().optional(),
});

export type Replay = Readonly<z.output<typeof replayItem>>;

/** The item of a replay has these attributes. */
export const REPLAY_ATTRIBUTES = Object.keys(replayItem.shape);

export type ReplayRequest = Pick<Replay, 'replay_id' | 'since' | 'until' | 'project_id' | 'of_parked'>;

export function createReplays(
  table: Pick<Table, 'get' | 'update'>,
  accountId: string,
  { clock, noteUnreadable }: { readonly clock: Pick<Clock, 'now'>; readonly noteUnreadable: NoteUnreadable },
) {
  const key = replayKey(accountId);
  return {
    /** Resolves to `conflict` while another replay of the account has not ended. */
    async requestReplay(request: ReplayRequest): Promise<RecordResult> {
      const update = {
        key,
        set: {
          kind: 'replay',
          ...request,
          requested_at: isoTimeOf(clock.now()),
          sent_count: 0,
          refused_count: 0,
          of_parked: request.of_parked === true,
          is_second_pass: false,
          is_stopped: false,
          expires_at: expiresAtOf(clock),
        },
        remove: ['position', 'ended_at', ...(request.project_id === undefined ? ['project_id'] : [])],
        condition: {
          kind: 'any',
          of: [
            { kind: 'absent', name: 'replay_id' },
            { kind: 'less', name: 'ended_at', value: LATEST_TIME },
          ],
        },
      } as const;
      return resultOf(await updateOnce(table, update, ['replay_id']));
    },

    /** Resolves to undefined when there was no replay within the last weeks. */
    async readReplay(): Promise<Replay | undefined> {
      const item = await table.get(key);
      if (item === undefined) return undefined;
      const parsed = replayItem.safeParse(item);
      if (parsed.success) return parsed.data;
      const unreadable = { key, fields: parsed.error.issues.map(({ path }) => path.join('.')) };
      noteUnreadable(unreadable);
      throw new UnreadableItemError(unreadable);
    },

    /** Notes how far the replay has come. Resolves to `conflict` when it has ended meanwhile, or another one has begun. */
    async saveReplay(replay: Replay): Promise<RecordResult> {
      const { position, ...fields } = replay;
      const outcome = await table.update({
        key,
        set: { ...fields, ...(position && { position: { ...position } }) },
        remove: position === undefined ? ['position'] : [],
        condition: {
          kind: 'all',
          of: [
            { kind: 'equals', name: 'replay_id', value: replay.replay_id },
            { kind: 'absent', name: 'ended_at' },
          ],
        },
      });
      return resultOf(outcome);
    },

    /** Ends the replay before its end. Resolves to `conflict` when it has ended already. */
    async stopReplay(replayId: string): Promise<RecordResult> {
      const outcome = await table.update({
        key,
        set: { ended_at: isoTimeOf(clock.now()), is_stopped: true },
        condition: {
          kind: 'all',
          of: [
            { kind: 'equals', name: 'replay_id', value: replayId },
            { kind: 'absent', name: 'ended_at' },
          ],
        },
      });
      return resultOf(outcome);
    },
  };
}

/** Every time that a clock gives sorts before this text, so a condition with it asks whether a time is there. */
const LATEST_TIME = '9';
