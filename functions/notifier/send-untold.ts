/** One channel: claims it, sends what is due, marks it told. A crash between the two sends that message once more. */

import { dueAtMs, type Thread } from '../../shared/alerts/incident.ts';
import { type ChannelPace, type Message, planMessages } from '../../shared/alerts/message-plan.ts';
import type { Notice } from '../../shared/alerts/notice.ts';
import { mutedUntilMs } from '../../shared/alerts/policy.ts';
import type { AlertPolicy } from '../../shared/config/notifier-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import type { Key } from '../../shared/store/table.ts';
import type { AlertStore, ChannelState, StoredIncident } from './alert-store.ts';

export type SendResult =
  /** `thread`: where a message of one incident now stands. */
  | { readonly kind: 'sent'; readonly thread?: Thread | undefined }
  /** This message will not become better by sending it again. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs?: number | undefined };

export interface Channel {
  readonly name: string;
  readonly pace: ChannelPace;
  /** Bounded in time by itself; never throws. `thread`: of the message's one incident, when there is one. */
  send(message: Message, thread?: Thread): Promise<SendResult>;
}

export interface SendDeps {
  readonly store: AlertStore;
  readonly policy: AlertPolicy;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/** Above the longest single send (10 s) and below the sweep's interval, so that a crash holds nobody up for long. */
const HOLD_MS = 45_000;

/** A holder that sends on and on renews its claim before each message; the rest is for the next sweep. */
export const ROUNDS_MAX = 5;

const FIRST_PAUSE_MS = 5_000;
const PAUSE_MS_MAX = 5 * 60_000;

export async function sendUntold(
  deps: SendDeps,
  channel: Channel,
  freshKeys: readonly Key[] = [],
): Promise<void> {
  const { store, clock } = deps;
  const found = await store.readChannel(channel.name);
  // Whoever holds the channel looks again after each round; the sweep finds what falls between.
  if (found.held_until_ms > clock.now() || found.not_before_ms > clock.now()) return;
  let state = await claim(deps, channel, found);
  for (let round = 1; state !== undefined && round <= ROUNDS_MAX; round++) {
    const messages = await planRound(deps, { channel, state, freshKeys });
    if (messages.length === 0) break;
    for (const message of messages) {
      if (state !== undefined) state = await sendOne(deps, { channel, state, message });
    }
  }
  if (state !== undefined) await store.writeChannel(channel.name, { ...state, held_until_ms: 0 });
}

interface Round {
  readonly channel: Channel;
  readonly state: ChannelState;
  readonly freshKeys: readonly Key[];
}

interface Planned {
  readonly message: Message;
  readonly incidents: readonly StoredIncident[];
}

async function planRound(deps: SendDeps, { channel, state, freshKeys }: Round): Promise<readonly Planned[]> {
  const { store, policy, clock } = deps;
  const nowMs = clock.now();
  const untold = await store.listUntold(channel.name, freshKeys);
  const due = untold.flatMap((stored) => {
    const pending = stored.incident.pending.filter((notice) => mutedUntilMs(notice, policy, nowMs) === 0);
    const dueMs = dueAtMs({ ...stored.incident, pending }, policy.window_seconds * 1_000);
    return dueMs <= nowMs ? [{ stored, pending }] : [];
  });
  const plan = planMessages(
    due.map(({ pending }) => pending),
    state.sent_at_ms,
    { pace: channel.pace, nowMs },
  );
  return plan.map((message) => ({ message, incidents: due.map(({ stored }) => stored) }));
}

interface Sending {
  readonly channel: Channel;
  readonly state: ChannelState;
  readonly message: Planned;
}

/** Undefined: the channel is not ours any more, or has to rest. */
async function sendOne(
  deps: SendDeps,
  { channel, state, message }: Sending,
): Promise<ChannelState | undefined> {
  const { store, clock, telemetry } = deps;
  const claimed = await claim(deps, channel, state);
  if (claimed === undefined) return undefined;
  const only =
    message.message.length === 1 ? incidentOfNotices(message, message.message[0] ?? []) : undefined;
  const result = await channel.send(message.message, only?.incident.thread);
  const nowMs = clock.now();
  if (result.kind === 'failed') {
    const failures = claimed.failures_in_row + 1;
    const pauseMs = Math.max(result.retryAfterMs ?? 0, pauseAfterMs(failures));
    telemetry.log('error', 'alert.send_failed', {
      channel: channel.name,
      reason: result.reason,
      pause_ms: pauseMs,
    });
    telemetry.measure('AlertsFailed', 1);
    const rest = { failures_in_row: failures, not_before_ms: nowMs + pauseMs, held_until_ms: 0 };
    await store.writeChannel(channel.name, { ...claimed, ...rest });
    return undefined;
  }
  const notices = message.message.flat();
  if (result.kind === 'refused') {
    telemetry.log('error', 'alert.refused', {
      channel: channel.name,
      reason: result.reason,
      event_ids: notices.map(({ id }) => id).join(' '),
    });
    telemetry.measure('AlertsFailed', 1);
    await store.park(channel.name, notices, result.reason);
  } else {
    telemetry.log('info', 'alert.sent', {
      channel: channel.name,
      notice_count: message.message.flat().length,
    });
    telemetry.measure('AlertsSent', 1);
  }
  const thread = result.kind === 'sent' ? result.thread : undefined;
  for (const told of message.message) {
    const stored = incidentOfNotices(message, told);
    if (stored !== undefined) await store.noteTold(channel.name, stored, told, thread);
  }
  const sentAtMs = [...claimed.sent_at_ms.filter((sentMs) => sentMs > nowMs - channel.pace.perMs), nowMs];
  return store.writeChannel(channel.name, { ...claimed, sent_at_ms: sentAtMs, failures_in_row: 0 });
}

function incidentOfNotices({ incidents }: Planned, notices: readonly Notice[]): StoredIncident | undefined {
  const ids = new Set(notices.map(({ id }) => id));
  return incidents.find(({ incident }) => incident.pending.some(({ id }) => ids.has(id)));
}

/** Doubles up to five minutes: the channel hears of everything soon after it works again. */
function pauseAfterMs(failuresInRow: number): number {
  return Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** (failuresInRow - 1));
}

function claim({ store, clock }: SendDeps, { name }: Channel, state: ChannelState) {
  return store.writeChannel(name, { ...state, held_until_ms: clock.now() + HOLD_MS });
}
