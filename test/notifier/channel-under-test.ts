/** A notifier with a table in memory, a clock that is moved by hand, and channels that can be down or crash. */

import { createAlertStore } from '../../functions/notifier/alert-store.ts';
import { type NotifierDeps, notify, sweep } from '../../functions/notifier/notify.ts';
import type { Channel } from '../../functions/notifier/send-untold.ts';
import type { ChannelPace, Message } from '../../shared/alerts/message-plan.ts';
import { alertPolicySchema } from '../../shared/config/notifier-config.ts';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

const PACES: Record<'slack' | 'email', ChannelPace> = {
  slack: { messageCountMax: 5, perMs: 60_000, noticesPerMessageMax: 100 },
  email: { messageCountMax: 1, perMs: 30_000, noticesPerMessageMax: 500 },
};

export interface ChannelUnderTest {
  readonly channel: Channel;
  readonly messages: { readonly atMs: number; readonly message: Message }[];
  /** What the next sends do instead. */
  state: 'up' | 'down' | 'hangs' | 'refuses';
  retryAfterMs: number | undefined;
}

export function aNotifier(policy: object = {}) {
  let nowMs = NOON_MS;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const table = createMemoryTable().as('notifier');
  const [slack, email] = [channelUnderTest('slack'), channelUnderTest('email')];
  const deps: NotifierDeps = {
    store: createAlertStore(table, clock),
    policy: alertPolicySchema.parse(policy),
    clock,
    telemetry: silentTelemetry,
    channels: [slack.channel, email.channel],
  };
  return {
    deps,
    table,
    slack,
    email,
    clock,
    deliver: (...events: readonly object[]) =>
      notify(
        deps,
        events.map((event, index) => ({ messageId: `m${index}`, body: JSON.stringify(event) })),
      ),
    /** Minute by minute, with the sweep that the schedule starts. */
    pass: async (minutes: number): Promise<void> => {
      for (let minute = 0; minute < minutes; minute++) {
        nowMs += 60_000;
        await sweep(deps);
      }
    },
    wait: (durationMs: number) => {
      nowMs += durationMs;
    },
  };

  function channelUnderTest(name: 'slack' | 'email'): ChannelUnderTest {
    const messages: ChannelUnderTest['messages'] = [];
    const under: ChannelUnderTest = {
      messages,
      state: 'up',
      retryAfterMs: undefined,
      channel: {
        name,
        pace: PACES[name],
        async send(message) {
          if (under.state === 'hangs') return new Promise(() => {});
          if (under.state === 'down') {
            return { kind: 'failed', reason: 'down', retryAfterMs: under.retryAfterMs };
          }
          if (under.state === 'refuses') return { kind: 'refused', reason: 'refused' };
          messages.push({ atMs: nowMs, message });
          return { kind: 'sent' };
        },
      },
    };
    return under;
  }
}

export function idsOf({ messages }: ChannelUnderTest): readonly string[] {
  return messages.flatMap(({ message }) => message.flat().map(({ id }) => id));
}

let eventCount = 0;

export function anEvent(detail: object = {}, envelope: object = {}): { detail: { id: string } } {
  eventCount += 1;
  const failed = {
    previous_status: 'running',
    status: 'failed',
    terminal: false,
    failures_count: 1,
    new_failures: 1,
  };
  return {
    'detail-type': 'Operation State Changed',
    source: 'operations-bridge',
    ...envelope,
    detail: { ...operationStateChanged.example, ...failed, id: `event-${eventCount}`, ...detail },
  } as { detail: { id: string } };
}
