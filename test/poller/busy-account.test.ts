/**
 * Runs the whole poller on virtual time, where more is urgent than the rate limit allows: quiet projects are read all
 * the same.
 */

import { describe, expect, test } from 'vitest';
import { createPollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { anOperation, commandRecord } from '../builders.ts';
import { anAccount } from './account-under-test.ts';

const REQUESTS_PER_MINUTE = 350;
const MINUTE_MS = 60_000;
/** A small account is capped at a minute. A burst and the first listing cost a few permits of it. */
const SECONDS_MAX = 63;
const projectIds = Array.from({ length: 60 }, (_, place) => `quiet-field-${10_000_000 + place}`);
const busyIds = projectIds.filter((_, place) => place % 3 === 0);

/** Sets up an account whose every third project always has an operation that has just begun, under a real rate limit. */
function aBusyAccount() {
  const account = anAccount();
  const { script, nowMs, table } = account;
  script.projectIds = [...projectIds];
  // A process that reads a project with operations leaves the next one a history of it.
  const settled = projectIds.map((id) => anOperation({ id, project_id: id, status: 'finished' }));
  const running = () => busyIds.map((id) => runningIn(id, nowMs()));
  Object.defineProperty(script, 'operations', { get: () => [...running(), ...settled] });
  limitRate();
  return { ...account, limitRate };

  function limitRate(): void {
    const deps = account.deps();
    const { clock } = deps;
    const { accountId } = deps.store;
    const store = createBridgeStore(table.as('poller'), accountId, clock);
    Object.assign(deps, {
      // The index of the table shows at once what the API has written.
      store: { ...store, acquireLease: async () => true, releaseLease: async () => {} },
      planner: createPollPlanner({
        requestsPerMinute: REQUESTS_PER_MINUTE,
        pollIntervalMsMin: 500,
        failureBackoffMsMax: 5 * MINUTE_MS,
        listing: { usualIntervalMs: MINUTE_MS, hintIntervalMsMin: undefined },
      }),
      budget: createRequestBudget({
        clock,
        requestsPerMinute: REQUESTS_PER_MINUTE,
        burst: 6,
        startsEmpty: true,
      }),
      limits: { ...deps.limits, workIntervalMs: 1_000 },
    });
  }
}

/** Returns a row that has always just begun, so that a transition of it is expected at any moment. */
function runningIn(projectId: string, nowMs: number) {
  const created_at = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  return anOperation({ id: `${projectId}-open`, project_id: projectId, created_at, status: 'running' });
}

const readIds = (calls: readonly string[]) =>
  new Set(calls.flatMap((call) => /^operations (\S+)$/.exec(call)?.[1] ?? []));

const unreadIds = (calls: readonly string[]) => projectIds.filter((id) => !readIds(calls).has(id));

describe('while every third project is always busy', () => {
  test('a process after a kill reads every project within half a minute, as the one before it did', async () => {
    const { poll, calls, restart, limitRate } = aBusyAccount();
    await poll(MINUTE_MS);
    expect(unreadIds(calls)).toEqual([]);
    restart();
    limitRate();
    calls.length = 0;
    await poll(30_000);

    expect(unreadIds(calls)).toEqual([]);
  });

  test('and eight wishes and two commands come every second: every project is read every minute', async () => {
    const { begin, pass, calls, table, deps } = aBusyAccount();
    const api = createBridgeStore(table.as('api'), deps().store.accountId, deps().clock);
    let turn = 0;
    const nextBusy = () => busyIds[turn++ % busyIds.length] ?? '';
    begin(6 * MINUTE_MS);
    await pass(MINUTE_MS / 2);
    for (let minute = 0; minute < 5; minute++) {
      calls.length = 0;
      for (let second = 0; second < SECONDS_MAX; second++) {
        for (let count = 0; count < 8; count++) void api.wishForReading(nextBusy(), 0);
        for (let count = 0; count < 2; count++)
          void api.record(commandRecord(nextBusy(), `request-${minute}-${second}-${count}`), undefined);
        await pass(1_000);
      }
      expect(unreadIds(calls)).toEqual([]);
    }
  });
});
