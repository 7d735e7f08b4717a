/**
 * Runs the notifier's handler on virtual time between a queue, a table in memory, and stand-ins of the services that people
 * are alerted through. It is driven like the deployed one: batches of the queue, a schedule every minute, people at the
 * API, and processes that end at any of their calls.
 */

import { createNotifier, type NotifierHandler } from '../../../functions/notifier/create-handler.ts';
import { alertRulePattern } from '../../../functions/notifier/deciding/notice-of-event.ts';
import { notifierEnvironment } from '../../../functions/notifier/environment.ts';
import { matchesEventPattern, parseEventPattern } from '../../../shared/events/event-pattern.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import type { Table, Update } from '../../../shared/store/table.ts';
import { ROUTING_KEY } from '../../notifier/channels/pagerduty-stand-in.ts';
import { RECEIVER_URL, SIGNING_KEY } from '../../notifier/channels/webhook-stand-in.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { createMemoryIndexes } from '../../store/memory-indexes.ts';
import { CHANNELS, type ChannelName, createChannels } from './channels.ts';
import { createPeople } from './people.ts';
import { BOT, WEBHOOK_URL } from './slack-stand-in.ts';
import { createStory } from './story.ts';
import { createVirtualTime } from './virtual-time.ts';

export const START_MS = Date.UTC(2026, 0, 15, 12, 0, 0);

/** These numbers are deployed. They stand here a second time, so that the tests notice when they change. */
const SWEEP_MS = 60_000;
const FUNCTION_TIMEOUT_MS = 60_000;
const VISIBILITY_TIMEOUT_MS = 360_000;
const RECEIVES_MAX = 5;
const BATCH_SIZE = 10;
const CONSUMERS_MAX = 2;

/** The schedule runs at this second of each minute. */
const SWEEP_OFFSET_MS = 30_000;

export type SlackForm = 'bot' | 'webhook';

export interface WorldOptions {
  readonly slack: SlackForm;
  readonly policy?: object;
  /** Only these channels are set up. */
  readonly channels?: readonly ChannelName[];
  /** The schedule runs this often. Without it, it runs as often as the deployed one. */
  readonly sweepMs?: number;
}

/** A call of a port by the notifier, such as `table.update`, and the channel that it is about, where it is about one. */
export interface PortCall {
  readonly name: string;
  readonly channel?: ChannelName;
}

export interface Death {
  readonly when: 'before' | 'after';
  /** Returns whether the process ends at this call. It is asked once for each call, until it says so. */
  readonly isAt: (call: PortCall) => boolean;
}

interface QueuedMessage {
  readonly id: string;
  readonly body: string;
  visibleAtMs: number;
  receives: number;
}

export function createWorld(options: WorldOptions) {
  const time = createVirtualTime(START_MS);
  const { clock } = time;
  const memory = createMemoryTable();
  const table = memory.as('notifier');
  const indexes = createMemoryIndexes(memory);
  const channels = createChannels(clock);
  const secrets = secretsOf(options.slack);
  const measured: { readonly figure: string; readonly value: number }[] = [];
  const logged: string[] = [];
  const queue: QueuedMessage[] = [];
  const deadLetters: QueuedMessage[] = [];
  const rule = parseEventPattern(alertRulePattern);
  let death: Death | undefined;
  let deathCount = 0;
  let refusedWrites: ((update: Update) => boolean) | undefined;
  let messageCount = 0;
  let receiving = 0;
  let callCount = 0;

  let version = createNotifier;

  /** A process of Lambda serves one invocation at a time and remembers what its handler remembers. */
  const idle: ReturnType<typeof startProcess>[] = [];

  function startProcess() {
    const life = { isDead: false, die: () => {} };
    const step = async <Result>(call: PortCall, perform: () => Promise<Result>): Promise<Result> => {
      if (life.isDead) return never();
      callCount += 1;
      const isAt = death?.isAt(call) ?? false;
      const when = isAt ? death?.when : undefined;
      if (isAt) death = undefined;
      if (when === 'before') {
        end();
        return never();
      }
      const result = await time.work(perform);
      if (when === 'after') end();
      return life.isDead ? never() : result;
    };
    const end = () => {
      life.isDead = true;
      deathCount += 1;
      life.die();
    };
    const environment = notifierEnvironment.parse({
      TABLE_NAME: 'operations-bridge',
      ALERT_POLICY: JSON.stringify(options.policy ?? {}),
      CONSOLE_BASE_URL: 'https://bridge.example.com',
      RUNBOOK_URL: 'https://bridge.example.com/runbook',
      ...environmentOf(options.channels ?? CHANNELS),
    });
    const handle = version(environment, {
      table: steppedTable(table, step, (update) => refusedWrites?.(update) ?? false),
      indexes: { query: (query) => step({ name: 'indexes.query' }, () => indexes.query(query)) },
      secretOf: (id) => ({ current: async () => createSecret(secrets.get(id) ?? '') }),
      publisherOf: () => (mail) => step({ name: 'publish', channel: 'email' }, () => channels.publish(mail)),
      fetch: (input, init) =>
        step({ name: 'fetch', channel: channelAt(input) }, () => channels.fetch(addressOf(input), init)),
      clock,
      telemetry: {
        log: (level, event, fields = {}) => void logged.push(JSON.stringify({ level, event, ...fields })),
        measure: (figure, value) => void measured.push({ figure, value }),
      },
    });
    return { handle, life, version };
  }

  /** Resolves to undefined when the process has ended before its answer. */
  function invoke(event: unknown): Promise<Awaited<ReturnType<NotifierHandler>> | undefined> {
    return time.work(async () => {
      const process = idle.pop() ?? startProcess();
      const { promise: died, resolve: die } = Promise.withResolvers<undefined>();
      process.life.die = () => die(undefined);
      const ended = new AbortController();
      clock.sleep(FUNCTION_TIMEOUT_MS, ended.signal).then(
        () => {
          process.life.isDead = true;
          die(undefined);
        },
        () => {},
      );
      const result = await Promise.race([process.handle(event), died]);
      ended.abort();
      if (!process.life.isDead && process.version === version) idle.push(process);
      return process.life.isDead ? undefined : result;
    });
  }

  function receive(): void {
    for (const message of queue.filter(
      (one) => one.visibleAtMs <= clock.now() && one.receives >= RECEIVES_MAX,
    ))
      deadLetters.push(...queue.splice(queue.indexOf(message), 1));
    while (receiving < CONSUMERS_MAX) {
      const batch = queue.filter(({ visibleAtMs }) => visibleAtMs <= clock.now()).slice(0, BATCH_SIZE);
      if (batch.length === 0) return;
      receiving += 1;
      void handOut(batch).finally(() => {
        receiving -= 1;
        receive();
      });
    }
  }

  async function handOut(batch: readonly QueuedMessage[]): Promise<void> {
    for (const message of batch) {
      message.visibleAtMs = clock.now() + VISIBILITY_TIMEOUT_MS;
      message.receives += 1;
      time.at(message.visibleAtMs, receive);
    }
    const answer = await invoke({ Records: batch.map(({ id, body }) => ({ messageId: id, body })) });
    if (answer === undefined) return;
    const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    for (const message of batch) if (!failed.has(message.id)) queue.splice(queue.indexOf(message), 1);
  }

  /** Puts a text into the queue of the notifier, whatever it is. */
  function enqueue(body: string): void {
    messageCount += 1;
    queue.push({ id: `message-${messageCount}`, body, visibleAtMs: clock.now(), receives: 0 });
    time.at(clock.now(), receive);
  }

  /** Puts an event on the bus, whose rule hands it to the queue, or does not. */
  function publish(event: object): void {
    if (matchesEventPattern(rule, event)) enqueue(JSON.stringify(event));
  }

  const story = createStory(clock, publish);
  let people: ReturnType<typeof createPeople> | undefined;
  const sweepFrom = (atMs: number) => {
    time.at(atMs, () => {
      // DynamoDB deletes what has expired.
      memory.sync.expire(clock.now());
      void invoke({ source: 'aws.scheduler' });
      sweepFrom(atMs + (options.sweepMs ?? SWEEP_MS));
    });
  };
  sweepFrom(START_MS + SWEEP_OFFSET_MS);

  return {
    clock,
    time,
    memory,
    channels,
    secrets,
    story,
    publish,
    enqueue,
    measured,
    logged,
    queue,
    deadLetters,
    people: () => (people ??= createPeople({ clock, memory })),
    dieAt(next: Death): void {
      death = next;
    },
    /** From now on each invocation runs this version of the notifier. What is under way comes to its end. */
    deploy(next: typeof createNotifier): void {
      version = next;
      idle.length = 0;
    },
    deathCount: () => deathCount,
    callCount: () => callCount,
    /** The table refuses these writes from now on, as it does when it throttles. */
    refuseWrites(isRefused: ((update: Update) => boolean) | undefined): void {
      refusedWrites = isRefused;
    },
  };
}

export type World = ReturnType<typeof createWorld>;

function never(): Promise<never> {
  return new Promise(() => {});
}

const SECRET_VARIABLES: Readonly<Partial<Record<ChannelName, string>>> = {
  slack: 'SLACK_WEBHOOK_SECRET_ID',
  pagerduty: 'PAGERDUTY_SECRET_ID',
  webhook: 'WEBHOOK_SECRET_ID',
};

function environmentOf(channels: readonly ChannelName[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    channels.map((name) => [SECRET_VARIABLES[name] ?? 'ALERT_TOPIC_ARN', `a-secret-of-${name}`]),
  );
}

/** Returns the secrets of the channels, by their ids. A script can replace one. */
function secretsOf(slack: SlackForm): Map<string, string> {
  return new Map([
    ['a-secret-of-slack', slack === 'bot' ? JSON.stringify(BOT) : WEBHOOK_URL],
    ['a-secret-of-pagerduty', ROUTING_KEY],
    ['a-secret-of-webhook', JSON.stringify({ url: RECEIVER_URL, secret: SIGNING_KEY })],
  ]);
}

function addressOf(input: string | URL | Request): URL {
  return new URL(input instanceof Request ? input.url : input);
}

function channelAt(input: string | URL | Request): ChannelName {
  const { host } = addressOf(input);
  if (host.endsWith('slack.com')) return 'slack';
  return host.endsWith('pagerduty.com') ? 'pagerduty' : 'webhook';
}

type Step = <Result>(call: PortCall, perform: () => Promise<Result>) => Promise<Result>;

function steppedTable(table: Table, step: Step, isRefused: (update: Update) => boolean): Table {
  return {
    get: (key) => step({ name: 'table.get' }, () => table.get(key)),
    getMany: (keys) => step({ name: 'table.getMany' }, () => table.getMany(keys)),
    update: (update) =>
      step({ name: 'table.update' }, async () => {
        if (isRefused(update))
          throw Object.assign(new Error('throttled'), { name: 'ProvisionedThroughputExceededException' });
        return table.update(update);
      }),
    queryWork: (query) => step({ name: 'table.queryWork' }, () => table.queryWork(query)),
    queryWorkPage: (query) => step({ name: 'table.queryWorkPage' }, () => table.queryWorkPage(query)),
  };
}
