/** A process dies before or after each of its calls, one run for each, and the next process finishes its work. */

import { expect, test } from 'vitest';
import { aBridge, type Bridge, type Kill, MINUTE_MS } from './bridge.ts';
import { anOperationRow, PROJECT_ID, timeOf } from './rows.ts';

/** An operation is seen in three states within these calls. */
const CALL_COUNT = 150;

async function runOneOperation(kill?: Kill): Promise<Bridge> {
  const bridge = aBridge();
  const { service } = bridge;
  service.addProject(PROJECT_ID);
  await bridge.run(MINUTE_MS);
  if (kill !== undefined) bridge.killAt(kill);
  const row = anOperationRow(1, bridge.nowMs() + 10_000);
  const change = (afterMs: number, status: string) =>
    bridge.at(afterMs, () => service.put({ ...row, status, updated_at: timeOf(bridge.nowMs()) }));
  change(10_000, 'scheduling');
  change(18_000, 'running');
  change(27_000, 'finished');
  await bridge.run(3 * MINUTE_MS);
  return bridge;
}

test('an operation that begins and ends is told from its first state to its last', async () => {
  const bridge = await runOneOperation();
  expect(bridge.brokenPromises()).toEqual([]);
  const statuses = bridge.events('Operation State Changed').map(({ detail }) => detail['status']);
  expect(statuses).toEqual(['scheduling', 'running', 'finished']);
  expect(bridge.callCount()).toBeGreaterThan(CALL_COUNT);
});

test.each(['before', 'after'] as const)(
  'a process that dies %s any of its calls loses no state',
  async (when) => {
    for (let call = 1; call <= CALL_COUNT; call++) {
      const bridge = await runOneOperation({ call, when });
      expect(bridge.brokenPromises(), `killed ${when} call ${call}`).toEqual([]);
      expect(workLeft(bridge), `killed ${when} call ${call}`).toEqual([]);
    }
  },
);

/** Returns the records of operations that the work index still shows. */
function workLeft({ table }: Bridge): readonly string[] {
  return table.sync
    .items()
    .flatMap(({ sk, work }) => (work !== undefined && sk.startsWith('OP') ? [sk] : []));
}
