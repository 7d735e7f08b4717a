/** Tests what is read from an item: one record for each reader, with what a newer version has written. */

import { expect, test } from 'vitest';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { operationKey } from '../../shared/store/keys.ts';
import { parseRecord } from '../../shared/store/parse-record.ts';
import { anOperation, aRecord, NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

test('two readers of one item have equal records, and neither has the record of the other', async () => {
  const table = createMemoryTable();
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  await createBridgeStore(table, 'main', clock, () => {}).record(aRecord(), undefined);
  const { project_id, id } = anOperation();
  const item = table.sync.peek(operationKey('main', project_id, id));
  if (item === undefined) throw new Error('The operation is not in the table');
  const [first, second, third] = [parseRecord(item), parseRecord(item), parseRecord(item)];
  expect(first.record?.kind).toBe('operation');
  expect(second).toEqual(first);
  expect(second.record).not.toBe(first.record);
  expect(third.record).not.toBe(second.record);
});
