/** A channel's own item: who sends on it, what it sent lately, how it answers, and the message that is under way. */

import * as z from 'zod';
import { threadSchema } from '../../shared/alerts/incident.ts';
import { alertChannelKey } from '../../shared/store/keys.ts';
import type { Attribute, Table } from '../../shared/store/table.ts';
import { conditionOf, type Revision, revisionAfter } from './revision.ts';

const message = z.object({
  /** `sending`: its outcome is not known. `reported`, `refused`: it has one, and its notices may not all be noted yet. */
  phase: z.enum(['sending', 'reported', 'refused']),
  /** Sort keys of the items of its notices. */
  sks: z.array(z.string()),
  /** When it was planned. */
  at_ms: z.number(),
  thread: threadSchema.optional(),
  reason: z.string().optional(),
});

/** A field that cannot be read counts as unknown: no item of this kind may silence its channel. */
const channelItem = z.object({
  /** Whoever holds the channel may send until then. */
  held_until_ms: z.number().catch(0),
  sent_at_ms: z.array(z.number()).catch([]),
  /** What the channel asked for by `Retry-After`, or our own pause after a failure. */
  not_before_ms: z.number().catch(0),
  failures_in_row: z.number().catch(0),
  /** Since when something has been due and the channel has taken nothing. */
  waiting_since_ms: z.number().optional().catch(undefined),
  /** How it answered last, when it did not take a message. */
  last_reason: z.string().optional().catch(undefined),
  /** The `waiting_since_ms` that the other channels were told of. */
  deaf_reported_ms: z.number().optional().catch(undefined),
  /** It refused a larger message: a smaller one finds the notice that is at fault. */
  notices_max: z.number().positive().optional().catch(undefined),
  /** More was waiting than the last message could name: whoever comes next looks at once. */
  has_more: z.boolean().optional().catch(undefined),
  message: message.optional().catch(undefined),
});

export type MessageUnderWay = z.infer<typeof message>;

export interface ChannelState extends z.infer<typeof channelItem> {
  readonly revision: Revision;
}

const OPTIONAL = [
  'waiting_since_ms',
  'last_reason',
  'deaf_reported_ms',
  'notices_max',
  'has_more',
  'message',
] as const;

export type ChannelStore = ReturnType<typeof createChannelStore>;

export function createChannelStore(table: Table) {
  return {
    async read(channel: string): Promise<ChannelState> {
      const item = await table.get(alertChannelKey(channel));
      return { ...channelItem.parse(item ?? {}), revision: item?.['revision'] };
    },

    /** Undefined: somebody else changed it since it was read. */
    async write(channel: string, next: ChannelState): Promise<ChannelState | undefined> {
      const revision = revisionAfter(next.revision);
      const result = await table.update({
        key: alertChannelKey(channel),
        set: { ...(next as unknown as Record<string, Attribute | undefined>), revision },
        remove: OPTIONAL.filter((name) => next[name] === undefined),
        ...conditionOf(next.revision),
      });
      return result === 'applied' ? { ...next, revision } : undefined;
    },
  };
}
