import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { startPoller } from './poller-on-aws.ts';

const ACCOUNTS = ['apple', 'birch', 'hot', 'maple'].map((account_id) => ({ account_id }));
const HOT = 'A#hot';

describe('a lane of which one key is throttled', () => {
  test.each([11, 12])(
    'fails only the account that asked for it, waits between attempts, and polls that account again later (seed %i)',
    async (seed) => {
      const random = seededRandom(seed);
      const poller = await startPoller({ seed, accounts: ACCOUNTS, sessionsPerHour: 20 });
      const hotFromMs = poller.time.now() + random.next() * 2_000;
      const hotUntilMs = hotFromMs + 15_000 + random.next() * 20_000;
      const attemptsAt: number[] = [];
      const isHot = () => poller.time.now() >= hotFromMs && poller.time.now() < hotUntilMs;
      poller.script = ({ action, body }) => {
        if (action !== 'dynamodb:BatchGetItem' || !isHot()) return undefined;
        if (JSON.stringify(body).includes(HOT)) attemptsAt.push(poller.time.now());
        return { kind: 'unread', isUnread: ({ pk }) => pk.S.startsWith(HOT) };
      };
      const handler = poller.coldStart();
      await poller.invoke(handler);
      poller.script = () => undefined;
      await poller.invoke(handler, 40_000);

      const failed = poller.lines.filter(({ detail }) => String(detail).includes('unread'));
      expect(new Set(failed.map(({ account_id }) => account_id))).toEqual(
        new Set(failed.length > 0 ? ['hot'] : []),
      );
      const sent = (id: string) => poller.requests.get(id) ?? 0;
      for (const { account_id } of ACCOUNTS.filter((each) => each.account_id !== 'hot'))
        expect(sent(account_id)).toBeGreaterThan(60);
      expect(sent('hot')).toBeGreaterThan(20);
      expect(attemptsAt.length).toBeGreaterThan(3);
      // Attempts that come together are those of different reads.
      expect(attemptsAt.length).toBeLessThan(200);
      expect(new Set(attemptsAt).size).toBeGreaterThan(0.7 * attemptsAt.length);
    },
  );
});
