/** A channel that takes nothing cannot say so itself: a metric wakes people, and the other channels report it. */

import { DEAF_MS, deafMsOf } from '../../shared/alerts/channel-health.ts';
import type { Notice } from '../../shared/alerts/notice.ts';
import type { ChannelState } from './channel-store.ts';
import { type NotifierDeps, onEachChannel } from './notify.ts';

/** The metric comes with every sweep, also when all is well: its silence is an alarm of its own. */
export async function reportDeafChannels(deps: NotifierDeps): Promise<void> {
  const durations = [0];
  await onEachChannel(deps, async ({ name }) => {
    const state = await deps.store.channels.read(name);
    const deafMs = deafMsOf(state, deps.clock.now());
    durations.push(deafMs);
    if (deafMs >= DEAF_MS) await reportDeaf(deps, name, state);
    else if (state.waiting_since_ms === undefined && state.deaf_reported_ms !== undefined)
      await reportBack(deps, name, state);
  });
  deps.telemetry.measure('ChannelDeafMs', Math.max(...durations));
}

async function reportDeaf(deps: NotifierDeps, name: string, state: ChannelState): Promise<void> {
  const { waiting_since_ms: sinceMs = 0, last_reason: reason = 'no answer' } = state;
  deps.telemetry.log('error', 'alert.channel_deaf', { channel: name, reason });
  if (state.deaf_reported_ms === sinceMs) return;
  await addToOthers(deps, name, {
    ...noticeAbout(deps, name, sinceMs),
    id: `deaf ${name} ${sinceMs}`,
    kind: 'channel_deaf',
    severity: 'critical',
    reason,
  });
  await deps.store.channels.write(name, { ...state, deaf_reported_ms: sinceMs });
}

async function reportBack(deps: NotifierDeps, name: string, state: ChannelState): Promise<void> {
  const { deaf_reported_ms: sinceMs = 0 } = state;
  await addToOthers(deps, name, {
    ...noticeAbout(deps, name, sinceMs),
    id: `back ${name} ${sinceMs}`,
    kind: 'channel_back',
    severity: 'info',
  });
  await deps.store.channels.write(name, { ...state, deaf_reported_ms: undefined });
}

function noticeAbout({ clock }: NotifierDeps, name: string, sinceMs: number) {
  return {
    account_id: 'bridge',
    channel: name,
    since: new Date(sinceMs).toISOString(),
    observed_at: new Date(clock.now()).toISOString(),
  };
}

/** Whatever the routes say: they choose who hears of projects, and this is about whether anybody hears at all. */
async function addToOthers({ channels, store }: NotifierDeps, name: string, notice: Notice): Promise<void> {
  for (const other of channels) if (other.name !== name) await store.notices.add(other.name, notice);
}
