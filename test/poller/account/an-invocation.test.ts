/** Tests what one invocation reports and measures. Alarms read it. */

import { describe, expect, test } from 'vitest';
import { pollAccount } from '../../../functions/poller/account/poll-account.ts';
import { createTally } from '../../../functions/poller/account/status/publish-status.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { anOperation } from '../../builders.ts';
import { anAccount, PROJECT_ID } from '../account-under-test.ts';
import { anInvocation } from './invocation-under-test.ts';

const MINUTE_MS = 60_000;
type Account = ReturnType<typeof anAccount>;

const measured = ({ measures }: Account, name: string) =>
  measures.filter(({ metric }) => metric === name).map(({ value }) => value);
const logged = ({ logs }: Account, name: string) => logs.filter(({ event }) => event === name);

describe('an invocation', () => {
  test('measures the age of the oldest reading, and how many projects it has polled', async () => {
    const account = anAccount();
    await account.poll(20_000);

    expect(measured(account, 'WalkAgeMs')).toHaveLength(1);
    expect(measured(account, 'WalkAgeMs')[0]).toBeLessThan(10_000);
    expect(measured(account, 'ProjectsPolled')[0]).toBeGreaterThanOrEqual(3);
    expect(measured(account, 'WalksCompleted').length).toBe(measured(account, 'ProjectsPolled')[0]);
  });

  test('measures an age that grows while nothing can be read', async () => {
    const account = anAccount();
    await account.poll(20_000);
    account.script.fails = () => 'unavailable';
    await account.poll(MINUTE_MS);
    await account.poll(MINUTE_MS);

    expect(measured(account, 'WalkAgeMs').at(-1)).toBeGreaterThan(110_000);
  });

  test('measures an age of zero where there is nothing to read, so that the alarm knows that it lives', async () => {
    const account = anAccount();
    account.script.projectIds = [];
    await account.poll(20_000);

    expect(measured(account, 'WalkAgeMs')).toEqual([0]);
  });

  test('measures the share of its requests that the upstream refused for their rate', async () => {
    const account = anAccount();
    const { telemetry, tally } = createTally(silentTelemetry);
    Object.assign(account.deps(), { status: { ...account.deps().status, tally } });
    telemetry.measure('UpstreamRequests', 30);
    telemetry.measure('UpstreamThrottled', 12);
    await account.poll(20_000);
    await account.poll(20_000);

    expect(measured(account, 'UpstreamThrottledPercent')).toEqual([40]);
  });

  test('measures a refused key each time, so that the alarm stays on, and logs it once', async () => {
    const account = anAccount();
    await account.poll(20_000);
    expect(measured(account, 'KeyRejected')).toEqual([]);
    account.script.fails = () => 'unauthorized';
    await account.poll(MINUTE_MS);
    await account.poll(MINUTE_MS);

    expect(measured(account, 'KeyRejected')).toEqual([1, 1]);
    expect(logged(account, 'key.rejected')).toHaveLength(1);
  });

  test('measures what it has published, and says once that a project was read', async () => {
    const account = anAccount();
    account.script.operations = [anOperation({ created_at: '2026-01-15T12:00:01Z' })];
    await account.poll(20_000);

    const publishedCount = account.events().length;
    expect(publishedCount).toBeGreaterThan(0);
    expect(measured(account, 'EventsPublished').reduce((sum, count) => sum + count, 0)).toBe(publishedCount);
    expect(logged(account, 'project.read')).toMatchObject([{ level: 'info', project_id: PROJECT_ID }]);
  });

  test('says why a poll could not be finished, and that it failed only after a programming error', async () => {
    const account = anAccount();
    await account.poll(10_000);
    account.script.fails = ({ name }) => (name === 'operations' ? 'unavailable' : undefined);
    await account.poll(20_000);

    expect(logged(account, 'poll.interrupted')[0]).toMatchObject({ level: 'warn', reason: 'unavailable' });
    expect(logged(account, 'poll.failed')).toEqual([]);
  });

  test('logs a programming error with its name and goes on with the next poll', async () => {
    const account = anAccount();
    await account.poll(10_000);
    const { upstream } = account.deps();
    const listOperations = upstream.listOperations.bind(upstream);
    let count = 0;
    Object.assign(upstream, {
      listOperations: (...args: Parameters<typeof listOperations>) => {
        count += 1;
        if (count === 1) throw new TypeError('undefined is not a function');
        return listOperations(...args);
      },
    });
    await account.poll(20_000);

    expect(logged(account, 'poll.failed')).toMatchObject([
      { level: 'error', reason: 'TypeError', detail: 'undefined is not a function' },
    ]);
    expect(count).toBeGreaterThan(2);
  });

  test('says nothing of polls that its end cancels', async () => {
    const account = anAccount();
    await account.poll(10_000);
    account.script.fails = ({ name }) => (name === 'operations' ? 'cancelled' : undefined);
    await account.poll(20_000);

    expect([...logged(account, 'poll.interrupted'), ...logged(account, 'poll.failed')]).toEqual([]);
    expect(account.memory().health.failingSinceMs).toBeUndefined();
  });

  test('that finds the lease held reports that, and polls nothing', async () => {
    const { accountDeps: deps, memory, logs, listCalls, sleeps } = anInvocation();
    Object.assign(deps.lease, { acquire: async () => false });
    const report = await pollAccount(deps, memory, { signal: new AbortController().signal, leaseMs: 1 });

    expect(report).toEqual({ outcome: 'lease_held', pollCount: 0, recordedCount: 0, publishedCount: 0 });
    expect(logs).toEqual([{ level: 'info', event: 'lease.held', account_id: 'main' }]);
    expect([listCalls, sleeps.reduce((sum, slept) => sum + slept, 0)]).toEqual([[], 5_000]);
  });

  test('that has to stop does not wait for a lease', async () => {
    const { accountDeps: deps, memory, sleeps } = anInvocation();
    Object.assign(deps.lease, { acquire: async () => false });

    await pollAccount(deps, memory, { signal: AbortSignal.abort(), leaseMs: 1 });

    expect(sleeps).toEqual([]);
  });
});
