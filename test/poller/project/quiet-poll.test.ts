/**
 * Tests polls of a project of which nothing is open: they spare the reads of the table, and must hide neither a change
 * of the upstream nor the work of another process.
 */

import { describe, expect, test } from 'vitest';
import { mustReadStore, QUIET_MS_MAX } from '../../../functions/poller/project/memory/quiet-project.ts';
import { decideNextRecord } from '../../../shared/core/records/operation-record.ts';
import { UnreadableItemError } from '../../../shared/store/unreadable.ts';
import { anOperation, commandRecord, NOON_MS } from '../../builders.ts';
import { aProject, atMs, endedRows, MINUTE_MS, PROJECT_ID } from './project-under-test.ts';

const SECOND_MS = 1_000;

/** Sets up a project, and names the reads of the table that its polls make. */
function watched() {
  const project = aProject();
  const { store } = project.deps;
  const reads: string[] = [];
  const noted = <Args extends readonly unknown[], Result>(name: string, read: (...args: Args) => Result) =>
    ((...args: Args) => {
      reads.push(name);
      return read(...args);
    }) as typeof read;
  store.readProject = noted('project', store.readProject.bind(store));
  store.findWorkPage = noted('work', store.findWorkPage.bind(store));
  const pollAfter = (durationMs: number) => {
    project.pass(durationMs);
    return project.poll();
  };
  const takeReads = () => reads.splice(0);
  return { ...project, pollAfter, takeReads };
}

/** Polls a project with four ended operations until it is known to be quiet. */
async function aQuietProject() {
  const project = watched();
  project.script.rows = endedRows(4, { newestMs: NOON_MS - MINUTE_MS });
  for (let count = 0; count < 4; count++) await project.pollAfter(5 * SECOND_MS);
  project.takeReads();
  project.takeEvents();
  project.takeCalls();
  return project;
}

const started = (id: string, status = 'running') =>
  anOperation({ id, status, created_at: atMs(NOON_MS + 30 * SECOND_MS) });

describe('a project of which nothing is open', () => {
  test('is polled without a read of the table, and its list is read all the same', async () => {
    const { pollAfter, takeReads, takeCalls } = await aQuietProject();
    expect(await pollAfter(5 * SECOND_MS)).toMatchObject({ outcome: 'complete', recordedCount: 0 });

    expect(takeReads()).toEqual([]);
    expect(takeCalls()).toContain('list 5');
  });

  test('reports the project as it was stored, so that the account derives the same from the poll', async () => {
    const { pollAfter, stored } = await aQuietProject();
    const report = await pollAfter(5 * SECOND_MS);

    expect(report.project?.watermark).toBe(stored()?.['watermark']);
  });

  test('may have had no operation at all, and the first one is published all the same', async () => {
    const { script, put, pollAfter, takeReads, takeEvents } = watched();
    put({});
    for (let count = 0; count < 3; count++) await pollAfter(5 * SECOND_MS);
    takeReads();
    await pollAfter(5 * SECOND_MS);
    expect(takeReads()).toEqual([]);
    script.rows = [started('first')];
    await pollAfter(5 * SECOND_MS);

    expect(takeEvents()).toMatchObject([{ operation_id: 'first', previous_status: null }]);
  });

  test('publishes a new operation with the poll that shows it', async () => {
    const { script, pollAfter, takeEvents } = await aQuietProject();
    script.rows = [started('new'), ...script.rows];
    await pollAfter(5 * SECOND_MS);

    expect(takeEvents()).toMatchObject([{ operation_id: 'new', status: 'running', previous_status: null }]);
  });

  test('names the command of a new operation, although the command came after the last read of the table', async () => {
    const { script, store, pollAfter, takeEvents } = await aQuietProject();
    await store.record({ ...commandRecord(PROJECT_ID, 'request-1'), operation_ids: ['new'] }, undefined);
    script.rows = [started('new'), ...script.rows];
    await pollAfter(5 * SECOND_MS);

    expect(takeEvents()).toMatchObject([{ operation_id: 'new', command: { request_id: 'request-1' } }]);
  });

  test('settles a command whose operation it shows for the first time when it has ended', async () => {
    const { script, store, pollAfter, takeEvents } = await aQuietProject();
    await store.record({ ...commandRecord(PROJECT_ID, 'request-1'), operation_ids: ['new'] }, undefined);
    script.rows = [started('new', 'finished'), ...script.rows];
    await pollAfter(5 * SECOND_MS);

    expect(takeEvents()).toContainEqual(expect.objectContaining({ type: 'Command Settled' }));
  });

  test('publishes that a settled operation runs again', async () => {
    const { script, pollAfter, takeEvents } = await aQuietProject();
    const [newest, ...others] = script.rows;
    script.rows = [{ ...anOperation(newest), status: 'running' }, ...others];
    await pollAfter(2 * MINUTE_MS);

    expect(takeEvents()).toMatchObject([{ operation_id: newest?.id, previous_status: 'finished' }]);
  });
});

describe('a project in which an operation has failed and waits for its retry', () => {
  const failed = { ...started('failing', 'failed'), failures_count: 1 };

  async function aWaitingProject() {
    const project = await aQuietProject();
    project.script.rows = [failed, ...project.script.rows];
    for (let count = 0; count < 4; count++) await project.pollAfter(5 * SECOND_MS);
    project.takeReads();
    project.takeEvents();
    project.takeCalls();
    return project;
  }

  test('is polled without a read of the table', async () => {
    const { pollAfter, takeReads, takeCalls } = await aWaitingProject();
    await pollAfter(5 * SECOND_MS);

    expect(takeReads()).toEqual([]);
    expect(takeCalls()).toContain('list 5');
  });

  test('publishes the retry once, and in its place', async () => {
    const { script, pollAfter, takeEvents } = await aWaitingProject();
    script.rows = [{ ...failed, status: 'running' }, ...script.rows.slice(1)];
    for (let count = 0; count < 3; count++) await pollAfter(5 * SECOND_MS);

    expect(takeEvents()).toMatchObject([{ sequence: 2, previous_status: 'failed', status: 'running' }]);
  });

  test('publishes nothing twice when another process has recorded the retry already', async () => {
    const { script, store, pollAfter, takeEvents } = await aWaitingProject();
    const { records } = await store.readOperations(PROJECT_ID, ['failing']);
    const before = records.get('failing');
    const retried = { ...failed, status: 'running' };
    const nowMs = NOON_MS + MINUTE_MS;
    const context = {
      account_id: store.accountId,
      nowMs,
      requestedMs: nowMs,
      observed_by: 'poll',
    } as const;
    const next = before && decideNextRecord(before, retried, context);
    if (next === undefined) throw new Error('The retry is no transition');
    await store.record(next, before?.revision);
    script.rows = [{ ...retried, status: 'finished' }, ...script.rows.slice(1)];
    for (let count = 0; count < 4; count++) await pollAfter(5 * SECOND_MS);

    expect(takeEvents()).toMatchObject([
      { sequence: 2, previous_status: 'failed', status: 'running' },
      { sequence: 3, previous_status: 'running', status: 'finished' },
    ]);
  });

  test('reads the operation by itself when the list does not show it', async () => {
    const { script, pollAfter, takeEvents } = await aWaitingProject();
    script.rows = script.rows.slice(1);
    script.hidden = [{ ...failed, status: 'finished' }];
    await pollAfter(QUIET_MS_MAX);

    expect(takeEvents()).toMatchObject([{ operation_id: 'failing', status: 'finished' }]);
  });
});

describe('the table is read again', () => {
  test('after an operation was recorded, until the operation has ended and is published', async () => {
    const { script, pollAfter, takeReads } = await aQuietProject();
    script.rows = [started('new'), ...script.rows];
    await pollAfter(5 * SECOND_MS);
    script.rows = script.rows.filter(({ id }) => id !== 'new');
    script.hidden = [started('new')];
    for (let count = 0; count < 3; count++) {
      takeReads();
      await pollAfter(5 * SECOND_MS);
      expect(takeReads()).toContain('project');
    }
  });

  test('once another process has left work for the project', async () => {
    const { memory, pollAfter, takeReads } = await aQuietProject();
    mustReadStore(memory());
    await pollAfter(5 * SECOND_MS);

    expect(takeReads()).toEqual(['project', 'work']);
  });

  test('even if that work came while a poll was under way', async () => {
    const { memory, script, deps, pollAfter, takeReads } = await aQuietProject();
    const { upstream } = deps;
    const listOperations = upstream.listOperations.bind(upstream);
    deps.upstream.listOperations = (...args) => {
      mustReadStore(memory());
      return listOperations(...args);
    };
    await pollAfter(5 * SECOND_MS);
    deps.upstream.listOperations = listOperations;
    expect(takeReads()).toEqual([]);
    expect(script.rows).toHaveLength(4);
    await pollAfter(5 * SECOND_MS);

    expect(takeReads()).toEqual(['project', 'work']);
  });

  test('while nothing says what is history in the project', async () => {
    const { put, pass, poll, takeReads } = watched();
    put({});
    for (let count = 0; count < 3; count++) await poll();
    takeReads();
    pass(5 * SECOND_MS);

    await expect(poll({ bootAt: undefined })).rejects.toThrow(UnreadableItemError);
    expect(takeReads()).toEqual(['project', 'work']);
  });

  test('after some minutes, whatever has been noticed', async () => {
    const { pollAfter, takeReads } = await aQuietProject();
    const pollCount = QUIET_MS_MAX / (30 * SECOND_MS);
    for (let count = 0; count < pollCount; count++) await pollAfter(30 * SECOND_MS);

    expect(takeReads()).toEqual(['project', 'work']);
  });

  test('after a poll that the upstream did not answer', async () => {
    const { script, pollAfter, takeReads } = await aQuietProject();
    script.fails = () => 'unavailable';
    await pollAfter(5 * SECOND_MS);
    script.fails = () => undefined;
    expect(takeReads()).toEqual([]);
    await pollAfter(5 * SECOND_MS);

    expect(takeReads()).toEqual(['project', 'work']);
  });

  test('after a poll that could not end, because the table did not answer', async () => {
    const { script, store, deps, pollAfter, takeReads } = await aQuietProject();
    const readCommands = store.readCommands.bind(store);
    script.rows = [started('new'), ...script.rows];
    deps.store.readCommands = () => Promise.reject(new Error('the answer of the table was lost'));
    await expect(pollAfter(5 * SECOND_MS)).rejects.toThrow('lost');
    deps.store.readCommands = readCommands;
    takeReads();
    await pollAfter(5 * SECOND_MS);

    expect(takeReads()).toContain('project');
  });

  test('at each poll of a project that is polled seldom, which is not kept in memory', async () => {
    const { memory, pollAfter, takeReads } = watched();
    for (let count = 0; count < 3; count++) await pollAfter(2 * QUIET_MS_MAX);

    expect(takeReads()).toHaveLength(6);
    expect(memory().quiet).toBeUndefined();
  });
});
