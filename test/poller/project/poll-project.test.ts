import { describe, expect, test } from 'vitest';
import { WORK_ENTRIES_MAX } from '../../../functions/poller/project/read-stored.ts';
import type { EntryOutcome } from '../../../shared/core/journal/relay-plan.ts';
import { decideSettlement } from '../../../shared/core/records/command-record.ts';
import type { Operation } from '../../../shared/core/records/operation.ts';
import { decideDiscovery } from '../../../shared/core/records/project-record.ts';
import { UnreadableItemError } from '../../../shared/store/unreadable.ts';
import { anOperation, aRecord, commandRecord, NOON_MS } from '../../builders.ts';
import { aProject, atMs, DAY_MS, endedRows, HOUR_MS, MINUTE_MS, PROJECT_ID } from './project-under-test.ts';

const row = (id: string, atAgeMs: number, fields: Partial<Operation> = {}) =>
  anOperation({ id, created_at: atMs(NOON_MS - atAgeMs), updated_at: atMs(NOON_MS - atAgeMs), ...fields });

describe('what a poll records', () => {
  test('is counted: transitions, by status, and failures by action', async () => {
    const { script, poll, measures } = aProject();
    script.rows = [
      row('failing', 1_000, { status: 'failed', failures_count: 2, action: 'start_compute' }),
      row('broken', 2_000, { status: 'error', action: 'apply_config' }),
      row('good', 3_000, { status: 'finished' }),
    ];

    expect(await poll()).toMatchObject({ recordedCount: 3 });

    expect(measures.filter(([metric]) => metric === 'TransitionsRecorded')).toHaveLength(3);
    expect(measures).toContainEqual(['TransitionsByStatus', 1, 'finished']);
    expect(measures.filter(([metric]) => metric === 'FailuresByAction')).toEqual([
      ['FailuresByAction', 1, 'apply_config'],
      ['FailuresByAction', 2, 'start_compute'],
    ]);
  });

  test('carries the clock and the account of the bridge', async () => {
    const { script, poll, events, pass } = aProject();
    pass(1_234);
    script.rows = [row('a', 1_000)];
    await poll();

    expect(events).toMatchObject([{ account_id: 'main', observed_at: '2026-01-15T12:00:01.234Z' }]);
  });

  test('names the command that is known to have started the operation', async () => {
    const { script, poll, events, store } = aProject();
    await store.record(
      { ...commandRecord(PROJECT_ID, 'request-1'), operation_ids: ['by-command'] },
      undefined,
    );
    script.rows = [row('by-command', 1_000), row('by-no-command', 2_000)];

    await poll();

    expect(events).toMatchObject([
      { operation_id: 'by-no-command' },
      { operation_id: 'by-command', command: { client_id: 'an-app', request_id: 'request-1' } },
    ]);
    expect(events[0]).not.toHaveProperty('command');
  });

  test('and what a full journal defers is counted, and the full journal is logged once per outage', async () => {
    const { script, poll, deps, measures, logs, pass } = aProject();
    deps.bus.publish = async (published) => published.map(() => ({ kind: 'retry', code: 'down' }) as never);
    for (let count = 1; count <= 66; count++) {
      pass(1_000);
      script.rows = [row('a', 1_000, { status: 'failed', failures_count: count })];
      await poll();
    }
    expect(measures.filter(([metric]) => metric === 'TransitionsDeferred')).toHaveLength(2);
    expect(logs.filter(({ event }) => event === 'journal.full')).toEqual([
      { level: 'warn', event: 'journal.full', project_id: PROJECT_ID, operation_id: 'a', entry_count: 64 },
    ]);
  });
});

describe('what a poll reports of itself', () => {
  test('names how often something happens there and the project as it was before', async () => {
    const { script, poll } = aProject();
    script.rows = endedRows(4, { newestMs: NOON_MS - MINUTE_MS });
    expect(await poll()).toMatchObject({ project: undefined, activity: { arrivalCount: 4 } });

    const report = await poll();

    expect(report.project).toMatchObject({ project_id: PROJECT_ID });
  });

  test('counts what others left unpublished, and leaves that to the relay beside the polls', async () => {
    const { script, poll, store, events } = aProject();
    await store.record(aRecord({ id: 'left-over' }), undefined);
    const command = { ...commandRecord(PROJECT_ID, 'request-1'), operation_ids: ['elsewhere'] };
    await store.record(command, undefined);
    const ended = new Map([['elsewhere', aRecord({ id: 'elsewhere', status: 'finished' })]]);
    const settled = decideSettlement(command, ended, NOON_MS);
    if (settled !== undefined) await store.record(settled, 0);
    const discovered = decideDiscovery(undefined, {
      account_id: 'main',
      project_id: PROJECT_ID,
      nowMs: NOON_MS,
      isNews: true,
    });
    if (discovered !== undefined) await store.record(discovered, undefined);
    script.rows = [row('own', 1_000), row('left-over', 2_000)];

    const report = await poll();

    expect(report.leftoverCount).toBe(3);
    expect(report.relay).toMatchObject({ publishedCount: 1, unpublishedCount: 0 });
    expect(events.map(({ operation_id }) => operation_id)).toEqual(['own']);
  });

  test('counts nothing as left over when all is published', async () => {
    const { script, poll } = aProject();
    script.rows = [row('own', 1_000)];
    await poll();

    expect(await poll()).toMatchObject({
      leftoverCount: 0,
      relay: { publishedCount: 0, unpublishedCount: 0 },
    });
  });

  test('counts what the bus did not take', async () => {
    const { script, poll, deps } = aProject();
    deps.bus.publish = async (published) =>
      published.map((): EntryOutcome => ({ kind: 'retry', code: 'down' })) as never;
    script.rows = [row('own', 1_000)];

    expect(await poll()).toMatchObject({
      relay: { publishedCount: 0, unpublishedCount: 1 },
      leftoverCount: 0,
    });
  });
});

describe('a command of the project', () => {
  test('is settled by the poll that sees the end of its operations', async () => {
    const { script, poll, events, store } = aProject();
    await store.record({ ...commandRecord(PROJECT_ID, 'request-1'), operation_ids: ['a'] }, undefined);
    script.rows = [row('a', 1_000)];
    await poll();
    expect(events.map(({ type }) => type)).toEqual(['Operation State Changed']);
    script.rows = [row('a', 1_000, { status: 'finished' })];

    await poll();

    expect(events.map(({ type }) => type)).toEqual([
      'Operation State Changed',
      'Operation State Changed',
      'Command Settled',
    ]);
  });
});

describe('a project whose history has no known end', () => {
  test('waits, since all its history might be published as news', async () => {
    const { script, poll, events } = aProject();
    script.rows = [row('a', 1_000)];

    await expect(poll({ bootAt: undefined })).rejects.toThrow(UnreadableItemError);
    expect(events).toEqual([]);
  });

  test('is polled on when it was read before', async () => {
    const { script, poll, events } = aProject();
    script.rows = [row('a', 1_000)];
    await poll();
    script.rows = [row('a', 1_000, { status: 'finished' })];

    expect(await poll({ bootAt: undefined })).toMatchObject({ outcome: 'complete' });
    expect(events).toHaveLength(2);
  });

  test('and that has an end of its own history is judged by that', async () => {
    const { script, poll, put, events } = aProject();
    put({ history_until: '2026-01-15T11:30:00.000000000Z' });
    script.rows = [
      row('news', 10 * MINUTE_MS, { status: 'finished' }),
      row('history', 45 * MINUTE_MS, { status: 'finished' }),
    ];

    await poll();

    expect(events).toMatchObject([{ operation_id: 'news', observed_by: 'poll' }]);
  });
});

describe('open and unpublished items of a project', () => {
  test('are read a page at a time, and the next poll goes on behind it', async () => {
    const { poll, store, deps } = aProject();
    for (let place = 0; place < WORK_ENTRIES_MAX + 20; place++)
      await store.record(aRecord({ id: `open-${place}` }), undefined);
    const counts: number[] = [];
    const readOperations = deps.store.readOperations.bind(deps.store);
    deps.store.readOperations = async (projectId, ids) => {
      counts.push(ids.length);
      return readOperations(projectId, ids);
    };
    for (let count = 0; count < 3; count++) await poll();

    expect(counts).toEqual([WORK_ENTRIES_MAX, 20, WORK_ENTRIES_MAX]);
  });
});

describe('a stall', () => {
  const stallThresholdsMs = { default: [10 * MINUTE_MS, HOUR_MS] };

  test('is recorded once per threshold, of an operation that this poll has read', async () => {
    const { script, poll, pass, takeEvents } = aProject({ stallThresholdsMs });
    script.rows = [row('slow', 1_000)];
    await poll();
    takeEvents();
    pass(10 * MINUTE_MS);
    await poll();
    await poll();
    expect(takeEvents()).toMatchObject([
      { type: 'Operation Stalled', threshold_ms: 600_000, open_ms: 601_000 },
    ]);
    pass(HOUR_MS);

    await poll();

    expect(takeEvents()).toMatchObject([{ type: 'Operation Stalled', threshold_ms: HOUR_MS }]);
  });

  test('is not recorded of an operation that this poll could not read', async () => {
    const { script, poll, pass, takeEvents } = aProject({ stallThresholdsMs });
    script.rows = [row('slow', 1_000)];
    await poll();
    takeEvents();
    pass(HOUR_MS);
    script.fails = () => 'unavailable';

    await poll();

    expect(takeEvents()).toEqual([]);
  });

  test('is not recorded after the deadline', async () => {
    const { script, poll, pass, takeEvents } = aProject({ stallThresholdsMs });
    script.rows = [row('slow', 1_000)];
    await poll();
    takeEvents();
    pass(HOUR_MS);
    const stop = new AbortController();
    script.fails = () => {
      stop.abort();
      return undefined;
    };

    await poll({ signal: stop.signal });

    expect(takeEvents()).toEqual([]);
  });

  test('is left to the process that has changed the operation meanwhile', async () => {
    const { script, poll, pass, takeEvents, deps } = aProject({ stallThresholdsMs });
    script.rows = [row('slow', 1_000)];
    await poll();
    takeEvents();
    pass(HOUR_MS);
    deps.store.record = async () => 'conflict';

    await poll();

    expect(takeEvents()).toEqual([]);
  });

  test('waits while the journal of the operation is full', async () => {
    const { script, poll, pass, deps, store } = aProject({ stallThresholdsMs });
    deps.bus.publish = async (published) =>
      published.map((): EntryOutcome => ({ kind: 'retry', code: 'down' })) as never;
    for (let count = 1; count < 64; count++) {
      script.rows = [row('slow', 1_000, { status: 'failed', failures_count: count })];
      await poll();
    }
    script.rows = [row('slow', 1_000, { status: 'running', failures_count: 63 })];
    await poll();
    pass(HOUR_MS);
    await poll();

    expect(await store.readOperation(PROJECT_ID, 'slow')).toMatchObject({ revision: 64 });
  });
});

describe('a sweep', () => {
  const sweepIntervalMs = DAY_MS;
  const late = row('late', 2 * HOUR_MS, { created_at: atMs(NOON_MS - 30 * MINUTE_MS), status: 'finished' });

  async function swept(fields: Parameters<typeof aProject>[0] = {}) {
    const walkLimits = { firstPageRows: 5, widePageRows: 10, pagesMax: 9, overlapMs: 5 * MINUTE_MS };
    const project = aProject({ sweepIntervalMs, walkLimits, ...fields });
    project.script.rows = endedRows(4, { newestMs: NOON_MS - MINUTE_MS });
    await project.poll();
    project.takeCalls();
    project.takeEvents();
    return project;
  }

  test('is due a day after the last one, and finds what every walk has missed', async () => {
    const { script, poll, pass, takeEvents, stored, nowMs } = await swept();
    script.rows = [...script.rows, late];
    pass(DAY_MS - 1);
    await poll();
    expect(takeEvents()).toEqual([]);
    pass(1);

    await poll();

    expect(takeEvents()).toMatchObject([{ operation_id: 'late', observed_by: 'sweep', late: true }]);
    expect(stored()).toMatchObject({ swept_at_ms: nowMs(), sweep_count: 1 });
  });

  test('is due as well when the clock was set back by a day', async () => {
    const { poll, pass, stored } = await swept();
    pass(-DAY_MS);
    await poll();

    expect(stored()).toMatchObject({ sweep_count: 1 });
  });

  test('is not due while the walk of the same poll has not come to its end', async () => {
    const { poll, pass, script, stored } = await swept();
    pass(DAY_MS);
    script.fails = () => 'unavailable';
    await poll();

    expect(stored()).not.toHaveProperty('sweep_count');
  });

  test('that fails is not done, is logged with its reason, delays nothing, and is tried again ten minutes later', async () => {
    const { script, poll, pass, stored, logs, calls } = await swept();
    pass(DAY_MS);
    let count = 0;
    script.fails = () => (++count === 3 ? 'unavailable' : undefined);

    expect(await poll()).toMatchObject({ outcome: 'complete', failure: undefined });
    expect(calls).toHaveLength(3);
    expect(stored()).not.toHaveProperty('sweep_count');
    expect(logs).toEqual([
      { level: 'warn', event: 'sweep.interrupted', project_id: PROJECT_ID, reason: 'unavailable' },
    ]);
    pass(10 * MINUTE_MS - 1);
    await poll();
    expect(stored()).not.toHaveProperty('sweep_count');
    pass(1);
    await poll();
    expect(stored()).toMatchObject({ sweep_count: 1 });
    expect(logs).toHaveLength(1);
  });

  test('that the end of the invocation cuts short goes on with the next poll, and is not logged', async () => {
    const { script, poll, stored, pass, logs } = await swept();
    pass(DAY_MS);
    let count = 0;
    script.fails = () => (++count === 3 ? 'cancelled' : undefined);
    await poll();
    expect(stored()).not.toHaveProperty('sweep_count');

    await poll();

    expect(stored()).toMatchObject({ sweep_count: 1 });
    expect(logs).toEqual([]);
  });

  test('that is refused for the key reports that, since it concerns the whole account', async () => {
    const { script, poll, pass } = await swept();
    pass(DAY_MS);
    let count = 0;
    script.fails = () => (++count === 3 ? 'unauthorized' : undefined);

    expect(await poll()).toMatchObject({ failure: 'unauthorized' });
  });

  test('of several polls goes on where it stopped, and is done with its bound', async () => {
    const walkLimits = { firstPageRows: 5, widePageRows: 10, pagesMax: 3, overlapMs: 5 * MINUTE_MS };
    const { script, poll, pass, stored, takeCalls } = await swept({ walkLimits, backfillDepthMs: HOUR_MS });
    script.rows = endedRows(80, { newestMs: NOON_MS - MINUTE_MS, stepMs: MINUTE_MS });
    pass(DAY_MS);
    await poll();

    const first = stored()?.['sweep'] as { bound: string; cursor: string };
    expect(first.bound).toBe('2026-01-08T11:59:00.000000000Z');
    takeCalls();
    await poll();
    const calls = takeCalls();
    expect(calls).toContain(`list ${first.cursor} 10`);
    for (let count = 0; count < 12; count++) await poll();
    expect(stored()).not.toHaveProperty('sweep');
    expect(stored()).toMatchObject({ sweep_count: 1 });
  });

  test('begins anew when the upstream refuses the cursor where it stopped', async () => {
    const { script, poll, pass, put, stored } = await swept();
    pass(DAY_MS);
    put({ sweep: { bound: '2026-01-08T11:59:00.000000000Z', cursor: 'row-2' } });
    let refusedCount = 0;
    script.fails = ({ cursor, limit }) => {
      const isRefused = cursor === 'row-2' && limit === 10 && refusedCount === 0;
      if (isRefused) refusedCount += 1;
      return isRefused ? 'rejected' : undefined;
    };

    await poll();

    expect(refusedCount).toBe(1);
    expect(stored()).toMatchObject({ sweep_count: 1 });
    expect(stored()).not.toHaveProperty('sweep');
  });

  test('has a first page of another size each time', async () => {
    const { script, poll, pass, takeCalls } = await swept();
    script.rows = endedRows(12, { newestMs: NOON_MS - MINUTE_MS });
    const sizes: (string | undefined)[] = [];
    for (let count = 0; count < 4; count++) {
      pass(DAY_MS);
      await poll();
      const heads = takeCalls().filter(
        (call) => /^list \d+$/.test(call) && call !== 'list 5' && call !== 'list 10',
      );
      sizes.push(heads.join());
    }

    expect(new Set(sizes).size).toBe(4);
  });
});

describe('progress of a project', () => {
  test('is not written when nothing has changed', async () => {
    const { script, poll, table, nowMs } = aProject();
    script.rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS });
    await poll();
    const before = table.spent.base;
    await poll();

    expect(table.spent.base).toBe(before);
    expect(nowMs()).toBe(NOON_MS);
  });

  test('keeps how often something happens there, rounded', async () => {
    const { script, poll, stored } = aProject();
    script.rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS });

    await poll({ history: { arrivalCount: 1.23456, observedMs: 1_000.6 } });

    expect(stored()).toMatchObject({ arrivals: { count: 1.23, observed_ms: 1_001 } });
  });

  test('keeps what the page says where nothing was known before', async () => {
    const { script, poll, stored } = aProject();
    script.rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS });

    await poll();

    expect(stored()).toMatchObject({ arrivals: { count: 3 } });
  });

  test('beside a watermark that another process has moved further is written without it', async () => {
    const walkLimits = { firstPageRows: 5, widePageRows: 10, pagesMax: 9, overlapMs: 5 * MINUTE_MS };
    const { script, poll, pass, put, stored, deps } = aProject({ sweepIntervalMs: DAY_MS, walkLimits });
    script.rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS });
    await poll();
    pass(DAY_MS);
    script.rows = [row('new', 1_000, { status: 'finished' }), ...script.rows];
    const saveProgress = deps.store.saveProgress.bind(deps.store);
    let saveCount = 0;
    deps.store.saveProgress = async (...args) => {
      if (saveCount++ === 0) put({ watermark: '2026-01-20T00:00:00.000000000Z' });
      return saveProgress(...args);
    };

    await poll();

    expect(saveCount).toBe(2);
    expect(stored()).toMatchObject({ watermark: '2026-01-20T00:00:00.000000000Z', sweep_count: 1 });
  });

  test('moves the watermark once as many newer rows were seen as the setting names, and not before', async () => {
    const { script, poll, stored } = aProject({ watermarkStepRows: 3 });
    script.rows = endedRows(1, { newestMs: NOON_MS - 10 * MINUTE_MS });
    await poll();
    const before = stored()?.['watermark'];
    script.rows = [...endedRows(2, { newestMs: NOON_MS - MINUTE_MS, name: 'new' }), ...script.rows];
    await poll();
    expect(stored()?.['watermark']).toBe(before);
    script.rows = [...endedRows(1, { newestMs: NOON_MS, name: 'newest' }), ...script.rows];

    await poll();

    expect(stored()?.['watermark']).toBe('2026-01-15T12:00:00.000000000Z');
  });
});
