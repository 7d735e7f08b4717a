/** Shows what a project, or an account, has used in its billing period: shares of limits, an estimate, and compute hours by day. */

import { html } from 'hono/html';
import type { Usage } from '../../../../shared/records/usage.ts';
import { type UsageView, usageView } from '../../bridge/usage-routes.ts';
import { barChart } from '../html/charts.ts';
import { facts, type Html } from '../html/markup.ts';
import { type PageTime, time, timeAndAge, timeAndRest } from '../html/times.ts';

type Limit = UsageView['limits'][number];

const METRIC_NAMES = { active_time_seconds: 'Active time', compute_time_seconds: 'Compute time' } as const;

/** Without anything that is kept, the section is missing. */
export function usageSection(
  usage: Usage | undefined,
  unitHourPrice: number | undefined,
  at: PageTime,
): Html | '' {
  if (usage === undefined) return '';
  const view = usageView(usage, unitHourPrice);
  const isOver = Date.parse(view.resets_at) <= at.nowMs;
  return html`<h2>Usage</h2>
${view.limits.map(limitNotice)}
${facts([
  ['Compute time', hours(view.compute_time_seconds)],
  ['Active time', hours(view.active_time_seconds)],
  [
    'Estimate of the compute time',
    view.estimated_price === undefined
      ? undefined
      : `${view.estimated_price.toFixed(2)}, at ${unitHourPrice} an hour of a unit`,
  ],
  isOver
    ? ['The period ended', time(view.resets_at, at)]
    : ['The period ends', timeAndRest(view.resets_at, at)],
  ['Read', timeAndAge(view.read_at, at)],
])}
${chart(view)}`;
}

/** A limit is worth a line when a threshold of it was reached, and a warning when it is used up. */
function limitNotice({ metric, limit, limit_from, percent, told_percent }: Limit): Html | '' {
  if (told_percent === undefined) return '';
  const of = limit_from === 'quota' ? 'the quota' : 'the limit of the configuration';
  return html`<p class="notice${percent >= 100 ? ' bad' : ''}">${METRIC_NAMES[metric]}: ${percent} % of ${of} (${hours(limit)}) is used.</p>`;
}

function hours(seconds: number | undefined): string | undefined {
  if (seconds === undefined) return undefined;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 360) / 10} h`;
}

/** Returns a day as people write it, such as `26 Nov`. */
function dayWords(day: string): string {
  return new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(
    Date.parse(day),
  );
}

function chart({ compute_hours_by_day: days }: UsageView): Html | '' {
  if (!days.some((each) => each.hours > 0)) return '';
  const bars = days.map((each) => ({ label: dayWords(each.day), value: each.hours }));
  return html`<div class="charts">${barChart({ id: 'compute-hours', title: 'Compute hours a day', unit: 'hours', tone: 'accent', step: 'day', bars })}</div>`;
}
