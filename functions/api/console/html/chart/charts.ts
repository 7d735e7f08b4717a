/** Draws charts of times as SVG on the server. They need no script, and a screen reader reads their titles. */

import { html } from 'hono/html';
import type { StatusPoint } from '../../../../../shared/core/records/account-status.ts';
import type { OperationRecord } from '../../../../../shared/core/records/operation-record.ts';
import { empty, type Html } from '../markup.ts';
import { operationPath } from '../paths.ts';
import { toneOf } from '../record/badge.ts';
import { duration } from '../time/durations.ts';
import { hourAndMinute, type PageTime } from '../time/times.ts';

const WIDTH = 960;
/** A phone shows the whole line of delays, so it is drawn narrower than the bars of operations. */
const DELAYS_WIDTH = 600;

const TWO_HOURS_MS = 7_200_000;

/** The axis of delays ends with the first of these that is not below the longest delay, in seconds. */
const AXIS_ENDS_SECONDS = [1, 2, 4, 10, 20, 30, 60, 120, 240, 600, 1_200, 1_800, 3_600, 7_200, 14_400];

export function delayChart(points: readonly StatusPoint[], { zone, nowMs }: PageTime): Html {
  const fromMs = nowMs - TWO_HOURS_MS;
  const seen = points.filter(({ at_ms, delay_p50_ms }) => at_ms > fromMs && delay_p50_ms !== undefined);
  if (seen.length < 2) return empty('Too few changes were seen yet to draw a line.');
  const [left, floor, top] = [70, 150, 12];
  const longest = Math.max(...seen.map(({ delay_p95_ms }) => delay_p95_ms ?? 0));
  const endMs = (AXIS_ENDS_SECONDS.find((seconds) => seconds * 1_000 >= longest) ?? 86_400) * 1_000;
  const x = (ms: number) => Math.round(left + ((ms - fromMs) / TWO_HOURS_MS) * (DELAYS_WIDTH - left));
  const y = (ms: number) => Math.round(floor - (Math.min(ms, endMs) / endMs) * (floor - top));
  const line = (of: 'delay_p50_ms' | 'delay_p95_ms') =>
    seen.map((point) => `${x(point.at_ms)},${y(point[of] ?? 0)}`).join(' ');
  return html`<svg class="delays" viewBox="0 0 ${DELAYS_WIDTH} 172" role="img" aria-label="Detection delay of the last two hours, at most ${duration(longest)}">
${[0, endMs / 2, endMs].map((ms) => html`<line class="axis" x1="${left}" y1="${y(ms)}" x2="${DELAYS_WIDTH}" y2="${y(ms)}"/><text x="${left - 6}" y="${y(ms) + 4}" text-anchor="end">${axisText(ms)}</text>`)}
${[0, 1, 2, 3, 4].map((part) => html`<text x="${x(fromMs + (part / 4) * TWO_HOURS_MS)}" y="${floor + 20}" text-anchor="${part === 4 ? 'end' : part === 0 ? 'start' : 'middle'}">${hourAndMinute(fromMs + (part / 4) * TWO_HOURS_MS, zone)}</text>`)}
<polyline class="p95" points="${line('delay_p95_ms')}"/><polyline class="p50" points="${line('delay_p50_ms')}"/></svg>
<figcaption>Line: half of the changes were seen within this time. Dashes: 95 of 100.</figcaption>`;
}

/** A number on an axis has no more digits than it needs. */
function axisText(ms: number): string {
  if (ms === 0) return '0';
  return ms < 60_000 ? `${ms / 1_000} s` : duration(ms);
}

const ROW = 22;
const LABEL = 170;

/** More bars than this are a pattern without a message. The table below has all operations. */
const BARS_MAX = 20;

/** Shows operations as bars from their creation to their end, the newest on top. */
export function timeline(
  accountId: string,
  records: readonly OperationRecord[],
  { zone, nowMs }: PageTime,
): Html {
  const bars = records.slice(0, BARS_MAX).map((record) => {
    const from = Date.parse(record.created_at);
    const to = isEnded(record) ? Date.parse(record.updated_at) : nowMs;
    return { record, from, to: Math.max(to, from) };
  });
  const start = Math.min(...bars.map(({ from }) => from));
  const end = Math.max(...bars.map(({ to }) => to), start + 1_000);
  const x = (ms: number) => LABEL + Math.round(((ms - start) / (end - start)) * (WIDTH - LABEL - 4));
  const floor = bars.length * ROW;
  const ticks = [0, 1, 2, 3, 4].map((part) => start + (part / 4) * (end - start));
  return html`<figure><figcaption>The latest ${bars.length} operations over ${duration(end - start)}</figcaption><div class="scroll"><svg viewBox="0 0 ${WIDTH} ${floor + 22}" role="group" aria-label="${bars.length} operations over ${duration(end - start)}; the table below has the same">
${ticks.map((ms, part) => html`<line class="axis" x1="${x(ms)}" y1="0" x2="${x(ms)}" y2="${floor}"/><text x="${x(ms)}" y="${floor + 16}" text-anchor="${part === 4 ? 'end' : part === 0 ? 'start' : 'middle'}">${hourAndMinute(ms, zone)}</text>`)}
${bars.map(
  (
    { record, from, to },
    row,
  ) => html`<a href="${operationPath(accountId, record.project_id, record.operation_id)}"><title>${record.action}, ${record.status}, ${duration(to - from)}</title>
<text x="0" y="${row * ROW + 15}">${record.action.slice(0, 24)}</text>
<rect class="bar ${toneOf(record.status)}" x="${x(from)}" y="${row * ROW + 4}" width="${Math.max(4, x(to) - x(from))}" height="${ROW - 8}" rx="3"/></a>`,
)}</svg></div></figure>`;
}

function isEnded({ status }: OperationRecord): boolean {
  return ['finished', 'skipped', 'cancelled', 'error'].includes(status);
}
