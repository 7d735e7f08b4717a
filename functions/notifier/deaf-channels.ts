/**
 * Reports a channel that takes no messages. The channel cannot report this itself, so a metric raises an alarm, and
 * the other channels report it.
 */

import { DEAF_MS, deafMsOf } from '../../shared/alerts/incidents.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import type { Notice } from './deciding/notice.ts';
import type { ChannelState, ChannelStates, WaitingNotices } from './sending/channel-state.ts';
import { onEachChannel } from './sending/send-due.ts';
import type { NoticeInbox } from './store-event.ts';

export interface DeafChannelDeps {
  readonly store: {
    readonly channels: ChannelStates;
    readonly inbox: NoticeInbox;
    readonly waiting: WaitingNotices;
  };
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

interface Named {
  readonly name: string;
}

/** More of them say no more to a person. */
const WAITING_COUNTED_MAX = 1_000;

/** Emits the metric in every sweep, also when all is well, so that its absence raises an alarm of its own. */
export async function reportDeafChannels(deps: DeafChannelDeps, channels: readonly Named[]): Promise<void> {
  const { store, clock, telemetry } = deps;
  const durations = [0];
  await onEachChannel({ channels, telemetry }, async ({ name }) => {
    const state = await store.channels.read(name);
    const deafMs = deafMsOf(state, clock.now());
    durations.push(deafMs);
    const others = channels.filter((other) => other.name !== name);
    if (deafMs >= DEAF_MS) await reportDeaf(deps, { name, others }, state);
    else if (state.waiting_since_ms === undefined && state.deaf_reported_ms !== undefined)
      await reportBack(deps, { name, others }, state);
  });
  telemetry.measure('ChannelDeafMs', Math.max(...durations));
}

interface AmongOthers extends Named {
  readonly others: readonly Named[];
}

async function reportDeaf(
  { store, clock, telemetry }: DeafChannelDeps,
  { name, others }: AmongOthers,
  state: ChannelState,
): Promise<void> {
  const { waiting_since_ms: sinceMs = 0, last_reason: reason = 'no answer' } = state;
  telemetry.log('error', 'alert.channel_deaf', { channel: name, reason });
  if (state.deaf_reported_ms === sinceMs) return;
  const waiting = await store.waiting.list(name, WAITING_COUNTED_MAX, () => true);
  await addToAll(store.inbox, others, {
    ...aboutChannel(name, { sinceMs, nowMs: clock.now() }),
    waiting_count: Math.min(waiting.length, WAITING_COUNTED_MAX),
    id: `deaf ${name} ${sinceMs}`,
    kind: 'channel_deaf',
    severity: 'critical',
    reason,
  });
  await store.channels.write(name, { ...state, deaf_reported_ms: sinceMs });
}

async function reportBack(
  { store, clock }: Omit<DeafChannelDeps, 'telemetry'>,
  { name, others }: AmongOthers,
  state: ChannelState,
): Promise<void> {
  const { deaf_reported_ms: sinceMs = 0 } = state;
  await addToAll(store.inbox, others, {
    ...aboutChannel(name, { sinceMs, nowMs: clock.now() }),
    id: `back ${name} ${sinceMs}`,
    kind: 'channel_back',
    severity: 'info',
  });
  await store.channels.write(name, { ...state, deaf_reported_ms: undefined });
}

function aboutChannel(
  channel: string,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
) {
  return {
    account_id: 'bridge',
    channel,
    since: new Date(sinceMs).toISOString(),
    observed_at: new Date(nowMs).toISOString(),
  };
}

/**
 * Adds the notice on every channel, whatever the routes say. Routes choose which channel reports which project, and
 * this notice is about whether alerts reach people at all.
 */
async function addToAll(inbox: NoticeInbox, channels: readonly Named[], notice: Notice): Promise<void> {
  for (const { name } of channels) await inbox.add(name, notice);
}
