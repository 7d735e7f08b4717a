/** Tests what is noted of history in a list that is not newest first, before a complete walk of it. */

import { describe, expect, test } from 'vitest';
import type { Backfill } from '../../../../shared/core/records/operation-record.ts';
import { aProject, BOOT_AT, DAY_MS, endedRows } from '../project-under-test.ts';

async function readInParts(backfill: Backfill): Promise<readonly string[]> {
  const { script, poll, stored } = aProject({ backfill });
  script.pageRowsMax = 2;
  script.rows = endedRows(12, { newestMs: Date.parse(BOOT_AT) - DAY_MS }).toReversed();
  await poll();
  const noted = stored()?.['recorded_above'] ?? {};
  return Object.keys(noted).toSorted();
}

describe('history in an unordered list whose walk is cut short', () => {
  test('is noted where it is published: the table may forget it before the walk goes on', async () => {
    expect(await readInParts('all')).toEqual(['row-10', 'row-11', 'row-6', 'row-7', 'row-8', 'row-9']);
  });

  test('is not noted where it is never published', async () => {
    expect(await readInParts('open')).toEqual([]);
  });
});
