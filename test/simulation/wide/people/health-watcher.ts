/**
 * Looks at the account's health as the API decides it, from five minutes into the calm on. It reads the table at once
 * and draws nothing, so a look changes no run.
 */

import { decideHealth } from '../../../../functions/api/bridge/health-routes.ts';
import { createOpenWork } from '../../../../functions/api/read-model/account-activity.ts';
import { readAccountStatus } from '../../../../shared/store/account-status-store.ts';
import { createUnreadableNotes } from '../../../../shared/store/unreadable.ts';
import type { Process } from '../../scheduler.ts';
import { MINUTE_MS } from '../plan.ts';
import { ACCOUNT_ID, type Stage } from '../stage.ts';
import { calmEndMs, LEFT_ALONE_MS } from '../timeline.ts';

export async function watchHealth(stage: Stage): Promise<void> {
  const { world, timeline, tableSide, healthSeen } = stage;
  const { scheduler } = world;
  const process: Process = { name: 'watcher', isCrashed: false, clockSkewMs: 0, crashKind: 'never' };
  const table = tableSide.table.as('api');
  const noteUnreadable = createUnreadableNotes(stage.ear.telemetryOf(process.name));
  const work = createOpenWork(table, ACCOUNT_ID, noteUnreadable);
  const endMs = calmEndMs(timeline) - 1;
  await scheduler.delay(process, timeline.calm.fromMs + LEFT_ALONE_MS - scheduler.now());
  while (scheduler.now() <= endMs) {
    const [status, unpublished] = await Promise.all([
      readAccountStatus(table, ACCOUNT_ID, noteUnreadable),
      work.unpublished(),
    ]);
    const health = decideHealth({ status, unpublished, nowMs: scheduler.now() });
    healthSeen.push({ atMs: scheduler.now(), health });
    world.note(process.name, health.healthy ? 'healthy' : 'unhealthy', health.reasons.join(' '));
    if (scheduler.now() >= endMs) return;
    await scheduler.delay(process, Math.min(MINUTE_MS, endMs - scheduler.now()));
  }
}
