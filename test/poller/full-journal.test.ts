import { expect, test } from 'vitest';
import { PENDING_ENTRIES_MAX } from '../../shared/records/journal.ts';
import { anOperation } from '../builders.ts';
import { anAccount } from './account-under-test.ts';

const MINUTE_MS = 60_000;

/** DynamoDB takes no larger item than this, in bytes. No item of ours may come near it. */
const ITEM_BYTES_MAX = 400_000;

test('an operation that fails for days while the bus takes nothing stays within its item, and its chain has no gap', {
  timeout: 60_000,
}, async () => {
  const { script, poll, events, deps, table } = anAccount();
  const flaky = anOperation({
    id: 'flaky',
    created_at: '2026-01-15T12:00:01Z',
    // This is the longest text that is kept, of the widest characters.
    error: '\u{ffff}'.repeat(500),
  });
  script.operations = [{ ...flaky, status: 'running' }];
  await poll(10_000);
  const { bus } = deps();
  const publish = bus.publish.bind(bus);
  bus.publish = async (sent) => sent.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
  for (let failures = 1; failures <= 150; failures++) {
    script.operations = [{ ...flaky, status: 'failed', failures_count: failures }];
    await poll(7_000);
  }
  const item = table.sync.items().find(({ sk }) => sk === 'OP#flaky');

  expect(Number(item?.['revision']) - Number(item?.['published'])).toBe(PENDING_ENTRIES_MAX);
  expect(Buffer.byteLength(JSON.stringify(item))).toBeLessThan(ITEM_BYTES_MAX / 2);

  bus.publish = publish;
  await poll(MINUTE_MS);
  script.operations = [{ ...flaky, status: 'finished', failures_count: 150 }];
  await poll(MINUTE_MS);
  const chain = new Map(
    events()
      .filter(({ type }) => type === 'Operation State Changed')
      .map((event) => [Number(event['sequence']), event]),
  );

  expect([...chain.keys()].toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: chain.size }, (_, place) => place + 1),
  );
  expect(chain.get(chain.size)).toMatchObject({ status: 'finished', failures_count: 150 });
  const failures = [...chain.values()].reduce((sum, event) => sum + Number(event['new_failures']), 0);
  expect(failures).toBe(150);
});
