/** Replays what polls have recorded with the production code, over the in-memory table and its indexes. */

import { describe, expect, test } from 'vitest';
import { replayRepeatedly } from '../../../functions/poller/repairs-and-replays.ts';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import { REPLAY_RESOURCE } from '../../../shared/events/event-names.ts';
import type { BusEvent } from '../../../shared/events/render-event.ts';
import type { EntryOutcome } from '../../../shared/records/journal.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { projectKey } from '../../../shared/store/keys.ts';
import { NOON_MS, only } from '../../builders.ts';
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

interface LoopOptions {
  readonly answer?: (count: number) => EntryOutcome;
  readonly shownAs?: Parameters<typeof createMemoryIndexes>[1];
  readonly wire?: (store: ReturnType<typeof createBridgeStore>) => void;
}

/** Runs the loop until it has slept `sleepCount` times. The bell is not rung. */
async function runLoop(project: Recorded, sleepCount: number, options: LoopOptions = {}) {
  const { answer = () => ({ kind: 'accepted' }) as const, shownAs, wire = () => {} } = options;
  const sent: BusEvent[] = [];
  const stop = new AbortController();
  const sleeps: number[] = [];
  const busy: boolean[] = [];
  const failures: unknown[] = [];
  const store = createBridgeStore(project.table.as('poller'), 'main', project.deps.clock);
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
      const outcomes = events.map((_, index) => answer(sent.length + index));
      sent.push(...events.filter((_, index) => outcomes[index]?.kind === 'accepted'));
      return outcomes;
    },
  };
  wire(store);
  const indexes = createMemoryIndexes(project.table, shownAs);
  const bell = { ring: () => {}, listen: () => sleep };
  const clock = { now: () => project.nowMs(), sleep };
  const { telemetry } = project.deps;
  await replayRepeatedly(
    only({ bus, clock, telemetry, signal: stop.signal, bell, store, indexes }),
    replaying,
  );
  const replay = await project.store.readReplay();
  return { sent, sleeps, busy, failures, replay };
}

/** More sleeps than any replay of these tests takes. */
const TO_THE_END = 100;

const FIRST_POLL = { since: iso(NOON_MS), until: iso(NOON_MS + MINUTE_MS) };

const ask = ({ store }: Recorded, range: object = FIRST_POLL) =>
  store.requestReplay({ replay_id: 'a-replay', ...FIRST_POLL, ...range });

const idsOf = (events: readonly BusEvent[]) =>
  events.map(({ detail }) => (JSON.parse(detail) as { id: string }).id).toSorted();

describe('a replay', () => {
  test('sends the events of its range once, with byte-equal details, and marked by a resource', async () => {
    const project = await aRecordedAccount();
    await ask(project);

    const { sent, replay } = await runLoop(project, TO_THE_END);

    const first = project.published.slice(0, 60);
    const byDetail = (a: BusEvent, b: BusEvent) => (a.detail < b.detail ? -1 : 1);
    const expected = first.map((event) => ({ ...event, resources: [`${REPLAY_RESOURCE}a-replay`] }));
    expect(sent.toSorted(byDetail)).toEqual(expected.toSorted(byDetail));
    expect(replay).toMatchObject({ sent_count: 60, ended_at: expect.any(String) });
    expect(project.published).toHaveLength(120);
  });

  test.each([
    ['another project', { project_id: 'another-project' }, 0],
    ['its project', { project_id: PROJECT_ID }, 60],
    ['another type', { detail_types: ['Branch Ready'] }, 0],
    ['another status', { statuses: ['failed'] }, 0],
    ['its status', { statuses: ['failed', 'running'], detail_types: ['Operation State Changed'] }, 60],
    ['several projects', { project_ids: ['another-project', PROJECT_ID] }, 60],
    ['other actions', { actions: ['create_branch', 'delete_tenant'] }, 0],
    ['two operations', { ids: ['row-3', 'row-30', 'row-300'] }, 2],
  ])('of %s has these events and no others', async (_name, choice, count) => {
    const project = await aRecordedAccount();
    await ask(project, choice);

    const { replay } = await runLoop(project, TO_THE_END);

    expect(replay).toMatchObject({ sent_count: count, ended_at: expect.any(String) });
  });

  test('that is only counted sends nothing, and counts what would be sent', async () => {
    const project = await aRecordedAccount();
    await ask(project, { is_dry_run: true, ids: ['row-3'] });

    const { sent, replay } = await runLoop(project, TO_THE_END);

    expect(sent).toEqual([]);
    expect(replay).toMatchObject({ sent_count: 1, ended_at: expect.any(String) });
  });

  test('leaves out what the bus has not accepted yet, because that is published anyway', async () => {
    const project = await aRecordedAccount();
    for (const item of project.table.sync.items())
      if (item.sk === 'OP#row-3') project.table.sync.update({ key: item, set: { published: 0 } });
    await ask(project);

    expect((await runLoop(project, TO_THE_END)).replay).toMatchObject({ sent_count: 59 });
  });

  test('that a crash ended before its progress was noted sends that page again, with the same ids', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const first = await runLoop(project, TO_THE_END, {
      wire: (store) => {
        store.noteReplay = () => new Promise(() => {});
      },
      answer: (count) => {
        if (count === 19) throw new Error('The process dies');
        return { kind: 'accepted' };
      },
    });

    const { sent } = await runLoop(project, TO_THE_END);

    expect(first.sent).not.toEqual([]);
    expect(idsOf(sent)).toEqual(idsOf(project.published.slice(0, 60)));
  });

  test('waits while the bus takes nothing, and counts what it refuses for good', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const down = await runLoop(project, 2, {
      answer: () => ({ kind: 'retry', code: 'ThrottlingException' }),
    });
    expect([down.sent, down.sleeps, down.busy]).toEqual([[], [5_000, 5_000], [true, true]]);
    expect(down.replay).toMatchObject({ sent_count: 0, read_count: 0 });
    expect(project.logs.filter(({ event }) => event === 'replay.interrupted')[0]).toEqual({
      level: 'warn',
      event: 'replay.interrupted',
      reason: 'ThrottlingException',
    });
    let isRefused = false;
    const { replay } = await runLoop(project, TO_THE_END, {
      answer(count) {
        if (count !== 7 || isRefused) return { kind: 'accepted' };
        isRefused = true;
        return { kind: 'refused', code: 'AccessDenied' };
      },
    });

    expect(replay).toMatchObject({ sent_count: 59, refused_count: 1 });
  });

  test('counts each event once, and what a second look at changed items sends apart', async () => {
    const project = await aRecordedAccount();
    await ask(project, { since: iso(NOON_MS), until: iso(project.nowMs()) });
    const moved = { pk: projectKey('main', PROJECT_ID).pk, sk: 'OP#row-30' };
    project.table.sync.update({ key: moved, set: { changed_at: iso(project.nowMs()) } });
    const { sent, replay } = await runLoop(project, TO_THE_END);

    expect(replay).toMatchObject({ sent_count: 120, repeated_count: 2 });
    expect(sent).toHaveLength(122);
    expect(new Set(idsOf(sent)).size).toBe(120);
  });

  test('sends an event whose item the index did not show while it moved', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const moved = { pk: projectKey('main', PROJECT_ID).pk, sk: 'OP#row-30' };
    project.table.sync.update({ key: moved, set: { changed_at: iso(project.nowMs()) } });
    const isSecondPass = () =>
      project.table.sync.items().some(({ kind, is_second_pass }) => kind === 'replay' && is_second_pass);
    const { sent } = await runLoop(project, TO_THE_END, {
      shownAs: (item, sortKey) =>
        item.sk === 'OP#row-30' && !isSecondPass() ? undefined : (item[sortKey] as string),
    });

    expect([...new Set(idsOf(sent))]).toEqual(idsOf(project.published.slice(0, 60)));
  });

  test('that is stopped in the middle of a page notes nothing more, and another one can begin', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    expect(await ask(project, { replay_id: 'a-second' })).toBe('conflict');
    const { replay } = await runLoop(project, TO_THE_END, {
      answer(count) {
        if (count === 5) void project.store.noteReplay('a-replay', { ended_at: iso(0), is_stopped: true });
        return { kind: 'accepted' };
      },
    });

    expect(replay).toMatchObject({ is_stopped: true, sent_count: 0 });
    expect(endedOf(project)).toHaveLength(1);
    expect(await ask(project, { replay_id: 'another' })).toBe('recorded');
    expect((await project.store.readReplay())?.ended_at).toBeUndefined();
  });
});

const endedOf = ({ logs }: Recorded) => logs.filter(({ event }) => event === 'replay.ended');

describe('the loop of replays', () => {
  test('logs the counts once, and keeps the invocation busy meanwhile', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const { busy, failures } = await runLoop(project, 20);

    expect(endedOf(project)).toEqual([
      {
        level: 'info',
        event: 'replay.ended',
        sent_count: 60,
        repeated_count: 0,
        refused_count: 0,
        read_count: expect.any(Number),
      },
    ]);
    expect([busy[0], busy.at(-1)]).toEqual([true, false]);
    expect(failures).toEqual([]);
  });

  test('looks once a minute while none is asked for, and is not busy', async () => {
    const project = await aRecordedAccount();
    const { sent, sleeps, busy } = await runLoop(project, 3);

    expect([sent, sleeps, busy]).toEqual([[], [60_000, 60_000, 60_000], [false, false, false]]);
  });

  test('sends fifty events a second, and reads five hundred items a second where none is chosen', async () => {
    const project = await aRecordedAccount();
    await ask(project);
    const all = await runLoop(project, 9);
    await ask(project, { replay_id: 'of-nothing', statuses: ['unheard of'] });
    const none = await runLoop(project, 5);

    expect(all.sleeps.slice(0, 6)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(all.sleeps.at(-1)).toBe(60_000);
    expect(none.sleeps.slice(0, 3)).toEqual([40, 40, 40]);
  });

  test('publishes nothing more once the invocation ends', async () => {
    const project = await aRecordedAccount();
    await ask(project);

    expect((await runLoop(project, 1)).sent).toHaveLength(10);
  });

  test('survives a table that does not answer', async () => {
    const project = await aRecordedAccount();
    const { failures, sleeps } = await runLoop(project, 2, {
      wire: (store) => {
        store.readReplay = () => Promise.reject(new RangeError('busy'));
      },
    }).catch((error: unknown) => ({ failures: [error], sleeps: [] }));

    expect([failures.length, sleeps]).toEqual([2, [60_000, 60_000]]);
  });
});
