/** One holder's turn at a channel: whatever is written into the channel's item claims it anew. */

import type { PendingNotice } from '../../shared/alerts/pending-notice.ts';
import type { ChannelState } from './channel-store.ts';
import type { Channel } from './channels/channel.ts';
import { freeSlots } from './channels/channel-pace.ts';
import type { SendDeps } from './plan-round.ts';

/** Above the longest single send (25 s) and below the sweep's interval, so that a crash holds nobody up for long. */
export const HOLD_MS = 45_000;

export interface Look {
  /** What the invocation has stored itself. Undefined: a sweep, which looks at everything. */
  readonly fresh: readonly PendingNotice[] | undefined;
  /** No message is begun afterwards: its answer would come when the function is over. */
  readonly deadlineMs: number;
}

/** `state` is undefined as soon as somebody else has it. */
export interface Turn {
  readonly deps: SendDeps;
  readonly channel: Channel;
  readonly look: Look;
  state: ChannelState | undefined;
}

export function slotsOf({ deps, channel, state }: Turn): number {
  return state === undefined ? 0 : freeSlots(state.sent_at_ms, channel.pace, deps.clock.now());
}

/** Writes the changes and claims the channel anew. False: somebody else has it. */
export async function hold(turn: Turn, changes: Partial<ChannelState>): Promise<boolean> {
  const { deps, channel, state } = turn;
  if (state === undefined) return false;
  const heldUntilMs = deps.clock.now() + HOLD_MS;
  turn.state = await deps.store.channels.write(channel.name, {
    ...state,
    held_until_ms: heldUntilMs,
    ...changes,
  });
  return turn.state !== undefined;
}
