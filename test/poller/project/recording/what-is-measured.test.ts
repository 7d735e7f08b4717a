import { describe, expect, test } from 'vitest';
import { accountKey } from '../../../../shared/store/keys.ts';
import { isUnreadable, UnreadableItemError } from '../../../../shared/store/unreadable.ts';
import { anOperation, NOON_MS } from '../../../builders.ts';
import { aProject, atMs, DAY_MS, endedRows, HOUR_MS, MINUTE_MS } from '../project-under-test.ts';

const row = (id: string, ageMs: number, fields: Parameters<typeof anOperation>[0] = {}) =>
  anOperation({ id, created_at: atMs(NOON_MS - ageMs), updated_at: atMs(NOON_MS - ageMs), ...fields });

describe('the delay from a change to its event', () => {
  const delays = ({ measures }: ReturnType<typeof aProject>) =>
    measures.filter(([metric]) => metric === 'DetectionDelayMs').map(([, value]) => value);

  test("is measured by the upstream's own time of the change", async () => {
    const project = aProject();
    const { script, poll } = project;
    script.rows = [row('known', HOUR_MS / 2, { status: 'finished' })];
    await poll();
    expect(delays(project)).toEqual([]);
    script.rows = [row('new', 7_000), ...script.rows];
    await poll();

    expect(delays(project)).toEqual([7_000]);
  });

  test('is never below nothing, and not measured of a time that cannot be read', async () => {
    const project = aProject();
    const { script, poll } = project;
    script.rows = [row('known', HOUR_MS / 2, { status: 'finished' })];
    await poll();
    script.rows = [row('early', -60_000), ...script.rows];
    await poll();
    script.rows = [row('untimed', 1_000, { updated_at: 'soon' }), ...script.rows];
    await poll();

    expect(delays(project)).toEqual([0]);
  });

  test('is not that of a first walk, of history or of what became visible late: no poll could have been faster', async () => {
    const project = aProject({ sweepIntervalMs: 0 });
    const { script, poll, measures } = project;
    script.rows = [row('first', 1_000)];
    await poll();
    script.rows = [
      ...script.rows,
      row('late', 20 * MINUTE_MS, { status: 'finished' }),
      row('history', 2 * HOUR_MS),
    ];
    await poll();

    expect(delays(project)).toEqual([]);
    expect(measures.filter(([metric]) => metric === 'LateOperations')).toEqual([['LateOperations', 1]]);
  });

  test('counts no operation as late that was not', async () => {
    const { script, poll, measures } = aProject();
    script.rows = [row('a', 1_000)];
    await poll();

    expect(measures.map(([metric]) => metric)).not.toContain('LateOperations');
  });
});

describe('what is published', () => {
  test('is handed to the measuring of delays entry by entry, except by the first walk of a project', async () => {
    const { script, poll, deps } = aProject();
    const published: unknown[] = [];
    Object.assign(deps, { onPublished: ({ type }: { readonly type: string }) => published.push(type) });
    script.rows = [row('first', 1_000)];
    await poll();
    expect(published).toEqual([]);
    script.rows = [row('new', 1_000), ...script.rows];
    await poll();

    expect(published).toEqual(['state_changed']);
  });
});

describe('an operation of which it is unknown whether it is recorded', () => {
  test('leaves its page unread, and is recorded by the next poll', async () => {
    const { script, poll, deps, stored, events } = aProject();
    script.rows = [row('a', 1_000)];
    const record = deps.store.record.bind(deps.store);
    deps.store.record = async (next, expected) =>
      next.kind === 'operation' ? 'conflict' : record(next, expected);
    expect(await poll()).toMatchObject({ outcome: 'interrupted', failure: undefined, recordedCount: 0 });
    expect(stored()).toBeUndefined();
    deps.store.record = record;

    expect(await poll()).toMatchObject({ outcome: 'complete', recordedCount: 1 });
    expect(events).toHaveLength(1);
  });

  test('that is late by as much as a walk reads again is not late', async () => {
    const { script, poll, events } = aProject({ sweepIntervalMs: 0 });
    script.rows = [row('head', 0, { status: 'finished' })];
    await poll();
    script.rows = [...script.rows, row('edge', 5 * MINUTE_MS, { status: 'finished' })];
    await poll();

    expect(events.at(-1)).toMatchObject({ operation_id: 'edge' });
    expect(events.at(-1)).not.toHaveProperty('late');
  });
});

describe('a project whose account cannot be read', () => {
  test('names what is missing', async () => {
    const { poll } = aProject();
    const error = await poll({ bootAt: undefined }).catch((thrown: unknown) => thrown);

    expect(isUnreadable(error) && error.item).toEqual({ key: accountKey('main'), fields: ['boot_at'] });
    expect(error).toBeInstanceOf(UnreadableItemError);
  });

  test('takes nothing for history that its own record does not call so', async () => {
    const { script, poll, put, events } = aProject();
    put({ watermark: '2026-01-15T11:30:00.000000000Z' });
    script.rows = [row('old', 28 * MINUTE_MS, { status: 'finished' })];
    await poll({ bootAt: undefined });

    expect(events).toMatchObject([{ operation_id: 'old', observed_by: 'poll' }]);
  });
});

describe('a sweep', () => {
  test('does not follow a walk that has come to its page limit', async () => {
    const { script, poll, pass, stored, put, takeCalls } = aProject({ sweepIntervalMs: DAY_MS });
    put({ watermark: '2026-01-15T11:00:00.000000000Z', swept_at_ms: 0 });
    script.rows = endedRows(100, { newestMs: NOON_MS });
    pass(DAY_MS);
    expect(await poll()).toMatchObject({ outcome: 'interrupted' });

    expect(takeCalls()).toHaveLength(4);
    expect(stored()).not.toHaveProperty('sweep');
  });

  test('does not follow a walk of an unordered list', async () => {
    const { script, poll, put, stored } = aProject({ sweepIntervalMs: DAY_MS });
    put({ watermark: '2026-01-15T11:00:00.000000000Z', is_unordered: true });
    script.rows = endedRows(3, { newestMs: NOON_MS }).toReversed();
    await poll();

    expect(stored()).not.toHaveProperty('sweep_count');
  });

  test('takes the pages that the walk has left, so that a poll has no more than its pages', async () => {
    const { script, poll, put, pass, takeCalls } = aProject({ sweepIntervalMs: DAY_MS });
    script.rows = endedRows(100, { newestMs: NOON_MS - MINUTE_MS, stepMs: MINUTE_MS });
    put({ watermark: '2026-01-15T11:59:00.000000000Z', swept_at_ms: 0 });
    pass(2 * DAY_MS);
    await poll();

    expect(takeCalls()).toHaveLength(4);
  });

  test('does not follow in a project that was never read', async () => {
    const { script, poll, takeCalls } = aProject({ sweepIntervalMs: 0 });
    script.rows = endedRows(2, { newestMs: NOON_MS });
    await poll();

    expect(takeCalls()).toEqual(['list 5', 'list row-1 10']);
  });
});
