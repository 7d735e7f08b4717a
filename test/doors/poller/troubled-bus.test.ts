import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import type { Fault, ScriptedCall } from '../scripted-aws.ts';
import { type PollerOnAws, startPoller } from './poller-on-aws.ts';

const MINUTE_MS = 60_000;

const isOfBus = ({ action }: ScriptedCall) => action === 'events:PutEvents';

/** Runs one invocation a minute, as the schedule does. */
async function runMinutes(poller: PollerOnAws, minutes: number): Promise<void> {
  const handler = poller.coldStart();
  for (let minute = 0; minute < minutes; minute++) {
    const tookMs = await poller.invoke(handler);
    if (tookMs < MINUTE_MS) await poller.time.pass(MINUTE_MS - tookMs);
  }
}

function copiesOf(poller: PollerOnAws): { readonly deliveries: number; readonly distinct: number } {
  const ids = poller.delivered.map(({ detail }) => detail['id']);
  return { deliveries: ids.length, distinct: new Set(ids).size };
}

/** The sequences of each operation must be without a gap. */
function areChainsWhole(poller: PollerOnAws): boolean {
  const states = poller.delivered.filter((event) => event['detail-type'] === 'Operation State Changed');
  const chains = Map.groupBy(states, ({ detail }) => String(detail['operation_id']));
  return [...chains.values()].every((chain) => {
    const sequences = new Set(chain.map(({ detail }) => Number(detail['sequence'])));
    return Math.max(...sequences) === sequences.size;
  });
}

const OPTIONS = { projectCount: 3, sessionsPerHour: 150 };

describe('a bus that takes events', () => {
  test.each([80, 81])('seconds late gets hardly an event twice (seed %i)', async (seed) => {
    const random = seededRandom(seed);
    const poller = await startPoller({ seed, ...OPTIONS });
    poller.script = (call) =>
      isOfBus(call) ? { kind: 'late', afterMs: 5_100 + random.next() * 9_000 } : undefined;

    await runMinutes(poller, 2);
    await poller.time.pass(20_000);

    const { deliveries, distinct } = copiesOf(poller);
    expect(distinct).toBeGreaterThan(10);
    // The end of an invocation leaves behind what the bus has not answered.
    expect(deliveries - distinct).toBeLessThan(0.25 * distinct);
  });

  test('later than anybody waits for gets few copies, and is asked less and less often', async () => {
    const poller = await startPoller({ seed: 82, ...OPTIONS });
    let isSlow = true;
    poller.script = (call) => (isOfBus(call) && isSlow ? { kind: 'late', afterMs: 25_000 } : undefined);

    await runMinutes(poller, 3);
    const callCount = poller.calls.filter(isOfBus).length;
    await poller.time.pass(30_000);
    const { deliveries, distinct } = copiesOf(poller);
    isSlow = false;
    await runMinutes(poller, 2);

    expect(distinct).toBeGreaterThan(5);
    expect(deliveries).toBeLessThan(3 * distinct);
    expect(callCount).toBeLessThan(25);
    expect(areChainsWhole(poller)).toBe(true);
    expect(poller.delivered.length).toBeGreaterThan(deliveries);
  });
});

describe('a bus that refuses', () => {
  const entriesOf = ({ body }: ScriptedCall) => body['Entries'] as readonly unknown[];
  const eachEntry = (ErrorCode: string): Fault => ({
    kind: 'answer',
    answer: (body) => {
      const Entries = (body['Entries'] as readonly unknown[]).map(() => ({ ErrorCode, ErrorMessage: 'no' }));
      return { FailedEntryCount: Entries.length, Entries };
    },
  });

  test.each<[string, Fault]>([
    ['each entry by its policy', eachEntry('NotAuthorizedForSourceException')],
    ['the whole call by its policy', { kind: 'refuse', code: 'AccessDeniedException' }],
    ['each entry because it is overloaded', eachEntry('ThrottlingException')],
    ['the whole call because it is overloaded', { kind: 'refuse', code: 'ThrottlingException', status: 400 }],
  ])(
    '%s loses no event: it is asked less and less often, at last once a minute, and nothing is parked',
    async (_, fault) => {
      const poller = await startPoller({ seed: 83, ...OPTIONS });
      let isRefusing = true;
      poller.script = (call) => (isOfBus(call) && isRefusing ? fault : undefined);
      await runMinutes(poller, 3);
      const asked = poller.calls.filter((call) => isOfBus(call) && entriesOf(call).length > 0).length;
      isRefusing = false;
      await runMinutes(poller, 2);

      // The calls that were under way together at the first refusal, and those after the pauses.
      expect(asked).toBeLessThan(15);
      expect(poller.lines.filter(({ message }) => message === 'event.parked')).toEqual([]);
      expect(poller.delivered.length).toBeGreaterThan(50);
      expect(areChainsWhole(poller)).toBe(true);
    },
  );
});
