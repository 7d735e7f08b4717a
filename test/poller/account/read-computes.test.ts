import { expect, test } from 'vitest';
import { readComputes } from '../../../functions/poller/account/worker.ts';
import type { PollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import { takenPermit } from '../../../shared/upstream/request-budget.ts';
import type { UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import { UpstreamError, type UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { aClock, only } from '../../builders.ts';

const RUNNING = [{ id: 'ep-1', lastActiveMs: 1, suspendAfterMs: 300_000 }];

async function read(answer: () => Promise<typeof RUNNING>) {
  const reports: unknown[] = [];
  const asked: unknown[] = [];
  const permit = takenPermit();
  const deps = {
    upstream: only<UpstreamClient>({
      listRunningComputes: (query: object, options?: object) => {
        asked.push(query, options);
        return answer();
      },
    }),
    planner: only<PollPlanner>({ reportComputes: (...report) => void reports.push(report) }),
    clock: aClock(() => 7),
    signal: new AbortController().signal,
  };
  const outcome = await readComputes(only(deps), 'p0', permit).then(
    () => 'read',
    () => 'failed',
  );
  return { reports, asked, outcome, permit, signal: deps.signal };
}

const failing = (kind: UpstreamErrorKind) => async () => {
  throw new UpstreamError({ kind, method: 'GET', path: '/', message: kind });
};

test('the running computes are reported to the planner, and the request leaves with the permit of the turn', async () => {
  const { reports, asked, outcome, permit, signal } = await read(async () => RUNNING);
  expect(outcome).toBe('read');
  expect(reports).toEqual([['p0', RUNNING, 7]]);
  expect(asked).toEqual([{ projectId: 'p0' }, { signal, permit }]);
});

test('a failure says that the list is unreadable, and fails nothing', async () => {
  for (const kind of ['not_found', 'unauthorized', 'unavailable'] as const) {
    const { reports, outcome } = await read(failing(kind));
    expect([outcome, reports]).toEqual(['read', [['p0', 'unreadable', 7]]]);
  }
});

test('the end of the invocation cuts a reading short, which says nothing of the list', async () => {
  const { reports, outcome } = await read(failing('cancelled'));
  expect([outcome, reports]).toEqual(['read', [['p0', 'cut_short', 7]]]);
});

test('a failure that is not of the upstream fails the reading, and the turn ends all the same', async () => {
  const { reports, outcome } = await read(async () => {
    throw new Error('the secret cannot be read');
  });
  expect([outcome, reports]).toEqual(['failed', [['p0', 'unreadable', 7]]]);
});
