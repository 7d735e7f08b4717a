/** Reads the event feed as a consumer does, from the beginning to the end of the run. */

import { createEventFeed } from '../../../../functions/api/read-model/event-feed.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import { createUnreadableNotes } from '../../../../shared/store/unreadable.ts';
import type { Process } from '../../scheduler.ts';
import { createLateIndexes, createSlowTable } from '../cloud/table.ts';
import { ACCOUNT_ID, type Stage } from '../stage.ts';
import { phaseAt } from '../timeline.ts';

const PAGE_ITEMS = 20;

export async function readFeed(stage: Stage): Promise<void> {
  const { world, timeline, tableSide, fed, feedFailures, feedReadsMs } = stage;
  const { scheduler, random } = world;
  const process: Process = { name: 'consumer', isCrashed: false, clockSkewMs: 0, crashKind: 'never' };
  const table = createSlowTable(world, tableSide, { owner: process, role: 'api' });
  const feed = createEventFeed(table, createLateIndexes(world, tableSide, process), ACCOUNT_ID, {
    clock: scheduler.clockOf(process),
    noteUnreadable: createUnreadableNotes(stage.ear.telemetryOf(process.name)),
  });
  let cursor = feed.start('beginning');
  while (scheduler.now() < timeline.endMs) {
    try {
      const begunMs = scheduler.now();
      const page = await feed.since(cursor, PAGE_ITEMS);
      for (const event of page.events) fed.set(event.id, event.detail_type);
      feedReadsMs.push(begunMs);
      cursor = page.cursor;
      if (page.hasMore) continue;
    } catch (error) {
      const { name, message } = toError(error);
      feedFailures.push(`${name}: ${message}`);
    }
    const phase = phaseAt(timeline, scheduler.now());
    const isSparse = (phase?.toMs ?? 0) - (phase?.fromMs ?? 0) > 3_600_000;
    await scheduler.delay(undefined, isSparse ? 8 * 3_600_000 : 15_000 + random.next() * 30_000);
  }
}
