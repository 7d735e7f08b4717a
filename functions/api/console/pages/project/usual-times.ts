/** Shows how long operations usually take: in a line on the page of an operation, in a table on that of a project. */

import { html } from 'hono/html';
import type { DayInsights } from '../../../../../shared/insights/day-insights.ts';
import { insightsOf, usualDurationOf } from '../../../../../shared/insights/usual-duration.ts';
import { INSIGHT_DAYS } from '../../../../../shared/insights/utc-day.ts';
import type { Html } from '../../html/markup.ts';
import { duration } from '../../html/time/durations.ts';
import type { Visitor } from '../../session/visitor.ts';

/** Holds what is known of the last days. That of the account is empty for a visitor who is limited to projects. */
export interface EndedDays {
  readonly ofProject: readonly DayInsights[];
  readonly ofAccount: readonly DayInsights[];
}

export async function readEndedDays(
  { caller, model }: Pick<Visitor, 'caller' | 'model'>,
  projectId: string,
): Promise<EndedDays> {
  const [ofProject, ofAccount] = await Promise.all([
    model.endedDays(projectId),
    caller.projectIds === undefined ? model.endedDays() : [],
  ]);
  return { ofProject, ofAccount };
}

/** Returns undefined when too few operations of the action have ended. */
export function usualWords(action: string, { ofProject, ofAccount }: EndedDays): string | undefined {
  const usual = usualDurationOf(action, ofProject, ofAccount);
  if (usual === undefined) return undefined;
  const place = usual.basis === 'project' ? 'this project' : 'the account';
  return `${duration(usual.p50_ms)}, and 99 of 100 end within ${duration(usual.p99_ms)} (${usual.operation_count} operations of ${place} in ${INSIGHT_DAYS} days)`;
}

/** Returns nothing when too few operations of each action have ended in the project. */
export function usualTable({ ofProject }: EndedDays): Html | '' {
  const insights = insightsOf(ofProject);
  if (insights.length === 0) return '';
  return html`<h2>How long it usually takes</h2>
<table class="stack"><thead><tr><th>Action</th><th>Half end within</th><th>95 of 100</th><th>99 of 100</th><th>Attempts, 99 of 100</th><th>Operations in ${INSIGHT_DAYS} days</th></tr></thead>
<tbody>${insights.map(
    ({ action, durationMs, attempts }) =>
      html`<tr><td>${action}</td><td data-label="Half within">${duration(durationMs.p50)}</td><td data-label="95 of 100">${duration(durationMs.p95)}</td><td data-label="99 of 100">${duration(durationMs.p99)}</td><td data-label="Attempts">${attempts.p99}</td><td data-label="Operations">${durationMs.count}</td></tr>`,
  )}</tbody></table>`;
}
