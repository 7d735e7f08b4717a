/** Reads and writes a channel's own item. A write is a compare-and-set, so that one notifier at a time holds the channel. */

import { alertChannelKey } from '../../../shared/store/keys.ts';
import type { Attribute, Table } from '../../../shared/store/table.ts';
import { type ChannelState, type ChannelStates, channelItem } from '../sending/channel-state.ts';
import { conditionOf, revisionAfter } from './revision.ts';

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
