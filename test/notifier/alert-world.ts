/**
 * Runs the notifier for hours of virtual time: a queue with time-outs, invocations that are killed, a clock that jumps, channels in
 * every mood, storms, copies and disorder. The seed decides everything, so that the same seed gives the same hours.
 */

import type { NotifierDeps } from '../../functions/notifier/alert-store.ts';
import { createAlertStore } from '../../functions/notifier/alert-store.ts';
import type { Channel } from '../../functions/notifier/channels/channel.ts';
import { CHANNEL_NAMES, type ChannelName } from '../../functions/notifier/channels/channels.ts';
import { alertPolicySchema, notifierQueue, notifierSchedule } from '../../functions/notifier/environment.ts';
import { notify } from '../../functions/notifier/notify.ts';
import { sweep } from '../../functions/notifier/sweep.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import type { Table, TableIndexes } from '../../shared/store/table.ts';
import { NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { anEvent } from './channel-under-test.ts';
import { createHostileChannels, MOODS, type Mood, type Sent } from './hostile-channels.ts';
import { createListIndex } from './list-index.ts';
import { nothingUsual } from './nothing-usual.ts';
import { createVirtualClock } from './virtual-clock.ts';

const MINUTE_MS = 60_000;

export interface Hours {
  readonly seed: number;
  readonly minutes: number;
  /** This share of the calls to the table end their process. */
  readonly deathShare: number;
  /** When true, the clock of the notifier jumps. */
  readonly clockJumps: boolean;
  /** Returns what Slack does in each minute. Without it the seed decides. */
  readonly slack?: (minute: number) => Mood;
  /** When true, e-mail is up all the time. */
  readonly isMailUp: boolean;
  /** This channel is like that for ever, after the bad hours as well. */
  readonly forEver?: { readonly channel: ChannelName; readonly mood: Mood };
  /** Only these channels are set up. Without it all are. */
  readonly only?: readonly ChannelName[];
  readonly stormOf: number;
}

export interface Outcome {
  readonly eventIds: readonly string[];
  readonly sent: readonly Sent[];
  /** These alerts came to the receiver of the webhook, which verified each message. */
  readonly receivedIds: ReadonlySet<string>;
  readonly refusedIds: ReadonlyMap<string, ReadonlySet<string>>;
  readonly poisonIds: ReadonlySet<string>;
  readonly deathCount: number;
  readonly jumpsAtMs: readonly number[];
  readonly deadLetterCount: number;
}

/** After the bad hours everything works for this long, so that every waiting notice can go out. */
const QUIET_MINUTES = 600;

export async function live(hours: Hours): Promise<Outcome> {
  const { seed, minutes } = hours;
  const random = seededRandom(seed);
  const draw = (count: number) => Math.floor(random.next() * count);
  const clock = createVirtualClock(NOON_MS);
  const memory = createMemoryTable().as('notifier');
  const indexes = createListIndex(memory);
  const poisonIds = new Set<string>();
  const hostile = createHostileChannels(clock, poisonIds);
  const policy = alertPolicySchema.parse({
    channels: { pagerduty: { severity_min: 'info' } },
    patience_seconds: 0,
    gather_seconds: 0,
    mutes: mutesOf(draw, minutes),
  });
  const { only = CHANNEL_NAMES } = hours;
  const channels = hostile.channels.filter(({ name }) => only.some((one) => one === name));
  let offsetMs = 0;
  let deathCount = 0;
  let deadLetterCount = 0;
  const jumpsAtMs: number[] = [];
  const queue: { readonly body: string; visibleAtMs: number; receiveCount: number }[] = [];
  const eventIds: string[] = [];
  // Deaths have their own random stream, so that a seed has the same events and moods with and without them.
  const fate = seededRandom(seed + 1_000_000);
  const otherMoods = seededRandom(seed + 2_000_000);
  const otherMood = () => MOODS[Math.floor(otherMoods.next() * MOODS.length)] ?? 'ok';

  const invoke = async (run: (deps: NotifierDeps) => Promise<unknown>): Promise<boolean> => {
    const { promise: died, resolve: die } = Promise.withResolvers<boolean>();
    let isDead = false;
    const kill = () => {
      isDead = true;
      die(false);
    };
    const ended = new AbortController();
    clock.sleep(notifierSchedule.timeoutMs, ended.signal).then(
      () => {
        deathCount += 1;
        kill();
      },
      () => {},
    );
    const step = async <Result>(perform: () => Promise<Result>): Promise<Result> => {
      if (isDead) return new Promise<never>(() => {});
      const result = await perform();
      if (!isDead && fate.next() < hours.deathShare) {
        deathCount += 1;
        kill();
      }
      return isDead ? new Promise<never>(() => {}) : result;
    };
    const now = { now: () => clock.now() + offsetMs, sleep: async () => {} };
    const parts = { clock: now, telemetry: silentTelemetry };
    const store = createAlertStore(stepped(memory, step), steppedIndexes(indexes, step), parts);
    const own = channels.map(
      (channel): Channel => ({
        ...channel,
        async send(...sent) {
          const result = await step(() => channel.send(...sent));
          hostile.noteHeard(result);
          return result;
        },
      }),
    );
    const done = run({ store, policy, ...parts, ...nothingUsual, channels: own }).then(() => true);
    const isDone = await Promise.race([done, died]);
    ended.abort();
    return isDone;
  };

  const receive = async (): Promise<void> => {
    const batch = queue
      .filter(({ visibleAtMs }) => visibleAtMs <= clock.now())
      .slice(0, notifierQueue.batchSize);
    for (const message of batch) {
      message.visibleAtMs = clock.now() + notifierQueue.visibilityTimeoutMs;
      message.receiveCount += 1;
    }
    const records = batch.map(({ body }, place) => ({ messageId: String(place), body }));
    let failed: ReadonlySet<string> = new Set();
    const isDone = await invoke(async (deps) => {
      const { batchItemFailures } = await notify(deps, records);
      failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    });
    for (const [place, message] of batch.entries()) {
      if (isDone && !failed.has(String(place))) queue.splice(queue.indexOf(message), 1);
    }
  };

  const put = (event: { readonly detail: { readonly id: string } }) =>
    queue.push({ body: JSON.stringify(event), visibleAtMs: clock.now(), receiveCount: 0 });

  const happen = (minute: number) => {
    const fresh = Array.from({ length: draw(4) }, () => someEvent(draw));
    if (minute === 20) fresh.push(...Array.from({ length: hours.stormOf }, () => someEvent(draw)));
    for (const event of fresh) {
      eventIds.push(event.detail.id);
      if (draw(400) === 0) poisonIds.add(event.detail.id);
    }
    const copies = fresh.filter(() => draw(10) === 0);
    for (const event of shuffled([...fresh, ...copies], draw)) put(event);
  };

  const startMs = clock.now();
  let moods: { slack: Mood; email: Mood } = { slack: 'ok', email: 'ok' };
  let machineMoods: { pagerduty: Mood; webhook: Mood } = { pagerduty: 'ok', webhook: 'ok' };
  for (let minute = 0; minute < minutes + QUIET_MINUTES; minute++) {
    const isBad = minute < minutes;
    if (draw(15) === 0)
      moods = { slack: MOODS[draw(MOODS.length)] ?? 'ok', email: draw(3) === 0 ? 'hangs' : 'ok' };
    if (minute % 15 === 0) machineMoods = { pagerduty: otherMood(), webhook: otherMood() };
    hostile.mood.pagerduty = isBad ? machineMoods.pagerduty : 'ok';
    hostile.mood.webhook = isBad ? machineMoods.webhook : 'ok';
    hostile.mood.slack = isBad ? (hours.slack?.(minute) ?? moods.slack) : 'ok';
    hostile.mood.email = isBad && !hours.isMailUp ? moods.email : 'ok';
    if (hours.forEver !== undefined) hostile.mood[hours.forEver.channel] = hours.forEver.mood;
    const jump = minute % 30 === 15 ? [86_400_000, -3_600_000, 120_000, 0][draw(4)] : undefined;
    const nextOffsetMs = isBad ? (jump ?? offsetMs) : 0;
    if (hours.clockJumps && nextOffsetMs !== offsetMs) {
      offsetMs = nextOffsetMs;
      jumpsAtMs.push(clock.now());
    }
    if (isBad) happen(minute);
    void invoke((deps) => sweep(deps));
    // Lambda polls the queue all the time and handles a handful of batches at once.
    for (let turn = 0; turn < 60; turn++) {
      for (let poller = 0; poller < 5; poller++) {
        if (queue.some(({ visibleAtMs }) => visibleAtMs <= clock.now())) void receive();
      }
      if (!queue.some(({ visibleAtMs }) => visibleAtMs <= clock.now())) break;
      await clock.runUntil(clock.now() + 500);
    }
    deadLetterCount += removed(
      queue,
      ({ receiveCount, visibleAtMs }) => receiveCount >= 25 && visibleAtMs <= clock.now(),
    );
    await clock.runUntil(startMs + (minute + 1) * MINUTE_MS);
  }
  const items = memory.sync.items();
  const refusedIds = new Map(
    CHANNEL_NAMES.map((name) => [
      name,
      new Set(
        items
          .filter(({ pk, kind }) => pk === `ALERT#${name}` && kind === 'parked_alert')
          .flatMap(({ notice_ids }) => notice_ids as readonly string[]),
      ),
    ]),
  );
  const receivedIds = hostile.receiver.alertIds;
  return {
    eventIds,
    sent: hostile.sent,
    receivedIds,
    refusedIds,
    poisonIds,
    deathCount,
    jumpsAtMs,
    deadLetterCount,
  };
}

function removed<Value>(values: Value[], isGone: (value: Value) => boolean): number {
  const gone = values.filter(isGone);
  for (const value of gone) values.splice(values.indexOf(value), 1);
  return gone.length;
}

/** Makes mutes that may overlap. All of them end before the quiet minutes. */
function mutesOf(draw: (count: number) => number, minutes: number) {
  const iso = (minute: number) => new Date(NOON_MS + minute * MINUTE_MS).toISOString();
  return Array.from({ length: 3 }, (_, place) => {
    const from = draw(minutes);
    const until = Math.min(minutes, from + 30 + draw(120));
    return { ...(place > 0 && { project_ids: [`project-${draw(12)}`] }), from: iso(from), until: iso(until) };
  });
}

function someEvent(draw: (count: number) => number) {
  const failures_count = 1 + draw(4);
  const isEnd = draw(4) === 0;
  return anEvent({
    project_id: `project-${draw(12)}`,
    action: draw(2) === 0 ? 'start_compute' : 'create_branch',
    operation_id: `operation-${draw(50)}`,
    failures_count,
    sequence: 1 + draw(9),
    ...(isEnd && { status: draw(2) === 0 ? 'finished' : 'cancelled', terminal: true, new_failures: 0 }),
  });
}

function shuffled<Value>(values: readonly Value[], draw: (count: number) => number): readonly Value[] {
  return values
    .map((value) => ({ value, rank: draw(1_000) }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ value }) => value);
}

type Step = <Result>(perform: () => Promise<Result>) => Promise<Result>;

function stepped(table: Table, step: Step): Table {
  return {
    get: (key) => step(() => table.get(key)),
    getMany: (keys) => step(() => table.getMany(keys)),
    update: (update) => step(() => table.update(update)),
    queryWork: (query) => step(() => table.queryWork(query)),
    queryWorkPage: (query) => step(() => table.queryWorkPage(query)),
  };
}

function steppedIndexes(indexes: TableIndexes, step: Step): TableIndexes {
  return { query: (query) => step(() => indexes.query(query)) };
}
