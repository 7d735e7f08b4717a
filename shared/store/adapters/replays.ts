/** Stores the replay of an account: what a caller has chosen, and how far the poller has come. There is one item for the latest. */

import * as z from 'zod';
import { eventChoice } from '../../core/journal/event-choice.ts';
import { isoTimeOf } from '../../core/time/timestamp.ts';
import type { Clock } from '../../runtime/clock.ts';
import { replayKey } from '../keys.ts';
import type { Table } from '../table.ts';
import { type NoteUnreadable, readable } from '../unreadable.ts';
import { updateOnce } from '../update-once.ts';
import { type RecordResult, resultOf } from './record-result.ts';
import { expiresAtOf } from './retention.ts';

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
  sent_count: z.number(),
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
