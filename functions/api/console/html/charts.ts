/** Draws charts as SVG on the server. They need no script, and a screen reader reads their titles. */

import { html } from 'hono/html';
import type { StatusPoint } from '../../../../shared/core/records/account-status.ts';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import { toneOf } from './badge.ts';
import { duration } from './durations.ts';
import { empty, type Html } from './markup.ts';
import { operationPath } from './paths.ts';
import { hourAndMinute, type PageTime } from './times.ts';

const WIDTH = 960;
const HEIGHT = 150;
const TWO_HOURS_MS = 7_200_000;

export function delayChart(points: readonly StatusPoint[], { zone, nowMs }: PageTime): Html {
  const seen = points.filter(
    ({ at_ms, delay_p50_ms }) => at_ms > nowMs - TWO_HOURS_MS && delay_p50_ms !== undefined,
  );
  if (seen.length < 2) return empty('Too few changes were seen yet to draw a line.');
  const most = Math.max(1_000, ...seen.map(({ delay_p95_ms }) => delay_p95_ms ?? 0));
  const x = (ms: number) => Math.round(((ms - (nowMs - TWO_HOURS_MS)) / TWO_HOURS_MS) * WIDTH);
  const y = (value: number) => Math.round(HEIGHT - 20 - (value / most) * (HEIGHT - 35));
  const line = (of: 'delay_p50_ms' | 'delay_p95_ms') =>
    seen.map((point) => `${x(point.at_ms)},${y(point[of] ?? 0)}`).join(' ');
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Detection delay of the last two hours, at most ${duration(most)}">
<line class="axis" x1="0" y1="${HEIGHT - 20}" x2="${WIDTH}" y2="${HEIGHT - 20}"/>
<polyline class="p95" points="${line('delay_p95_ms')}"/><polyline class="p50" points="${line('delay_p50_ms')}"/>
<text x="0" y="12">${duration(most)}</text><text x="0" y="${HEIGHT - 4}">${hourAndMinute(nowMs - TWO_HOURS_MS, zone)}</text><text x="${WIDTH}" y="${HEIGHT - 4}" text-anchor="end">${hourAndMinute(nowMs, zone)}</text>
<text x="${WIDTH}" y="12" text-anchor="end">median: line, p95: dashes</text></svg>`;
}

const ROW = 22;
const LABEL = 170;

/** Shows operations as bars from their creation to their end, the newest on top. */
export function timeline(
  accountId: string,
  records: readonly OperationRecord[],
  { zone, nowMs }: PageTime,
): Html {
  const bars = records.slice(0, 40).map((record) => {
    const from = Date.parse(record.created_at);
    const to = isEnded(record) ? Date.parse(record.updated_at) : nowMs;
    return { record, from, to: Math.max(to, from) };
  });
  if (bars.length === 0) return empty('No operation of this project has been seen.');
  const start = Math.min(...bars.map(({ from }) => from));
  const end = Math.max(...bars.map(({ to }) => to), start + 1_000);
  const x = (ms: number) => LABEL + Math.round(((ms - start) / (end - start)) * (WIDTH - LABEL - 4));
  const height = bars.length * ROW + 20;
  return html`<div class="scroll"><svg viewBox="0 0 ${WIDTH} ${height}" role="group" aria-label="${bars.length} operations over ${duration(end - start)}; the table below has the same">
${bars.map(
  (
    { record, from, to },
    row,
  ) => html`<a href="${operationPath(accountId, record.project_id, record.operation_id)}"><title>${record.action}, ${record.status}, ${duration(to - from)}</title>
<text x="0" y="${row * ROW + 15}">${record.action.slice(0, 24)}</text>
<rect class="bar ${toneOf(record.status)}" x="${x(from)}" y="${row * ROW + 4}" width="${Math.max(4, x(to) - x(from))}" height="${ROW - 8}" rx="3"/></a>`,
)}
<text x="${LABEL}" y="${height - 4}">${hourAndMinute(start, zone)}</text>
<text x="${WIDTH}" y="${height - 4}" text-anchor="end">${duration(end - start)} in all</text></svg></div>`;
}

function isEnded({ status }: OperationRecord): boolean {
  return ['finished', 'skipped', 'cancelled', 'error'].includes(status);
}
