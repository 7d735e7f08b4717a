/**
 * Keeps a channel's own item by compare-and-set, and defines for all items of the notifier how long each stays in the
 * table and how its revisions follow each other.
 */

import type { Clock } from '../../shared/runtime/clock.ts';
import { alertChannelKey } from '../../shared/store/keys.ts';
import type { Attribute, Condition, Table } from '../../shared/store/table.ts';
import {
  type ChannelState,
  type ChannelStates,
  channelItem,
  type Revision,
} from './sending/channel-state.ts';

/**
 * The time is longer than any operation is watched: a reported notice is known for as long as a copy or a retry of it
 * can come.
 */
const KEPT_SECONDS = 40 * 86_400;

/** Returns the value of `expires_at`, in seconds since 1970, for an item that is written now. */
export function expiresAt(clock: Clock): number {
  return Math.floor(clock.now() / 1_000) + KEPT_SECONDS;
}

export function revisionAfter(revision: Revision): number {
  return typeof revision === 'number' ? revision + 1 : 1;
}

/**
 * Returns the condition of a write that follows a read of this revision. A revision that cannot be compared may be
 * overwritten, because it would otherwise block its item for good.
 */
export function conditionOf(revision: Revision): { readonly condition?: Condition } {
  if (revision === undefined) return { condition: { kind: 'absent', name: 'revision' } };
  const isComparable = typeof revision === 'number' || typeof revision === 'string';
  return isComparable ? { condition: { kind: 'equals', name: 'revision', value: revision } } : {};
}

const FIELDS = channelItem.keyof().options;

export function createChannelStore(table: Table): ChannelStates {
  return {
    async read(channel) {
      const item = await table.get(alertChannelKey(channel));
      return { ...channelItem.parse(item ?? {}), revision: item?.['revision'] };
    },

    async write(channel, next) {
      const revision = revisionAfter(next.revision);
      const result = await table.update({
        key: alertChannelKey(channel),
        set: { ...attributesOf(next), revision },
        remove: FIELDS.filter((name) => next[name] === undefined),
        ...conditionOf(next.revision),
      });
      return result === 'applied' ? { ...next, revision } : undefined;
    },
  };
}

function attributesOf(state: ChannelState) {
  return state as unknown as Record<string, Attribute | undefined>;
}
