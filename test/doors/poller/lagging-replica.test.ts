/** An upstream that answers from replicas that lag makes the bridge tell no state that never was, and lose none for good. */

import { expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { aBridge, type Bridge, MINUTE_MS } from './bridge.ts';
import { anOperationRow, PROJECT_ID, timeOf } from './rows.ts';

/** The longest lag of a replica that the bridge sees through. */
const LAG_MS_MAX = MINUTE_MS;

const LIVES = [
  ['scheduling 0', 'running 0', 'finished 0'],
  ['running 0', 'failed 1', 'scheduling 1', 'running 1', 'failed 2', 'running 2', 'finished 2'],
  ['running 0', 'error 1'],
  ['scheduling 0', 'running 0', 'cancelling 0', 'cancelled 0'],
  ['running 0', 'cancelling 0', 'a_status_of_tomorrow 0', 'another_of_tomorrow 0', 'cancelled 0'],
];

const DRAWS = LIVES.flatMap((life) =>
  ['both replicas', 'the list alone', 'a single operation alone'].flatMap((lagging) =>
    [1, 2, 3, 4].map((draw) => ({ life, lagging, draw, seed: life.length * 10 + draw })),
  ),
);

function stateOf(text: string): { readonly status: string; readonly failures_count: number } {
  const [status = '', count = ''] = text.split(' ');
  return { status, failures_count: Number(count) };
}

/** Returns the states of all operations as they were told, in their order. */
function toldStates(bridge: Bridge): readonly string[] {
  const changes = bridge.events('Operation State Changed');
  return changes.map(({ detail }) => `${detail.status} ${String(detail['failures_count'])}`);
}

function isPartOf(told: readonly string[], life: readonly string[]): boolean {
  let place = -1;
  return told.every((state) => {
    place = life.indexOf(state, place + 1);
    return place >= 0;
  });
}

test.each(DRAWS)(
  'the life $life is told as it was while $lagging lag ($draw)',
  async ({ life, lagging, seed }) => {
    const random = seededRandom(seed);
    const between = (low: number, high: number) => low + Math.floor(random.next() * (high - low));
    const bridge = aBridge();
    const { service } = bridge;
    service.addProject(PROJECT_ID);
    await bridge.run(MINUTE_MS);
    const createdMs = bridge.nowMs();
    const hasStuckTime = random.next() < 0.3;
    let atMs = 0;
    for (const state of life) {
      const show = () => {
        const updatedMs = hasStuckTime ? createdMs : bridge.nowMs();
        service.put(anOperationRow(1, createdMs, { ...stateOf(state), updated_at: timeOf(updatedMs) }));
      };
      bridge.at(atMs, show);
      atMs += between(1_000, 40_000);
    }
    // Each of these times the requests that follow are answered by another replica.
    for (let flipMs = 0; flipMs < atMs + 2 * LAG_MS_MAX; flipMs += between(1_000, 12_000)) {
      const lagMs = random.next() < 0.5 ? 0 : between(1_000, LAG_MS_MAX - 1_000);
      bridge.at(flipMs, () => {
        if (lagging !== 'a single operation alone') service.dials.listLagMs = lagMs;
        if (lagging !== 'the list alone') service.dials.getLagMs = lagMs;
      });
    }
    await bridge.run(atMs + 4 * LAG_MS_MAX);
    expect(bridge.brokenPromises()).toEqual([]);
    expect(isPartOf(toldStates(bridge), life), toldStates(bridge).join(', ')).toBe(true);
  },
);

test.each([
  ['finished 0', 'running 0'],
  ['failed 2', 'failed 1'],
  ['running 0', 'failed 0'],
])('an operation that truly goes from %s to %s is told within two minutes', async (from, to) => {
  for (let seed = 1; seed <= 3; seed++) {
    const bridge = aBridge();
    const { service } = bridge;
    service.addProject(PROJECT_ID);
    await bridge.run(MINUTE_MS);
    const row = anOperationRow(1, bridge.nowMs());
    service.put({ ...row, ...stateOf(from) });
    await bridge.run(Math.floor(seededRandom(seed).next() * MINUTE_MS));
    service.put({ ...row, ...stateOf(to), updated_at: timeOf(bridge.nowMs()) });
    await bridge.run(2 * MINUTE_MS);
    expect(toldStates(bridge)).toEqual([from, to]);
    expect(bridge.brokenPromises()).toEqual([]);
  }
});
