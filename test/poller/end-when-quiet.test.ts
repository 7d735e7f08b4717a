import { describe, expect, test } from 'vitest';
import { isNeeded } from '../../functions/poller/account/watch-for-work.ts';
import type { PollingNeed } from '../../functions/poller/planner/poll-planner.ts';
import { readAccountStatus } from '../../shared/store/account-status-store.ts';
import { anOperation } from '../builders.ts';
import { anAccount, PROJECT_ID } from './account-under-test.ts';

const MINUTE_MS = 60_000;
const OTHER = 'wild-river-87654321';
const atSecond = (second: number) => new Date(Date.UTC(2026, 0, 15, 12, 0, second)).toISOString();
/** Counts the pages at the head of the list: each poll of these short lists begins with one. */
const reads = (calls: readonly string[]) =>
  calls.filter((call) => call === `operations ${PROJECT_ID}`).length;

describe('an invocation that may end early', () => {
  test('ends once everything was read and nothing is open, and has written its status', async () => {
    const { poll, calls, table } = anAccount({ lingerMs: 0 });
    await poll(58_000);

    expect(reads(calls)).toBe(1);
    expect(await readAccountStatus(table, 'main')).toMatchObject({ project_count: 1 });
  });

  test('goes on while an operation is open, and ends after its end', async () => {
    const { begin, pass, calls, script, events } = anAccount({ lingerMs: 0 });
    script.operations = [anOperation({ created_at: atSecond(1), status: 'running' })];
    begin(58_000);
    await pass(20_000);
    const readsWhileOpen = reads(calls);
    script.operations = script.operations.map((row) => ({ ...row, status: 'finished' }));
    await pass(40_000);

    expect(readsWhileOpen).toBeGreaterThanOrEqual(4);
    expect(reads(calls) - readsWhileOpen).toBe(1);
    const states = events().filter(({ type }) => type === 'Operation State Changed');
    expect(states.map(({ status }) => status)).toEqual(['running', 'finished']);
  });

  test('is not kept alive by an operation that has been open for hours', async () => {
    const { poll, calls, script } = anAccount({ lingerMs: 0 });
    script.operations = [anOperation({ created_at: '2026-01-15T02:00:00Z', status: 'failed' })];
    await poll(58_000);

    expect(reads(calls)).toBe(1);
  });

  test('goes on for the configured time after it was last needed', async () => {
    const { poll, calls } = anAccount({ lingerMs: 20_000 });
    await poll(58_000);

    expect(reads(calls)).toBeGreaterThanOrEqual(4);
    expect(reads(calls)).toBeLessThanOrEqual(6);
  });

  test('does not end before the projects were listed', async () => {
    const { poll, calls, script } = anAccount({ lingerMs: 0 });
    script.fails = ({ name }) => (name === 'projects' ? 'unavailable' : undefined);
    await poll(30_000);

    expect(calls.length).toBeGreaterThanOrEqual(4);
  });

  test('does not end in the middle of a listing, so a deleted project is noticed', async () => {
    const account = anAccount({ lingerMs: 0 });
    account.script.projectIds.push(OTHER);
    const { upstream, clock } = account.deps();
    const { listProjects } = upstream;
    upstream.listProjects = async (query, options) => {
      await clock.sleep(2_000, options?.signal);
      return listProjects(query, options);
    };
    for (let minute = 0; minute < 3; minute++) await account.poll(58_000);
    account.script.projectIds = [PROJECT_ID];
    for (let minute = 0; minute < 10; minute++) await account.poll(58_000);

    const published = account.events().filter(({ type }) => type === 'Project Unreachable');
    expect(published.map(({ project_id }) => project_id)).toEqual([OTHER]);
  });

  test('is not kept alive by a project list that cannot be read once it was listed', async () => {
    const { poll, calls, script } = anAccount({ lingerMs: 0 });
    await poll(58_000);
    script.fails = ({ name }) => (name === 'projects' ? 'unavailable' : undefined);
    calls.length = 0;
    await poll(58_000);

    expect(reads(calls)).toBe(1);
  });

  test('is not kept alive by a project that cannot be read', async () => {
    const { poll, calls, script } = anAccount({ lingerMs: 0 });
    script.fails = ({ name }) => (name === 'operations' ? 'unavailable' : undefined);
    await poll(58_000);

    expect(reads(calls)).toBe(1);
  });
});

test.each<readonly [string, Partial<PollingNeed>, boolean]>([
  ['nothing', {}, false],
  ['a project that was not read yet', { hasReadAll: false }, true],
  ['work that waits', { hasWork: true }, true],
  ['less than one transition expected in a minute', { expectedTransitionsPerMs: 0.9 / MINUTE_MS }, false],
  ['more than one', { expectedTransitionsPerMs: 1.1 / MINUTE_MS }, true],
])('it is paid to go on for %s: %o is %s', (_why, need, expected) => {
  const none: PollingNeed = { hasReadAll: true, hasWork: false, expectedTransitionsPerMs: 0 };

  expect(isNeeded({ ...none, ...need })).toBe(expected);
});
