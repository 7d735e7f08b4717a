import { describe, expect, test } from 'vitest';
import { UnreadableKeyError } from '../../../functions/poller/account/account-key.ts';
import { surviveFailure } from '../../../functions/poller/account/status/publish-health.ts';
import { UpstreamError, type UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../../builders.ts';
import { anInvocation } from './invocation-under-test.ts';

async function failing(error: Error) {
  const world = anInvocation();
  await world.know();
  const { deps, memory } = world;
  const fail = () => surviveFailure(deps, memory.health, () => Promise.reject(error));
  return { ...world, fail };
}

const upstreamError = (kind: UpstreamErrorKind) =>
  new UpstreamError({ kind, method: 'GET', path: '/projects', message: `the upstream: ${kind}` });

describe('a task of the invocation', () => {
  test('that succeeds leaves no trace', async () => {
    const { deps, memory, logs } = anInvocation();
    let count = 0;
    await surviveFailure(deps, memory.health, async () => {
      count += 1;
    });

    expect([count, logs, memory.health.failingSinceMs]).toEqual([1, [], undefined]);
  });

  test('that fails at the upstream is logged, and the account fails since the first such failure', async () => {
    const { fail, logs, memory, pass } = await failing(upstreamError('unavailable'));
    await fail();
    pass(1_000);
    await fail();

    expect(logs[0]).toEqual({
      level: 'error',
      event: 'poll.failed',
      account_id: 'main',
      reason: 'UpstreamError',
      detail: 'the upstream: unavailable',
      advice: expect.stringMatching(/check the upstream/),
    });
    expect(memory.health.failingSinceMs).toBe(NOON_MS);
  });

  test('that fails by a programming error is logged, and says nothing of the upstream', async () => {
    const { fail, logs, memory } = await failing(new TypeError('undefined is not a function'));
    await fail();

    expect(logs).toEqual([
      {
        level: 'error',
        event: 'poll.failed',
        account_id: 'main',
        reason: 'TypeError',
        detail: 'undefined is not a function',
        advice: expect.stringMatching(/fault of the bridge/),
      },
    ]);
    expect(memory.health.failingSinceMs).toBeUndefined();
  });

  test('whose key cannot be read counts as a failure, and the key itself reports it', async () => {
    const { fail, logs, memory } = await failing(new UnreadableKeyError('a-secret', new Error()));
    await fail();

    expect([logs, memory.health.failingSinceMs]).toEqual([[], NOON_MS]);
  });

  test('whose key is refused stops the account, which is published', async () => {
    const { fail, logs, memory, takeEvents } = await failing(upstreamError('unauthorized'));
    await fail();

    expect(memory.health).toMatchObject({ isKeyRejected: true, failingSinceMs: undefined });
    expect(takeEvents()).toEqual([['Account Degraded', 'key_rejected']]);
    expect(logs.map(({ event }) => event)).toEqual(['key.rejected']);
  });

  test('that the end of the invocation cancels has not failed', async () => {
    const { fail, logs, memory } = await failing(upstreamError('cancelled'));
    await fail();

    expect([logs, memory.health.failingSinceMs]).toEqual([[], undefined]);
  });
});
