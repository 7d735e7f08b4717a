/** A process that wakes up in the middle of a write does not put back where another process had gone on. */

import { expect, test } from 'vitest';
import { secondOf } from '../../../shared/records/time.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { projectKey } from '../../../shared/store/keys.ts';
import { aBridge, MINUTE_MS } from './bridge.ts';
import { anOperationRow, PROJECT_ID } from './rows.ts';

const KEY = projectKey('main', PROJECT_ID);

test.each([1, 2, 3])(
  'a walk that was cut short writes no resume point behind a newer watermark (%i)',
  async (seed) => {
    const random = seededRandom(seed);
    const bridge = aBridge();
    const { service, table, dials } = bridge;
    service.addProject(PROJECT_ID);
    service.put(anOperationRow(0, bridge.nowMs() - 10 * MINUTE_MS));
    await bridge.run(MINUTE_MS);
    await bridge.rest(20 * MINUTE_MS);
    // So many short pages take more than one poll.
    service.dials.pageRowsMax = 2;
    const rowCount = 60 + Math.floor(random.next() * 60);
    for (let number = 1; number <= rowCount; number++)
      service.put(anOperationRow(number, bridge.nowMs() - number * 5_000, { status: 'finished' }));
    const written: unknown[] = [];
    dials.table = (call, key) => {
      if (call !== 'update' || key?.sk !== KEY.sk || written.length > 0) return undefined;
      // While this write was frozen, another process has read everything.
      table.sync.update({ key: KEY, set: { watermark: secondOf(bridge.nowMs()) }, remove: ['resume'] });
      bridge.at(100, () => written.push(table.sync.peek(KEY)?.['resume'] ?? 'none'));
      written.push('awaited');
      return undefined;
    };
    await bridge.run(MINUTE_MS / 4);
    expect(written).toEqual(['awaited', 'none']);
  },
);
