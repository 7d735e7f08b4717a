import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../shared/runtime/random.ts';
import { aSlowAccount } from './slow-account.ts';

const REQUESTS_PER_MINUTE = 350;
const USUAL = {
  seed: 1,
  projectCount: 60,
  operationCount: 300,
  tableMs: 25,
  busMs: 25,
  requestsPerMinute: REQUESTS_PER_MINUTE,
};

/** Counts the polls of the same account in the same time when nothing is left unpublished. */
async function usualPollCount(minutes: number): Promise<number> {
  const account = aSlowAccount({ ...USUAL, minutes });
  await account.run(minutes);
  return account.counts.pollCount;
}

describe('a backlog that an outage of the bus left behind', () => {
  test('drains at 50 events a second or more, while polling keeps four fifths of its usual rate', {
    timeout: 120_000,
  }, async () => {
    const minutes = 2;
    const account = aSlowAccount({ ...USUAL, minutes });
    await account.leaveUnsent(20_000);
    await account.run(minutes);

    expect(20_000 - account.unsentCount()).toBeGreaterThanOrEqual(minutes * 60 * 50);
    const usualCount = await usualPollCount(minutes);
    expect(usualCount).toBeGreaterThanOrEqual(0.8 * REQUESTS_PER_MINUTE * minutes);
    expect(account.counts.pollCount).toBeGreaterThanOrEqual(0.8 * usualCount);
    expect(account.counts.killedCount).toBe(0);
    expect(account.copyCount()).toBe(0);
  });

  test('drains though the bus never takes the events of the project that comes first', async () => {
    const minutes = 2;
    const account = aSlowAccount({ ...USUAL, projectCount: 3, minutes });
    await account.leaveUnsent(1_500);
    const first = account.model.projectIds[0] ?? '';
    const accept = account.bus.outcomeOf;
    account.bus.outcomeOf = (event) =>
      event.detail.includes(first) ? { kind: 'retry', code: 'InternalFailure' } : accept(event);
    await account.run(minutes);
    const left = account.table.sync.items().filter(({ pk }) => pk.endsWith(first)).length;

    expect(account.unsentCount()).toBeLessThanOrEqual(left);
    expect(account.counts.takenCount).toBeGreaterThanOrEqual(1_000);
    expect(account.copyCount()).toBe(0);
  });

  test('is published again for at most forty entries after a kill at any moment', async () => {
    const random = seededRandom(5);
    for (let round = 0; round < 10; round++) {
      const account = aSlowAccount({ ...USUAL, projectCount: 3, operationCount: 0, minutes: 2 });
      await account.leaveUnsent(600);
      await account.killAfter(130 + random.next() * 250);
      await account.run(1);

      expect(account.unsentCount()).toBe(0);
      expect(account.copyCount()).toBeLessThanOrEqual(40);
    }
  });

  test('leaves the bus alone while it takes nothing, and drains soon after it is back', async () => {
    const account = aSlowAccount({ ...USUAL, projectCount: 3, operationCount: 0, minutes: 3 });
    await account.leaveUnsent(2_000);
    const accept = account.bus.outcomeOf;
    let askedCount = 0;
    account.bus.outcomeOf = () => {
      askedCount += 1;
      return { kind: 'retry', code: 'ThrottlingException' };
    };
    await account.run(1);
    account.bus.outcomeOf = accept;
    await account.run(1);

    expect(askedCount).toBeLessThanOrEqual(500);
    expect(account.counts.logged.filter(({ event }) => event === 'relay.backed_off')).toHaveLength(1);
    expect(account.unsentCount()).toBe(0);
  });
});
