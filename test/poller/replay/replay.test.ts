/** Replays what polls have recorded with the production code, over the in-memory table and its indexes. */

import { describe, expect, test } from 'vitest';
import { replayRepeatedly } from '../../../functions/poller/replay/replay-repeatedly.ts';
import { takeReplayStep } from '../../../functions/poller/replay/replay-step.ts';
import type { EntryOutcome } from '../../../shared/core/journal/relay-plan.ts';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import { REPLAY_RESOURCE } from '../../../shared/events/event-names.ts';
import type { BusEvent } from '../../../shared/events/render-event.ts';
import { createBridgeStore } from '../../../shared/store/adapters/bridge-store.ts';
import type { Replay } from '../../../shared/store/adapters/replays.ts';
import { projectKey } from '../../../shared/store/keys.ts';
import type { Key, TableIndexes } from '../../../shared/store/table.ts';
import { NOON_MS } from '../../builders.ts';
import { createMemoryIndexes } from '../../store/memory-indexes.ts';
import { aProject, atMs, endedRows, PROJECT_ID } from '../project/project-under-test.ts';

const iso = (epochMs: number) => new Date(epochMs).toISOString();
const MINUTE_MS = 60_000;

/** Two polls, ten minutes apart: 60 operations are seen as running, and then as finished. */
async function aRecordedAccount() {
  const published: BusEvent[] = [];
  const project = aProject({
    walkLimits: { firstPageRows: 100, widePageRows: 100, pagesMax: 4, overlapMs: 300_000 },
  });
  const bus: EventBus = {
    async publish(events) {
      published.push(...events);
      return events.map(() => ({ kind: 'accepted' }));
    },
  };
  Object.assign(project.deps, { bus });
  const rows = endedRows(60, { newestMs: NOON_MS - MINUTE_MS, stepMs: 1_000 });
  project.script.rows = rows.map((row) => ({ ...row, status: 'running' }));
  await project.poll();
  project.pass(10 * MINUTE_MS);
  project.script.rows = rows.map((row) => ({ ...row, updated_at: atMs(NOON_MS + MINUTE_MS) }));
  await project.poll();
  project.pass(2 * MINUTE_MS);
  return { ...project, published };
}

type Recorded = Awaited<ReturnType<typeof aRecordedAccount>>;

function replayer(
  project: Recorded,
  answer: (count: number) => EntryOutcome = () => ({ kind: 'accepted' }),
  shownAs?: Parameters<typeof createMemoryIndexes>[1],
) {
  const sent: BusEvent[] = [];
  const stop = new AbortController();
  const bus: EventBus = {
    async publish(events) {
      const outcomes = events.map((_, index) => answer(sent.length + index));
      sent.push(...events.filter((_, index) => outcomes[index]?.kind === 'accepted'));
      return outcomes;
    },
  };
  const store = createBridgeStore(project.table.as('poller'), 'main', project.deps.clock);
  const deps = {
    recorded: {
      indexes: createMemoryIndexes(project.table, shownAs),
      accountId: 'main',
      readRecords: (keys: readonly Key[]) => store.readRecords(keys),
    },
    replays: store,
    bus,
    clock: project.deps.clock,
    telemetry: project.deps.telemetry,
    signal: stop.signal,
  };
  const step = async () => {
    const replay = await store.readReplay();
    if (replay === undefined) throw new Error('no replay was asked for');
    return takeReplayStep(deps, replay);
  };
  const toTheEnd = async () => {
    for (let steps = 0; steps < 100; steps++) {
      const { replay } = await step();
      if (replay.ended_at !== undefined) return replay;
    }
    throw new Error('the replay does not end');
  };
  return { sent, stop, store, step, toTheEnd };
}

/** Runs the loop until it has slept `sleepCount` times. With a bell, which is not rung, it waits for as long as it says. */
async function runLoop(
  project: Recorded,
  sleepCount: number,
  { wire = () => {}, hasBell = false }: { wire?: (deps: Loop) => void; hasBell?: boolean } = {},
) {
  const { store, sent, stop } = replayer(project);
  const sleeps: number[] = [];
  const busy: boolean[] = [];
  const failures: unknown[] = [];
  const replaying = {
    isBusy: false,
    survive: (task: () => Promise<void>) => task().catch((error: unknown) => void failures.push(error)),
  };
  const sleep = async (durationMs: number) => {
    project.pass(durationMs);
    sleeps.push(durationMs);
    busy.push(replaying.isBusy);
    if (sleeps.length >= sleepCount) stop.abort();
  };
  const bus: EventBus = {
    async publish(events) {
      sent.push(...events);
      return events.map(() => ({ kind: 'accepted' }));
    },
  };
  const clock = { now: () => project.nowMs(), sleep };
  const loop = { bus, clock, telemetry: project.deps.telemetry };
  const readReplay = store.readReplay.bind(store);
  const port = { recorded: recordedOf(project, store), store: Object.assign(store, { readReplay }) };
  wire({ bus, store: port.store });
  const bell = { ring: () => {}, listen: () => sleep };
  await replayRepeatedly({ ...loop, signal: stop.signal, ...(hasBell && { bell }) }, port, replaying);
  return { sent, sleeps, busy, failures };
}

interface Loop {
  readonly bus: EventBus;
  readonly store: ReturnType<typeof createBridgeStore>;
}

const recordedOf = (project: Recorded, store: ReturnType<typeof createBridgeStore>) => ({
  indexes: createMemoryIndexes(project.table),
  accountId: 'main',
  readRecords: (keys: readonly Key[]) => store.readRecords(keys),
});

const FIRST_POLL = { since: iso(NOON_MS), until: iso(NOON_MS + MINUTE_MS) };

const ask = ({ store }: Recorded, range: object = FIRST_POLL) =>
  store.requestReplay({ replay_id: 'a-replay', ...FIRST_POLL, ...range });

const idsOf = (events: readonly BusEvent[]) =>
  events.map(({ detail }) => (JSON.parse(detail) as { id: string }).id).toSorted();

describe('a replay', () => {
  test('sends the events of its range once, with byte-equal details, and marked by a resource', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { sent, toTheEnd } = replayer(project);

    const { sent_count } = await toTheEnd();

    const first = project.published.slice(0, 60);
    const byDetail = (a: BusEvent, b: BusEvent) => (a.detail < b.detail ? -1 : 1);
    const expected = first.map((event) => ({ ...event, resources: [`${REPLAY_RESOURCE}a-replay`] }));
    expect(sent.toSorted(byDetail)).toEqual(expected.toSorted(byDetail));
    expect(sent_count).toBe(60);
    expect(project.published).toHaveLength(120);
  });

  test('of one project leaves the others out', async () => {
    const project = await aRecordedAccount();
    await ask(project, { project_id: 'another-project' });

    expect(await replayer(project).toTheEnd()).toMatchObject({ sent_count: 0 });
  });

  test('leaves out what the bus has not accepted yet, because that is published anyway', async () => {
    const project = await aRecordedAccount();
    for (const item of project.table.sync.items())
      if (item.sk === 'OP#row-3') project.table.sync.update({ key: item, set: { published: 0 } });
    await ask(project);

    expect(await replayer(project).toTheEnd()).toMatchObject({ sent_count: 59 });
  });

  test('that a crash ended before its progress was noted sends that page again, with the same ids', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { sent, step, store, toTheEnd } = replayer(project);
    const before = await store.readReplay();
    await step();
    const key = { pk: 'READ#main', sk: 'REPLAY#' };
    project.table.sync.update({ key, set: { sent_count: before?.sent_count ?? 0 }, remove: ['position'] });

    await toTheEnd();

    expect(sent).toHaveLength(80);
    expect([...new Set(idsOf(sent))]).toEqual(idsOf(project.published.slice(0, 60)));
  });

  test('waits while the bus takes nothing, and counts what it refuses for good', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    let isDown = true;
    const answer = (count: number): EntryOutcome => {
      if (isDown) return { kind: 'retry', code: 'ThrottlingException' };
      return count === 7 ? { kind: 'refused', code: 'AccessDenied' } : { kind: 'accepted' };
    };
    const { sent, step, toTheEnd } = replayer(project, answer);

    expect(await step()).toMatchObject({ mustRepeat: true, replay: { sent_count: 0 } });
    expect(sent).toEqual([]);
    isDown = false;
    const { sent_count, refused_count } = await toTheEnd();

    expect(sent_count + refused_count).toBe(60);
    expect(refused_count).toBeGreaterThan(0);
  });

  test('sends an event whose item the index did not show while it moved', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    let isMoving = true;
    const { sent, step, toTheEnd } = replayer(project, undefined, (item, sortKey) =>
      isMoving && item.sk === 'OP#row-30' ? undefined : (item[sortKey] as string),
    );
    const moved = { pk: projectKey('main', PROJECT_ID).pk, sk: 'OP#row-30' };
    project.table.sync.update({ key: moved, set: { changed_at: iso(project.nowMs()) } });
    for (let steps = 0; steps < 100 && isMoving; steps++)
      isMoving = (await step()).replay.is_second_pass !== true;

    await toTheEnd();

    expect([...new Set(idsOf(sent))]).toEqual(idsOf(project.published.slice(0, 60)));
  });

  test('ends when a caller stops it, and another one can begin', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { sent, step, store } = replayer(project);
    expect(await ask(project, { replay_id: 'a-second' })).toBe('conflict');
    await store.stopReplay('a-replay');

    expect(await store.readReplay()).toMatchObject({ is_stopped: true, ended_at: expect.any(String) });
    expect(await ask(project, { replay_id: 'another' })).toBe('recorded');
    expect(await step()).toMatchObject({ replay: { replay_id: 'another' } });
    expect(sent[0]?.resources).toEqual([`${REPLAY_RESOURCE}another`]);
  });

  test('that is stopped in the middle of a page does not note that page', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { step, store } = replayer(project, (count) => {
      if (count === 5) void project.store.stopReplay('a-replay');
      return { kind: 'accepted' };
    });

    expect(await step()).toMatchObject({ isStopped: true });
    expect(await store.readReplay()).toMatchObject({ is_stopped: true, sent_count: 0 });
  });
});

describe('a step of a replay', () => {
  test.each([
    ['since the beginning of the range', '2026-01-15T11:00:00.000Z', false, '2026-01-15T10:59:59.999Z'],
    [
      'since the replay began, if that is later',
      '2026-01-15T11:00:00.000Z',
      true,
      '2026-01-15T11:59:29.999Z',
    ],
    [
      'since the beginning of the range, if that is later',
      '2026-01-15T11:59:50.000Z',
      true,
      '2026-01-15T11:59:49.999Z',
    ],
  ])('reads what has changed %s', async (_name, since, is_second_pass, expected) => {
    const project = await aRecordedAccount();
    const asked: unknown[] = [];
    const published: unknown[] = [];
    const range: Replay = {
      kind: 'replay',
      replay_id: 'a-replay',
      since,
      until: '2026-01-15T13:00:00.000Z',
      requested_at: '2026-01-15T12:00:00.000Z',
      sent_count: 0,
      refused_count: 0,
      is_second_pass,
    };
    const indexes: TableIndexes = {
      query: async ({ after }) => {
        asked.push(after);
        return { keys: [], next: undefined };
      },
    };
    const deps = { ...project.deps, replays: project.store, signal: new AbortController().signal };
    const bus: EventBus = {
      publish: async (events) => {
        published.push(events);
        return [];
      },
    };
    const recorded = { ...recordedOf(project, project.store), indexes };
    await takeReplayStep({ ...deps, bus, recorded }, range);

    expect([asked, published]).toEqual([[expected], []]);
  });

  test('that the bus interrupts says why in the log', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { step } = replayer(project, () => ({ kind: 'retry', code: 'ThrottlingException' }));

    expect(await step()).toMatchObject({ mustRepeat: true, isStopped: false });
    expect(project.logs.filter(({ event }) => event === 'replay.interrupted')).toEqual([
      { level: 'warn', event: 'replay.interrupted', reason: 'ThrottlingException' },
    ]);
  });

  test('publishes nothing more once the invocation ends, and notes nothing', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { sent, stop, step, store } = replayer(project, (count) => {
      if (count === 3) stop.abort();
      return { kind: 'accepted' };
    });

    expect(await step()).toMatchObject({ mustRepeat: true, isStopped: false });
    expect(sent).toHaveLength(10);
    expect(await store.readReplay()).toMatchObject({ sent_count: 0 });
  });
});

describe('the loop of replays', () => {
  const endedOf = ({ logs }: Recorded) => logs.filter(({ event }) => event === 'replay.ended');

  test('works on a replay to its end, logs its counts once, and keeps the invocation busy meanwhile', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { sent, busy, failures } = await runLoop(project, 20);

    expect(sent).toHaveLength(60);
    expect(endedOf(project)).toEqual([
      { level: 'info', event: 'replay.ended', sent_count: 60, refused_count: 0 },
    ]);
    expect([busy[0], busy.at(-1)]).toEqual([true, false]);
    expect(failures).toEqual([]);
  });

  test('looks every five seconds while none is asked for, and is not busy', async () => {
    const project = await aRecordedAccount();
    const { sent, sleeps, busy, failures } = await runLoop(project, 3);

    expect([sent, sleeps, busy]).toEqual([[], [5_000, 5_000, 5_000], [false, false, false]]);
    expect(failures).toEqual([]);
    expect(endedOf(project)).toEqual([]);
  });

  test('looks once a minute while none is asked for, when it can be nudged', async () => {
    const { sleeps } = await runLoop(await aRecordedAccount(), 2, { hasBell: true });

    expect(sleeps).toEqual([60_000, 60_000]);
  });

  test('sends fifty events a second, and waits between two steps for nothing else', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { sleeps } = await runLoop(project, 8, { hasBell: true });

    expect(sleeps).toEqual([200, 200, 200, 200, 200, 200, 60_000, 60_000]);
  });

  test('takes a step that the bus did not take again after five seconds', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { sleeps, busy } = await runLoop(project, 2, {
      wire: ({ bus }) => {
        bus.publish = async (events) => events.map(() => ({ kind: 'retry', code: 'busy' }));
      },
      hasBell: true,
    });

    expect(sleeps).toEqual([5_000, 5_000]);
    expect(busy).toEqual([true, true]);
    expect(endedOf(project)).toEqual([]);
  });

  test('survives a table that does not answer', async () => {
    const project = await aRecordedAccount();
    const { failures, sleeps } = await runLoop(project, 2, {
      wire: ({ store }) => {
        store.readReplay = () => Promise.reject(new RangeError('busy'));
      },
    });

    expect(failures).toHaveLength(2);
    expect(sleeps).toEqual([5_000, 5_000]);
  });
});
