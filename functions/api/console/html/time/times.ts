/** Shows times in the one time zone of the page: in rows, on axes and in sentences. */

import { html } from 'hono/html';
import type { Html } from '../markup.ts';
import { roughDuration } from './durations.ts';

/** Every page is made for one moment, and shows all its times in one zone. */
export interface PageTime {
  /** The zone has a name of the IANA database, such as `Europe/Berlin`. */
  readonly zone: string;
  readonly nowMs: number;
}

/**
 * Shows a time without its zone, which stands on every page. A time of the same day has no date. The title always has
 * the full time in UTC, because logs and the upstream use that.
 */
export function time(iso: string | undefined, { zone, nowMs }: PageTime): Html {
  const epochMs = iso === undefined ? Number.NaN : Date.parse(iso);
  if (iso === undefined || Number.isNaN(epochMs)) return html`<span class="quiet">unknown</span>`;
  const date = dayIn(zone, epochMs);
  const shown =
    date === dayIn(zone, nowMs)
      ? clockIn(zone, epochMs)
      : `${dateIn(zone, epochMs, nowMs)} ${clockIn(zone, epochMs)}`;
  return html`<time datetime="${iso}" title="${utc(iso)}">${shown}</time>`;
}

/** Shows a time together with how long ago it was. */
export function timeAndAge(iso: string | undefined, at: PageTime): Html {
  return html`<span class="when">${time(iso, at)} <span class="quiet">${age(iso, at)}</span></span>`;
}

/** Shows a time that lies ahead together with how long it is until then. */
export function timeAndRest(iso: string, at: PageTime): Html {
  const restMs = Date.parse(iso) - at.nowMs;
  const rest = restMs > 0 ? `in ${roughDuration(restMs)}` : 'over';
  return html`<span class="when">${time(iso, at)} <span class="quiet">${rest}</span></span>`;
}

/** Returns a time such as `2026-01-15 12:00:00 UTC`. */
export function utc(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

export function age(iso: string | undefined, { nowMs }: Pick<PageTime, 'nowMs'>): string {
  if (iso === undefined) return 'never';
  return `${roughDuration(Math.max(0, nowMs - Date.parse(iso)))} ago`;
}

/** Returns the time of day for an axis, such as `14:30`. */
export function hourAndMinute(epochMs: number, zone: string): string {
  return clockIn(zone, epochMs).slice(0, 5);
}

/** Returns a time as a field of a form holds it, in the zone and without its name: `2026-01-15T12:00:00`. */
export function fieldTextIn(zone: string, epochMs: number): string {
  return `${dayIn(zone, epochMs)}T${clockIn(zone, epochMs)}`;
}

/**
 * Reads what a field of a form holds, in milliseconds since the epoch. Of two equal times in the night when clocks go
 * back, it takes one; a time that the clocks have skipped counts as an hour later or earlier.
 */
export function epochMsIn(zone: string, fieldText: string): number | undefined {
  const asUtcMs = Date.parse(`${fieldText}Z`);
  if (Number.isNaN(asUtcMs)) return undefined;
  const offsetMs = (epochMs: number) => Date.parse(`${fieldTextIn(zone, epochMs)}Z`) - epochMs;
  // The offset at the time itself is not known before the time is, and two steps settle it.
  const nearMs = asUtcMs - offsetMs(asUtcMs);
  return asUtcMs - offsetMs(nearMs);
}

/** Returns the day in the zone, such as `2026-01-15`. */
function dayIn(zone: string, epochMs: number): string {
  const { year, month, day } = partsIn(zone, epochMs);
  return `${year}-${month}-${day}`;
}

function clockIn(zone: string, epochMs: number): string {
  const { hour, minute, second } = partsIn(zone, epochMs);
  return `${hour}:${minute}:${second}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The year is left out when it is the present one. */
function dateIn(zone: string, epochMs: number, nowMs: number): string {
  const { year, month, day } = partsIn(zone, epochMs);
  const date = `${Number(day)} ${MONTHS[Number(month) - 1]}`;
  return year === partsIn(zone, nowMs)['year'] ? date : `${date} ${year}`;
}

function partsIn(zone: string, epochMs: number): Readonly<Record<string, string>> {
  const parts = formatOf(zone).formatToParts(epochMs);
  return Object.fromEntries(parts.map(({ type, value }) => [type, value]));
}

/** Making a format takes a hundred times as long as using it. There are about 420 zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  formats.set(timeZone, format);
  return format;
}
