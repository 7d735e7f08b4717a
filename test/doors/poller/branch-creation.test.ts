/** A creation of a branch is told wherever the ends of pages stand between its operations. */

import { expect, test } from 'vitest';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { aBridge, MINUTE_MS } from './bridge.ts';
import { anOperationRow, PROJECT_ID, timeOf } from './rows.ts';

const random = seededRandom(42);
/** A first page has this many rows. */
const FIRST_PAGE_ROWS = 100;
const BRANCH_ID = 'br-new-branch-b1234567';

const DRAWS = ['failed', 'error', 'cancelled'].flatMap((status) =>
  [FIRST_PAGE_ROWS - 1, FIRST_PAGE_ROWS, FIRST_PAGE_ROWS + Math.floor(random.next() * 300)].map(
    (newerRowCount) => ({ status, newerRowCount }),
  ),
);

test.each(DRAWS)(
  'a creation whose compute ends as $status is told when $newerRowCount rows are newer',
  async ({ status, newerRowCount }) => {
    const bridge = aBridge();
    const { service } = bridge;
    service.addProject(PROJECT_ID);
    service.put(anOperationRow(0, bridge.nowMs() - 10 * MINUTE_MS));
    await bridge.run(MINUTE_MS);
    await bridge.rest(10 * MINUTE_MS);
    const createdMs = bridge.nowMs() - 5 * MINUTE_MS;
    const create = anOperationRow(1, createdMs, {
      action: 'create_branch',
      branch_id: BRANCH_ID,
      endpoint_id: undefined,
      status: 'finished',
    });
    const start = anOperationRow(2, createdMs + 1_000, { branch_id: BRANCH_ID });
    const newer = (index: number) =>
      anOperationRow(3 + index, createdMs + 2_000 + index * 500, {
        branch_id: `br-other-branch-${index}`,
        endpoint_id: undefined,
        action: 'check_availability',
        status: 'finished',
      });
    for (const row of [create, start]) service.put(row);
    for (let index = 0; index < newerRowCount; index++) service.put(newer(index));
    await bridge.run(MINUTE_MS);
    const failures_count = status === 'failed' ? 1 : 0;
    service.put({ ...start, status, failures_count, updated_at: timeOf(bridge.nowMs()) });
    await bridge.run(3 * MINUTE_MS);
    expect(bridge.brokenPromises()).toEqual([]);
    // A failed operation may be retried, so its branch has not failed yet.
    const told = bridge.events('Branch Failed').map(({ detail }) => detail['branch_id']);
    expect(told).toEqual(status === 'failed' ? [] : [BRANCH_ID]);
  },
);
