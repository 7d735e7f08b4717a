/** Tests what is read from an item: one record for each reader, with what a newer version has written. */

import { expect, test } from 'vitest';
import { createBridgeStore } from '../../shared/store/adapters/bridge-store.ts';
import { branchKey, operationKey } from '../../shared/store/keys.ts';
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

test('a branch keeps what a newer version has remembered of its creation, so that it is not lost with the next write', () => {
  const { pk, sk } = branchKey('main', 'pond-1', 'br-1');
  const creation = {
    action: 'create_branch',
    failures_count: 0,
    updated_at: '2026-01-15T12:00:00Z',
    tomorrow: 1,
  };
  const { record } = parseRecord({
    pk,
    sk,
    kind: 'branch',
    revision: 1,
    published: 1,
    entries: [],
    account_id: 'main',
    project_id: 'pond-1',
    branch_id: 'br-1',
    readiness: 'pending',
    created_by: 'create',
    began_at: '2026-01-15T12:00:00Z',
    operation_ids: ['create', 'start'],
    creation,
  });
  expect(record).toMatchObject({ kind: 'branch', creation });
});
