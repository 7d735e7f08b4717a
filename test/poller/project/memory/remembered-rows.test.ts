/**
 * Tests what a process remembers of rows between polls. It saves reads of the table and requests, and must never hide
 * a change.
 */

import { describe, expect, test } from 'vitest';
import {
  JOINED_ROWS_MAX,
  joinSettledRows,
  settledRowsOf,
} from '../../../../functions/poller/project/memory/settled-rows.ts';
import { anOperation, NOON_MS } from '../../../builders.ts';
import { aProject, atMs, endedRows, MINUTE_MS } from '../project-under-test.ts';

/** Sets up a project, and counts how many records each of its polls asks the table for, beside those in the work index. */
function counted(fields: Parameters<typeof aProject>[0] = {}) {
  const project = aProject(fields);
  let asked: number[] = [];
  const readOperations = project.deps.store.readOperations.bind(project.deps.store);
  project.deps.store.readOperations = async (projectId, ids) => {
    if (ids.length > 0) asked.push(ids.length);
    return readOperations(projectId, ids);
  };
  const takeAsked = () => {
    const before = asked;
    asked = [];
    return before;
  };
  return { ...project, takeAsked };
}

describe('rows that have ended', () => {
  test('are asked for once by a new process, and by none of its later polls', async () => {
    const { script, poll, restart, takeAsked } = counted();
    script.rows = endedRows(4, { newestMs: NOON_MS - MINUTE_MS });
    await poll();
    restart();
    takeAsked();
    await poll();
    expect(takeAsked()).toEqual([4]);
    await poll();
    await poll();

    expect(takeAsked()).toEqual([]);
  });

  test('are remembered as well once they were seen to end', async () => {
    const { script, poll, takeAsked } = counted();
    script.rows = [anOperation({ id: 'a', created_at: atMs(NOON_MS - 1_000) })];
    await poll();
    script.rows = [anOperation({ id: 'a', created_at: atMs(NOON_MS - 1_000), status: 'finished' })];
    await poll();
    takeAsked();
    await poll();

    expect(takeAsked()).toEqual([]);
  });

  test('are asked for again while the bus has not taken their events', async () => {
    const { script, poll, restart, deps, takeAsked, store } = counted();
    script.rows = endedRows(2, { newestMs: NOON_MS - MINUTE_MS });
    deps.bus.publish = async (events) => events.map(() => ({ kind: 'retry', code: 'down' }) as never);
    await poll();
    restart();
    await poll();
    takeAsked();
    await poll();

    expect(takeAsked()).toEqual([2]);
    expect(await store.findWork()).toHaveLength(2);
  });

  test('of a walk that takes several polls are asked for by one of these polls, also those at its head', async () => {
    const { script, poll, deps } = aProject();
    const asked: (readonly string[])[] = [];
    const readOperations = deps.store.readOperations.bind(deps.store);
    deps.store.readOperations = async (projectId, ids) => {
      asked.push(ids);
      return readOperations(projectId, ids);
    };
    script.rows = endedRows(100, { newestMs: NOON_MS - MINUTE_MS });
    const byPoll: (readonly string[])[] = [];
    for (let outcome = 'interrupted'; outcome !== 'complete'; ) {
      ({ outcome } = await poll());
      byPoll.push([...new Set(asked.splice(0).flat())]);
    }

    expect(byPoll.length).toBeGreaterThan(2);
    expect(byPoll.flat()).toHaveLength(100);
  });

  test('that are out of reach of a complete walk are forgotten', async () => {
    const { script, poll, pass, memory } = counted();
    script.rows = endedRows(3, { newestMs: NOON_MS - MINUTE_MS });
    await poll();
    expect(memory().settled.prints).toHaveLength(3);
    pass(60 * MINUTE_MS);
    script.rows = endedRows(12, { newestMs: NOON_MS + 60 * MINUTE_MS, name: 'new' }).concat(script.rows);
    await poll();
    await poll();

    expect(memory().settled.prints.length).toBeLessThanOrEqual(12);
  });

  test('and that move again are seen at once', async () => {
    const { script, poll, pass, events } = counted();
    const row = anOperation({ id: 'a', created_at: atMs(NOON_MS - 1_000), status: 'finished' });
    script.rows = [row];
    await poll();
    await poll();
    pass(2 * MINUTE_MS);
    script.rows = [{ ...row, status: 'running' }];
    await poll();

    expect(events.map(({ status }) => status)).toEqual(['finished', 'running']);
  });

  test('are not remembered of operations that are open', async () => {
    const { script, poll, memory } = counted();
    script.rows = [anOperation({ id: 'a', created_at: atMs(NOON_MS - 1_000) })];
    await poll();

    expect(memory().settled.prints).toHaveLength(0);
    expect(memory().readAtMs.has('a')).toBe(true);
  });
});

describe('rows of several polls together', () => {
  const rows = (count: number, name: string) =>
    settledRowsOf(
      new Map(
        Array.from({ length: count }, (_, place) => [
          `${name}-${place}`,
          { status: 'finished', failures_count: 0 },
        ]),
      ),
    );
  const has = (all: ReturnType<typeof rows>, id: string) =>
    all.has(id, { status: 'finished', failures_count: 0 });

  test('are those of both', () => {
    const joined = joinSettledRows(rows(3, 'new'), rows(3, 'old'));

    expect(joined.prints).toHaveLength(6);
    expect(has(joined, 'new-2') && has(joined, 'old-2')).toBe(true);
    expect(joinSettledRows(joined, joined).prints).toHaveLength(6);
  });

  test('are those of the last poll alone once they are too many', () => {
    const full = joinSettledRows(rows(JOINED_ROWS_MAX - 10, 'new'), rows(10, 'old'));
    expect(full.prints).toHaveLength(JOINED_ROWS_MAX);
    const over = joinSettledRows(rows(JOINED_ROWS_MAX - 10, 'new'), rows(11, 'old'));

    expect(over.prints).toHaveLength(JOINED_ROWS_MAX - 10);
    expect([has(over, 'new-5'), has(over, 'old-5')]).toEqual([true, false]);
  });
});

describe('the first page of a list', () => {
  test('that is the whole list shows how often operations begin in a whole day', async () => {
    const { script, poll, pass } = counted();
    script.rows = endedRows(2, { newestMs: NOON_MS - 10 * MINUTE_MS });
    await poll();
    pass(60 * MINUTE_MS);
    await poll();
    const whole = await poll();
    script.rows = endedRows(8, { newestMs: NOON_MS - 10 * MINUTE_MS });
    const part = await poll();

    expect(whole.activity?.arrivalCount).toBe(2);
    expect(whole.activity?.observedMs).toBeGreaterThan(part.activity?.observedMs ?? Number.POSITIVE_INFINITY);
  });

  test('with fewer rows than were asked for shows how many rows a page of this list may hold', async () => {
    const { script, poll, memory } = counted();
    script.rows = endedRows(30, { newestMs: NOON_MS - MINUTE_MS });
    script.pageRowsMax = 3;
    await poll();
    expect(memory().pageRowsMax).toBe(3);
    script.malformedRowCount = 2;
    await poll();
    expect(memory().pageRowsMax).toBeUndefined();
    script.malformedRowCount = 1;
    await poll();

    expect(memory().pageRowsMax).toBe(4);
  });
});
