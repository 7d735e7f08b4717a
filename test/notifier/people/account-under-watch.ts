/**
 * Runs the poller and the notifier of production on virtual time against the simulated service: what a team that starts
 * the bridge gets in its first hours. The service's own log says afterwards what really happened.
 */

import type { NotifierDeps } from '../../../functions/notifier/alert-store.ts';
import { createAlertStore } from '../../../functions/notifier/alert-store.ts';
import type { Channel, SendResult } from '../../../functions/notifier/channels/channel.ts';
import { createSlackChannel } from '../../../functions/notifier/channels/slack.ts';
import type { Message } from '../../../functions/notifier/deciding/notice.ts';
import { alertRulePattern } from '../../../functions/notifier/deciding/notice-of-event.ts';
import {
  alertPolicySchema,
  notifierQueue,
  notifierSchedule,
} from '../../../functions/notifier/environment.ts';
import { notify } from '../../../functions/notifier/notify.ts';
import { sweep } from '../../../functions/notifier/sweep.ts';
import { REQUEST_BURST } from '../../../functions/poller/account/account-budget.ts';
import type { AccountDeps } from '../../../functions/poller/account/account-deps.ts';
import { emptyAccountMemory } from '../../../functions/poller/account/account-memory.ts';
import { createLease } from '../../../functions/poller/account/lease.ts';
import { pollAccount } from '../../../functions/poller/account/poll-account.ts';
import { STOP_RESERVE_MS } from '../../../functions/poller/account/wind-up.ts';
import { accountLimits, pollOptionsFor } from '../../../functions/poller/create-account.ts';
import { createPollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import { createFaultDials, createRequestLimits } from '../../../infra/simulator/faults.ts';
import { createUpstreamApp } from '../../../infra/simulator/start-upstream.ts';
import { createKeyRing } from '../../../infra/simulator/world/account.ts';
import type { GroundTruthOperation } from '../../../infra/simulator/world/project-state.ts';
import { createWorld } from '../../../infra/simulator/world/world.ts';
import { createUsualFailures } from '../../../shared/alerts/common-cause.ts';
import { pollerSchedule } from '../../../shared/config/poller-config.ts';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import { matchesEventPattern, parseEventPattern } from '../../../shared/events/event-pattern.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import type { Table } from '../../../shared/store/table.ts';
import { createRequestBudget } from '../../../shared/upstream/request-budget.ts';
import { createUpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import { NOON_MS } from '../../builders.ts';
import { BOT, createSlack } from '../../doors/alerts/slack-stand-in.ts';
import { portsBesidePolls } from '../../poller/ports-beside-polls.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { createScheduler, type Process } from '../../simulation/scheduler.ts';
import { anEvent } from '../channel-under-test.ts';
import { createListIndex } from '../list-index.ts';
import { nothingUsual } from '../nothing-usual.ts';

const ACCOUNT_ID = 'main';
const API_KEY = 'a-key-of-the-simulated-service';
const MINUTE_MS = 60_000;

export interface WatchedAccount {
  readonly seed: number;
  readonly projectCount: number;
  readonly minutes: number;
  readonly requestsPerMinute: number;
  /** An average project has this many sessions an hour; without it as many as in a demonstration. */
  readonly sessionsPerHour?: number;
  /**
   * When true, a pager is set up beside Slack, for which nothing is gathered, and the notifier knows what is usual, so that
   * alerts say whether the service is the probable cause.
   */
  readonly hasPager?: boolean;
  /** In the middle of the time the service fails for this share of the projects, for a quarter of an hour. */
  readonly outageShare?: number;
}

interface SentAlert {
  readonly atMs: number;
  readonly message: Message;
  /** Says whether Slack has notified people of it. */
  readonly hasRung: boolean;
}

export interface Watched {
  readonly startMs: number;
  readonly endMs: number;
  readonly sent: readonly SentAlert[];
  /** Without a pager there are none. */
  readonly paged: readonly SentAlert[];
  readonly truth: readonly GroundTruthOperation[];
  readonly eventCount: number;
}

export async function watchAccount(options: WatchedAccount): Promise<Watched> {
  const { seed, projectCount, minutes, requestsPerMinute, sessionsPerHour, hasPager = false } = options;
  const startMs = NOON_MS;
  const scheduler = createScheduler(startMs);
  const world = createWorld({
    seed,
    projectCount,
    startAtMs: startMs,
    ...(sessionsPerHour !== undefined && { sessionsPerHour }),
  });
  const memory = createMemoryTable();
  const sent: SentAlert[] = [];
  const paged: SentAlert[] = [];
  const queue: string[] = [];
  let eventCount = 0;
  const pattern = parseEventPattern(alertRulePattern);
  const bus: EventBus = {
    publish: async (events) =>
      events.map(({ source, detailType, detail }) => {
        const event = { source, 'detail-type': detailType, detail: JSON.parse(detail) as object };
        eventCount += 1;
        if (matchesEventPattern(pattern, event)) queue.push(JSON.stringify(event));
        return { kind: 'accepted' };
      }),
  };
  const poller: Process = { name: 'poller', isCrashed: false, clockSkewMs: 0 };
  const deps = pollerDeps({ scheduler, poller, bus, memory, world, seed, requestsPerMinute });
  const accountMemory = emptyAccountMemory();
  const notifier = notifierDeps(
    scheduler,
    sent,
    hasPager ? { paged, counted: memory.as('notifier') } : undefined,
  );
  const outage = outageOf(options, startMs);

  for (let atMs = startMs; atMs < startMs + minutes * MINUTE_MS; atMs += pollerSchedule.everyMs) {
    void invokePoller(deps, accountMemory);
    for (let second = 0; second < 60; second += 5) {
      await scheduler.runUntil(atMs + second * 1_000);
      if (second === 0) queue.push(...outage(scheduler.now(), () => world.groundTruth()));
      while (queue.length > 0) {
        const bodies = queue.splice(0, notifierQueue.batchSize);
        await notify(
          notifier,
          bodies.map((body, place) => ({ messageId: String(place), body })),
        );
      }
      if (second * 1_000 === notifierSchedule.everyMs / 2) await sweep(notifier);
    }
  }
  poller.isCrashed = true;
  const endMs = startMs + minutes * MINUTE_MS;
  world.advanceTo(endMs);
  return { startMs, endMs, sent, paged, truth: world.groundTruth(), eventCount };
}

/**
 * Returns what the notifier gets of an outage in each minute: the same action fails in many projects at once, and recovers
 * after a quarter of an hour. The simulated service itself has no common cause of failures.
 */
function outageOf({ outageShare = 0, minutes, seed }: WatchedAccount, startMs: number) {
  const random = seededRandom(seed + 4);
  const beginMs = startMs + Math.floor(minutes / 2) * MINUTE_MS;
  let hit: readonly string[] = [];
  const eventsOf = (nowMs: number, fields: object) =>
    hit.map((project_id) => {
      const now = new Date(nowMs).toISOString();
      const operation = { project_id, operation_id: `${OUTAGE}${project_id}`, action: 'start_compute' };
      const times = { observed_at: now, operation_created_at: now, operation_updated_at: now };
      return JSON.stringify(anEvent({ ...operation, ...times, ...fields }));
    });
  return (nowMs: number, groundTruth: () => readonly GroundTruthOperation[]): readonly string[] => {
    if (outageShare === 0) return [];
    if (nowMs === beginMs) {
      const ids = new Set(groundTruth().map(({ project_id }) => project_id));
      hit = [...ids].filter(() => random.next() < outageShare);
      return eventsOf(nowMs, { sequence: 1 });
    }
    if (nowMs !== beginMs + 15 * MINUTE_MS) return [];
    return eventsOf(nowMs, { sequence: 2, status: 'finished', terminal: true, new_failures: 0 });
  };
}

/** The ids of operations that fail in an outage begin with this. */
export const OUTAGE = 'outage-';

interface PagerParts {
  readonly paged: SentAlert[];
  /** The poller counts here what is usual. */
  readonly counted: Table;
}

function notifierDeps(
  scheduler: ReturnType<typeof createScheduler>,
  sent: SentAlert[],
  pager: PagerParts | undefined,
): NotifierDeps {
  const clock = { now: () => scheduler.now(), sleep: async () => {} };
  // The notifier has a table of its own here, so that its index has little to look through.
  const table = createMemoryTable().as('notifier');
  const slack = slackOf(scheduler, sent);
  return {
    store: createAlertStore(table, createListIndex(table), { clock, telemetry: silentTelemetry }),
    policy: alertPolicySchema.parse({}),
    clock,
    telemetry: silentTelemetry,
    ...nothingUsual,
    ...(pager && { usualFailuresOf: createUsualFailures(pager.counted, clock, () => {}) }),
    channels: [slack, ...(pager === undefined ? [] : [pagerOf(scheduler, pager)])],
  };
}

/** Slack by a bot, as production speaks with it. A post and a broadcast ring; a reply and an edit do not. */
function slackOf(scheduler: ReturnType<typeof createScheduler>, sent: SentAlert[]): Channel {
  const slack = createSlack();
  let ringCount = 0;
  const channel = createSlackChannel({
    credentials: { current: async () => createSecret(JSON.stringify(BOT)) },
    webhookOrigin: 'https://hooks.slack.com',
    links: {},
    fetch: async (input, init) => {
      const { call, fault, response } = slack.take(new URL(new Request(input).url), init);
      if (fault === undefined && (call === 'post' || call === 'broadcast')) ringCount += 1;
      return response;
    },
  });
  const noting = async (message: Message, send: () => Promise<SendResult>) => {
    const before = ringCount;
    const result = await send();
    sent.push({ atMs: scheduler.now(), message, hasRung: ringCount > before });
    return result;
  };
  return {
    ...channel,
    name: 'slack',
    send: (message, ...rest) => noting(message, () => channel.send(message, ...rest)),
    ring: (last) => noting([], async () => (await channel.ring?.(last)) ?? { kind: 'sent' }),
  };
}

function pagerOf(scheduler: ReturnType<typeof createScheduler>, { paged }: PagerParts): Channel {
  return {
    name: 'pagerduty',
    pace: { messageCountMax: 1_000, perMs: MINUTE_MS, noticesPerMessageMax: 100 },
    isGathered: false,
    async send(message) {
      paged.push({ atMs: scheduler.now(), message, hasRung: true });
      return { kind: 'sent' };
    },
  };
}

interface PollerParts {
  readonly scheduler: ReturnType<typeof createScheduler>;
  readonly poller: Process;
  readonly bus: EventBus;
  readonly memory: ReturnType<typeof createMemoryTable>;
  readonly world: ReturnType<typeof createWorld>;
  readonly seed: number;
  readonly requestsPerMinute: number;
}

function pollerDeps({
  scheduler,
  poller,
  bus,
  memory,
  world,
  seed,
  requestsPerMinute,
}: PollerParts): AccountDeps {
  const clock = scheduler.clockOf(poller);
  const random = seededRandom(seed + 1);
  const newId = () => String(random.next());
  const budget = createRequestBudget({
    clock,
    requestsPerMinute,
    burst: REQUEST_BURST,
    startsEmpty: true,
  });
  const store = createBridgeStore(memory.as('poller'), ACCOUNT_ID, clock);
  const key = createSecret(API_KEY);
  const app = createUpstreamApp({
    world,
    now: () => scheduler.now(),
    keys: createKeyRing({ secrets: [API_KEY], drawSecret: newId, now: () => scheduler.now() }),
    idDice: seededRandom(seed + 2),
    limits: createRequestLimits(),
    faults: createFaultDials(),
    random: seededRandom(seed + 3),
    newId,
    sleep: async () => {},
    passMs: () => {},
  });
  return {
    ...portsBesidePolls(memory.as('poller'), store, clock),
    upstream: createUpstreamClient({
      baseUrl: 'http://upstream.invalid/api/v2',
      apiKey: { current: async () => key, refresh: async () => key },
      clock,
      random,
      budget,
      fetch: async (url, init) => {
        // A request takes time, as it does in the real service.
        await scheduler.delay(poller, 40);
        return app.request(new Request(url, init));
      },
    }),
    store,
    random,
    bus,
    budget,
    planner: createPollPlanner({
      ...accountLimits.planner,
      requestsPerMinute,
      pollIntervalMsMin: 5_000,
      listing: { usualIntervalMs: accountLimits.listIntervalMs, hintIntervalMsMin: 1_250 },
    }),
    clock,
    telemetry: silentTelemetry,
    lease: createLease({ store, clock, monotonicMs: () => scheduler.now(), newId, budget }),
    options: pollOptionsFor('open', {}),
    limits: { ...accountLimits.run, requestsPerMinute, pollsAtOnce: 2 },
  };
}

async function invokePoller(deps: AccountDeps, memory: ReturnType<typeof emptyAccountMemory>): Promise<void> {
  const stop = new AbortController();
  const leaseMs = pollerSchedule.timeoutMs - STOP_RESERVE_MS;
  void deps.clock.sleep(leaseMs).then(() => stop.abort(new Error('deadline')));
  await pollAccount(deps, memory, { signal: stop.signal, leaseMs }).catch(() => undefined);
}
