/** What one request has shown is published while the next request waits for its permit. */

import { expect, test } from 'vitest';
import { aBridge, MINUTE_MS, SECOND_MS } from './bridge.ts';
import { anOperationRow, PROJECT_ID } from './rows.ts';

/** At this rate two requests are some seven seconds apart. */
const SLOW = { requests_per_minute: 10, command_requests_per_minute: 0 };

test('the events of a page do not wait for the permit of the next page', async () => {
  const bridge = aBridge({ settings: SLOW });
  const { service } = bridge;
  service.addProject(PROJECT_ID);
  await bridge.run(5 * MINUTE_MS);
  service.dials.pageRowsMax = 2;
  const createdMs = bridge.nowMs();
  for (let number = 1; number <= 6; number++)
    service.put(anOperationRow(number, createdMs - number * SECOND_MS, { status: 'finished' }));
  await bridge.run(2 * MINUTE_MS);
  const pages = service.sent.filter(({ path, atMs }) => path.endsWith('/operations') && atMs > createdMs);
  const events = bridge.events('Operation State Changed');
  const toldMs = (number: number) =>
    events.find(({ detail }) => detail.operation_id?.endsWith(`${number}`))?.atMs;
  expect(events).toHaveLength(6);
  expect(toldMs(1)).toBeLessThan(pages[1]?.atMs ?? 0);
});

test('the events of a page do not wait for the permit of an operation that no page shows', async () => {
  const bridge = aBridge({ settings: SLOW });
  const { service } = bridge;
  service.addProject(PROJECT_ID);
  await bridge.run(2 * MINUTE_MS);
  const unseen = [1, 2, 3].map((number) => anOperationRow(number, bridge.nowMs() - SECOND_MS));
  for (const row of unseen) service.put(row);
  await bridge.run(2 * MINUTE_MS);
  for (const row of unseen) service.remove(row.id);
  service.dials.answers = ({ path }) => {
    const row = unseen.find(({ id }) => path.endsWith(id));
    return row && { status: 200, body: { operation: row } };
  };
  service.put(anOperationRow(4, bridge.nowMs(), { status: 'finished' }));
  const before = service.sent.length;
  await bridge.run(2 * MINUTE_MS);
  const reading = service.sent.slice(before).find(({ path }) => /operations\/./u.test(path));
  const [told] = bridge
    .events('Operation State Changed')
    .filter(({ detail }) => detail.operation_id?.endsWith('4'));
  expect(told?.atMs).toBeLessThan(reading?.atMs ?? 0);
});
