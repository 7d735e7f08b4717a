/**
 * Draws charts on the server, as SVG and HTML: times, numbers by the hour, and how a whole divides into parts. They
 * need no script, and a screen reader reads their titles.
 */

import { html } from 'hono/html';
import type { StatusPoint } from '../../../../shared/records/account-status.ts';
import type { OperationRecord } from '../../../../shared/records/operation-record.ts';
import { counted } from '../../../../shared/runtime/counted.ts';
import { empty, type Html, operationPath } from './markup.ts';
import { toneOf } from './records.ts';
import { duration, hourAndMinute, type PageTime } from './times.ts';

const TIMELINE_WIDTH = 960;
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
  const x = (ms: number) => LABEL + Math.round(((ms - start) / (end - start)) * (TIMELINE_WIDTH - LABEL - 4));
  const floor = bars.length * ROW;
  const ticks = [0, 1, 2, 3, 4].map((part) => start + (part / 4) * (end - start));
  return html`<figure><figcaption>The latest ${bars.length} operations over ${duration(end - start)}</figcaption><div class="scroll"><svg viewBox="0 0 ${TIMELINE_WIDTH} ${floor + 22}" role="group" aria-label="${bars.length} operations over ${duration(end - start)}; the table below has the same">
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

interface Bar {
  /** The bar begins at this time on the axis, such as `14:00`. */
  readonly label: string;
  readonly value: number;
}

export interface BarChart {
  readonly id: string;
  readonly title: string;
  /** What the axis of values counts, such as `operations`. */
  readonly unit: string;
  readonly tone: 'accent' | 'bad';
  /** Each bar stands for this time. */
  readonly step: 'hour' | 'day';
  readonly bars: readonly Bar[];
}

/** The chart is drawn in these units, and scales with its column. Its text stays readable on a phone. */
const BARS_WIDTH = 400;
const BARS_HEIGHT = 150;
const BARS_LEFT = 34;
const BARS_BOTTOM = 18;
const BARS_TOP = 10;

/** The time stands below every sixth bar, and below every twelfth of more than a day. */
const labelledBars = (count: number) => (count > 24 ? 12 : 6);

/** At the beginning of a month few days are known, and their bars are no wider than later. */
const PLACES_MIN = { hour: 1, day: 14 } as const;

export function barChart({ id, title, unit, tone, step: length, bars }: BarChart): Html {
  const most = tenths(Math.max(0, ...bars.map(({ value }) => value)));
  const top = most > 0 && most <= 1 ? 1 : axisTop(most);
  const floor = BARS_HEIGHT - BARS_BOTTOM;
  const y = (value: number) => Math.round((floor - (value / top) * (floor - BARS_TOP)) * 10) / 10;
  const places = Math.max(PLACES_MIN[length], bars.length);
  const step = (BARS_WIDTH - BARS_LEFT) / places;
  const isAtEnd = (index: number) => index === places - 1;
  const x = (index: number) => Math.round((BARS_LEFT + index * step) * 10) / 10;
  const total = tenths(bars.reduce((sum, { value }) => sum + value, 0));
  const span = counted(bars.length, length);
  return html`<figure><figcaption><b>${title}</b> · ${total} ${unit} in ${span}</figcaption>
<svg viewBox="0 0 ${BARS_WIDTH} ${BARS_HEIGHT}" role="img" aria-label="${title}: ${total} ${unit} in ${span}, at most ${most} in one. The table below has all values.">
${ticksOf(top).map((tick) => html`<line class="axis" x1="${BARS_LEFT}" y1="${y(tick)}" x2="${BARS_WIDTH}" y2="${y(tick)}"/><text x="${BARS_LEFT - 5}" y="${y(tick) + 4}" text-anchor="end">${tick}</text>`)}
${bars.map(({ label, value }, index) => (value === 0 ? '' : html`<rect class="bar ${tone}" x="${x(index)}" y="${y(value)}" width="${Math.max(2, Math.round(step - 2))}" height="${Math.max(0, floor - y(value))}" rx="1"><title>${label}: ${tenths(value)} ${unit}</title></rect>`))}
${bars.map(({ label }, index) => ((bars.length - 1 - index) % labelledBars(bars.length) === 0 ? html`<text x="${isAtEnd(index) ? BARS_WIDTH : x(index + 0.5)}" y="${BARS_HEIGHT - 4}" text-anchor="${isAtEnd(index) ? 'end' : 'middle'}">${label}</text>` : ''))}
</svg>
<details id="${id}"><summary class="quiet">All values</summary><table><thead><tr><th>${length === 'hour' ? 'Hour from' : 'Day'}</th><th class="number">${unit}</th></tr></thead><tbody>${bars.toReversed().map(({ label, value }) => html`<tr><td>${label}</td><td class="number">${tenths(value)}</td></tr>`)}</tbody></table></details></figure>`;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Returns the end of the axis: 4, or the next of 10, 20, 40, 50, 80, 100, 200, ... that is not below the value. */
export function axisTop(value: number): number {
  if (value <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 4, 5, 8, 10].find((each) => each * power >= value) ?? 10;
  return factor * power;
}

/** Halves and quarters of small axes would be no whole numbers. */
function ticksOf(top: number): readonly number[] {
  return top % 4 === 0 ? [0, top / 2, top] : top % 2 === 0 ? [0, top / 2, top] : [0, top];
}

export interface Part {
  readonly name: string;
  readonly count: number;
  readonly tone: 'bad' | 'odd' | 'unread' | 'accent' | 'busy' | 'well';
  readonly path: string;
}

const SHARES_WIDTH = 1_000;

/** A part that is not empty is at least this wide, so that one project among thousands is seen. */
const PART_WIDTH_MIN = 6;

export function shareBar(label: string, parts: readonly Part[]): Html {
  const total = Math.max(
    1,
    parts.reduce((sum, { count }) => sum + count, 0),
  );
  const widths = parts.map(({ count }) =>
    count === 0 ? 0 : Math.max(PART_WIDTH_MIN, Math.round((count / total) * SHARES_WIDTH)),
  );
  const starts = widths.map((_, index) => widths.slice(0, index).reduce((sum, width) => sum + width, 0));
  const whole = Math.max(SHARES_WIDTH, (starts.at(-1) ?? 0) + (widths.at(-1) ?? 0));
  return html`<svg class="share" viewBox="0 0 ${whole} 10" preserveAspectRatio="none" role="img" aria-label="${label}: ${parts.map(({ name, count }) => `${count} ${name}`).join(', ')}">
${parts.map(({ tone }, index) => html`<rect class="bar ${tone}" x="${starts[index]}" y="0" width="${widths[index]}" height="10"/>`)}</svg>
<ul class="legend">${parts.filter(({ count }) => count > 0).map(({ name, count, tone, path }) => html`<li><span class="swatch ${tone}" aria-hidden="true">■</span> <a href="${path}">${count} ${name}</a></li>`)}</ul>`;
}
