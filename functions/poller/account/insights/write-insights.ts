/** Writes what operations took into the table while an invocation runs, whenever enough of it waits or has waited long. */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { PendingSamples, SampleGroup } from './pending-samples.ts';
import { type WriteSamplesDeps, writeSamples } from './write-samples.ts';

export interface InsightsPort extends WriteSamplesDeps {
  readonly pending: PendingSamples;
}

export interface InsightsDeps {
  readonly insights: InsightsPort;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly signal: AbortSignal;
}

/** It costs nothing to look whether an item is due, and insights need not be newer than this. */
const LOOK_MS = 10_000;

/** It looks at once, because a warm process may have kept samples of its previous invocation. */
export async function writeInsightsRepeatedly(deps: InsightsDeps): Promise<void> {
  const { clock, signal } = deps;
  while (!signal.aborted) {
    await writeDueInsights(deps);
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}

/** Stops between two items when the signal comes, and keeps the rest for the next invocation. */
async function writeDueInsights({ insights, telemetry, signal }: InsightsDeps): Promise<void> {
  const { pending } = insights;
  for (const group of pending.takeDue()) {
    if (signal.aborted) pending.putBack(group);
    else await writeGroup(insights, telemetry, group);
  }
  const droppedCount = pending.takeDroppedCount();
  if (droppedCount > 0)
    telemetry.log('warn', 'insights.samples_dropped', { sample_count: droppedCount, reason: 'too_many' });
}

async function writeGroup(insights: InsightsPort, telemetry: Telemetry, group: SampleGroup): Promise<void> {
  const outcome = await writeSamples(insights, group);
  if (outcome.kind === 'waiting') {
    insights.pending.putBack(group);
    telemetry.log('warn', 'insights.not_written', { project_id: group.projectId, day: group.day });
  }
  if (outcome.kind === 'lost') logDropped(telemetry, group, group.samples.length, 'write_unknown');
  if (outcome.kind === 'written' && outcome.leftOutCount > 0)
    logDropped(telemetry, group, outcome.leftOutCount, 'too_many_actions');
}

function logDropped(
  telemetry: Telemetry,
  { projectId, day }: SampleGroup,
  sampleCount: number,
  reason: string,
): void {
  telemetry.log('warn', 'insights.samples_dropped', {
    project_id: projectId,
    day,
    sample_count: sampleCount,
    reason,
  });
}
