import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import type { ScriptedCall } from '../scripted-aws.ts';
import { startPoller, TIMEOUT_MS } from './poller-on-aws.ts';

const HANG = { kind: 'hang' } as const;

const ofTable = ({ action }: ScriptedCall) => action.startsWith('dynamodb:');

/** Calls whose key or key condition names this partition. */
const of =
  (partition: string) =>
  (call: ScriptedCall): boolean =>
    ofTable(call) && JSON.stringify(call.body).includes(`"${partition}`);

/** The waits of a lane, by what they wait for. A hang begins at this second of the invocation, and more. */
const WAITS = [
  { name: 'the nudges', hangs: of('LANES#NUDGES'), fromS: 45 },
  { name: 'the accounts that were added', hangs: of('ACCOUNTS#'), fromS: 40 },
  { name: 'the records of the account', hangs: of('A#'), fromS: 45 },
  { name: 'the whole table', hangs: ofTable, fromS: 45 },
  { name: 'the whole table from the start', hangs: ofTable, fromS: 0 },
];

describe('a lane whose table hangs', () => {
  test.each(WAITS.map((wait, seed) => ({ ...wait, seed })))(
    'ends before its time-out when $name cannot be read (seed $seed), and polls on with the next invocation',
    async ({ hangs, fromS, seed }) => {
      const random = seededRandom(seed);
      const poller = await startPoller({ seed, sessionsPerHour: 20 });
      const handler = poller.coldStart();
      const hangFromMs = poller.time.now() + fromS * 1_000 + (fromS === 0 ? 0 : random.next() * 14_000);
      poller.script = (call) => (poller.time.now() >= hangFromMs && hangs(call) ? HANG : undefined);

      expect(await poller.invoke(handler)).toBeLessThan(TIMEOUT_MS - 100);

      poller.script = () => undefined;
      const before = poller.requests.get('main') ?? 0;
      expect(await poller.invoke(handler, 25_000)).toBeLessThan(25_000);
      expect(poller.requests.get('main')).toBeGreaterThan(before + 10);
    },
  );
});
