/** A row without a usable time is counted and passed over, and holds up nothing else of its project. */

import { expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { aBridge, MINUTE_MS } from './bridge.ts';
import { anOperationRow, PROJECT_ID } from './rows.ts';
import type { Row } from './service.ts';

const random = seededRandom(50);

const TIMES = ['', ' ', 'yesterday', '0000-00-00T00:00:00Z', '2026-01-15', null, 17, undefined];

test.each(TIMES)('a row with the time %j holds up no other row', async (time) => {
  const bridge = aBridge();
  const { service } = bridge;
  service.addProject(PROJECT_ID);
  await bridge.run(MINUTE_MS);
  const bad = {
    ...anOperationRow(99, bridge.nowMs()),
    created_at: time as string,
    updated_at: time as string,
  };
  const rows: Row[] = [];
  for (let number = 1; number <= 6; number++) {
    rows.push(anOperationRow(number, bridge.nowMs() - 2_000, { status: 'error' }));
    const others = rows.toReversed();
    const place = Math.floor(random.next() * (others.length + 1));
    const operations = others.toSpliced(place, 0, bad);
    for (const row of rows) service.put(row);
    service.dials.answers = ({ path }) =>
      path.endsWith('/operations') ? { status: 200, body: { operations } } : undefined;
    const before = service.sent.length;
    await bridge.run(MINUTE_MS);
    // Two polls of a project are five seconds apart, and each needs one page.
    const asked = service.sent.slice(before).filter(({ path }) => path.includes('/operations'));
    expect(asked.length).toBeLessThanOrEqual(MINUTE_MS / 5_000 + 1);
  }
  expect(bridge.brokenPromises()).toEqual([]);
  expect(bridge.events().filter(({ detail }) => detail.operation_id === bad.id)).toEqual([]);
  expect(bridge.measured.get('MalformedRows')).toContain(1);
});
