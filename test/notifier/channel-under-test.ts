/** Builds a notifier with a table in memory, a clock that tests move, and channels that can be down or crash. */

import type { NotifierDeps } from '../../functions/notifier/alert-store.ts';
import { createAlertStore } from '../../functions/notifier/alert-store.ts';
import type { Channel } from '../../functions/notifier/channels/channel.ts';
import type { Message, Notice } from '../../functions/notifier/deciding/notice.ts';
import { noticeOf } from '../../functions/notifier/deciding/notice-of-event.ts';
import type { ChannelPace } from '../../functions/notifier/deciding/waking.ts';
import { alertPolicySchema } from '../../functions/notifier/environment.ts';
import { notify } from '../../functions/notifier/notify.ts';
import { sweep } from '../../functions/notifier/sweep.ts';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import type { FigureName, LogFields, Telemetry } from '../../shared/runtime/telemetry.ts';
import { NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createListIndex } from './list-index.ts';
import { nothingUsual } from './nothing-usual.ts';

const PACES: Record<'slack' | 'email', ChannelPace> = {
  slack: { messageCountMax: 5, perMs: 60_000, noticesPerMessageMax: 100 },
  email: { messageCountMax: 1, perMs: 30_000, noticesPerMessageMax: 500 },
};

export interface ChannelUnderTest {
  readonly channel: Channel;
  readonly messages: { readonly atMs: number; readonly message: Message }[];
  /** The state says how the channel treats the next messages. */
  state: 'up' | 'down' | 'hangs' | 'refuses';
  retryAfterMs: number | undefined;
  /** The channel fails once it has taken this many messages. */
  failAfterMessages: number | undefined;
}

/**
 * Builds a notifier with this policy. Unless the policy says otherwise, every failure is reported at once and alone, so
 * that a test of sending does not have to wait.
 */
export function aNotifier(policy: object = {}) {
  let nowMs = NOON_MS;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const table = createMemoryTable().as('notifier');
  const indexes = createListIndex(table);
  const [slack, email] = [channelUnderTest('slack'), channelUnderTest('email')];
  const lines: { readonly event: string; readonly fields: LogFields | undefined }[] = [];
  const values: { readonly metric: FigureName; readonly value: number; readonly atMs: number }[] = [];
  const telemetry: Telemetry = {
    log: (_level, event, fields) => void lines.push({ event, fields }),
    measure: (metric, value) => void values.push({ metric, value, atMs: nowMs }),
  };
  const deps: NotifierDeps = {
    store: createAlertStore(table, indexes, { clock, telemetry }),
    policy: alertPolicySchema.parse({ patience_seconds: 0, gather_seconds: 0, ...policy }),
    clock,
    telemetry,
    channels: [slack.channel, email.channel],
    ...nothingUsual,
  };
  return {
    deps,
    table,
    indexes,
    slack,
    email,
    clock,
    logged: (event: string) => lines.filter((line) => line.event === event),
    measured: (metric: string) => values.filter((one) => one.metric === metric).map(({ value }) => value),
    measures: values,
    deliver: (...events: readonly object[]) =>
      notify(
        deps,
        events.map((event, index) => ({ messageId: `m${index}`, body: JSON.stringify(event) })),
      ),
    /** Lets minutes pass, each with the sweep that the schedule starts. */
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
      failAfterMessages: undefined,
      channel: {
        name,
        pace: PACES[name],
        async send(message) {
          if (under.state === 'hangs') return new Promise(() => {});
          if (under.state === 'down') {
            return { kind: 'failed', reason: 'down', retryAfterMs: under.retryAfterMs };
          }
          if (messages.length >= (under.failAfterMessages ?? Number.POSITIVE_INFINITY)) {
            return { kind: 'failed', reason: '429', retryAfterMs: 10_000 };
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

/** The notifier makes notices of these kinds itself, without an event. */
const OWN_KINDS: ReadonlySet<string> = new Set(['reminder', 'channel_deaf', 'channel_back', 'muted_all']);

/** Returns the ids of the reported events, in the order in which they were reported. */
export function idsOf({ messages }: ChannelUnderTest): readonly string[] {
  const notices = messages.flatMap(({ message }) => message.flat());
  return notices.filter(({ kind }) => !OWN_KINDS.has(kind)).map(({ id }) => id);
}

export function aNotice(fields: object = {}): Notice {
  const notice = noticeOf('Operation State Changed', anEvent().detail);
  if (notice === undefined) throw new Error('This event alerts nobody');
  return { ...notice, ...fields };
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
