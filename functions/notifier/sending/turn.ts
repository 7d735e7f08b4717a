/** Defines one holder's turn at a channel. Every write into the channel's item claims the channel anew. */

import type { IncidentRecord } from '../../../shared/alerts/incidents.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Channel } from '../channels/channel.ts';
import { freeSlots } from '../deciding/channel-pace.ts';
import type { Notice, PendingNotice } from '../deciding/notice.ts';
import type {
  CareRecords,
  ChannelState,
  ChannelStates,
  IncidentMemory,
  KnownNotices,
  NoticeEnds,
  WaitingNotices,
} from './channel-state.ts';
import type { ContextDeps } from './plan-messages.ts';
import type { PlanDeps } from './plan-round.ts';

/**
 * The time is above the longest single send (25 s) and below the sweep's interval, so that a crash blocks the channel
 * only briefly.
 */
export const HOLD_MS = 45_000;

export interface SendDeps extends PlanDeps {
  readonly store: {
    readonly waiting: WaitingNotices & KnownNotices;
    readonly ends: NoticeEnds;
    readonly incidents: IncidentMemory;
    readonly channels: ChannelStates;
    /** Stores a notice of the notifier itself. It is stored once, however often it is added. */
    readonly inbox: { add(channel: string, notice: Notice): Promise<unknown> };
  } & PlanDeps['store'] &
    CareRecords &
    ContextDeps['store'];
  readonly telemetry: Telemetry;
  readonly usualFailuresOf?: ContextDeps['usualFailuresOf'];
}

export interface Look {
  /** This invocation has stored these notices. It is undefined in a sweep, which looks at everything. */
  readonly fresh: readonly PendingNotice[] | undefined;
  /** A sweep has read that people have acknowledged these incidents. Otherwise it is empty. */
  readonly acknowledged: readonly IncidentRecord[];
  /** No message begins after this time, because its answer would come when the function is over. */
  readonly deadlineMs: number;
}

export interface Turn {
  readonly deps: SendDeps;
  readonly channel: Channel;
  readonly look: Look;
  /**
   * This is the channel's item as this holder wrote it last. It is undefined when another notifier holds the channel
   * by now.
   */
  state: ChannelState | undefined;
}

/** Returns how many messages may start now, and 0 when the turn is over. */
export function slotsOf({ deps, channel, state }: Turn): number {
  return state === undefined ? 0 : freeSlots(state.sent_at_ms, channel.pace, deps.clock.now());
}

/** Writes the changes and claims the channel anew. Resolves to false when another notifier holds it. */
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
