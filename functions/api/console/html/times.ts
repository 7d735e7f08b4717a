/**
 * Shows times in the one time zone of the page, durations for people, and the range of times in the address of a
 * list. The zone is that of the address, else of a cookie, else UTC.
 */

import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { isoTimeOf } from '../../../../shared/records/time.ts';
import type { Html } from './markup.ts';

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

/** Shows only how long ago a time was. The title has the time. */
export function shortAge(iso: string, at: PageTime): Html {
  return html`<time datetime="${iso}" title="${utc(iso)}">${age(iso, at)}</time>`;
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
  if (!isUsual(asUtcMs)) return undefined;
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

/** The parameter of an address that switches the zone, and the cookie that keeps it. It is no secret. */
const ZONE_QUERY = 'tz';
const ZONE_COOKIE = 'bridge_zone';

const A_YEAR_SECONDS = 365 * 24 * 3_600;

const DEFAULT_ZONE = 'UTC';

/** The list begins with UTC, and has the names of the IANA database that this Node knows. */
export const ZONES: readonly string[] = [
  DEFAULT_ZONE,
  ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== DEFAULT_ZONE),
];

const KNOWN: ReadonlySet<string> = new Set(ZONES);

/** An unknown zone counts as none. */
export function zoneOf(c: Context): string {
  return askedZone(c) ?? knownZone(getCookie(c, ZONE_COOKIE)) ?? DEFAULT_ZONE;
}

/** Keeps the zone that an address asks for, so that the next pages have it, too. */
export function keepZone(c: Context): void {
  const zone = askedZone(c);
  if (zone === undefined) return;
  const secure = new URL(c.req.url).protocol === 'https:';
  setCookie(c, ZONE_COOKIE, zone, { path: '/console', maxAge: A_YEAR_SECONDS, sameSite: 'Lax', secure });
}

function askedZone(c: Context): string | undefined {
  return knownZone(c.req.query(ZONE_QUERY));
}

/** A zone can have several names, such as `Asia/Kolkata`, of which the list has one. */
function knownZone(zone: string | undefined): string | undefined {
  if (zone === undefined || KNOWN.has(zone)) return zone;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions();
    return KNOWN.has(timeZone) ? timeZone : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a duration such as `480 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min` or `3 days`, rounded to its smallest unit. */
export function duration(durationMs: number): string {
  const wholeMs = Math.round(durationMs);
  if (wholeMs < 1_000) return `${wholeMs} ms`;
  const tenths = Math.round(durationMs / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(durationMs / 1_000);
  if (seconds < 3_600) return inTwoUnits(seconds, 60, ['min', 's']);
  const minutes = Math.round(durationMs / 60_000);
  if (minutes < TWO_DAYS_MINUTES) return inTwoUnits(minutes, 60, ['h', 'min']);
  return `${Math.round(durationMs / 86_400_000)} days`;
}

/** Returns how long something took by the upstream's clock, which shows whole seconds. */
export function upstreamDuration(durationMs: number): string {
  const seconds = Math.round(durationMs / 1_000);
  if (seconds < 1) return 'under 1 s';
  return seconds < 60 ? `${seconds} s` : duration(seconds * 1_000);
}

/**
 * Returns how long ago something was, as `4 s`, `12 min`, `1 h 40 min` or `3 days`. A person who reads an age needs no
 * second digit of it, and the page is seconds old.
 */
export function roughDuration(durationMs: number): string {
  const seconds = Math.floor(durationMs / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return duration(minutes * 60_000);
}

const TWO_DAYS_MINUTES = 2 * 24 * 60;

/** Splits a whole number of the smaller unit, so that rounding has happened before. */
function inTwoUnits(count: number, perLarger: number, [larger, smaller]: readonly [string, string]): string {
  const rest = count % perLarger;
  const whole = `${Math.floor(count / perLarger)} ${larger}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smaller}`;
}

/** Both times are ISO 8601 in UTC, so that a link means the same in every zone. */
export interface TimeRange {
  readonly from: string | undefined;
  readonly until: string | undefined;
}

/** A time that cannot be read counts as none. */
export function timeRangeOf(c: Context): TimeRange {
  const zone = zoneOf(c);
  return { from: timeIn(c.req.query('from'), zone), until: timeIn(c.req.query('until'), zone) };
}

function timeIn(text: string | undefined, zone: string): string | undefined {
  if (text === undefined || text === '') return undefined;
  const epochMs = /Z$|[+-]\d\d:\d\d$/.test(text) ? Date.parse(text) : epochMsIn(zone, text);
  return epochMs === undefined || !isUsual(epochMs) ? undefined : isoTimeOf(epochMs);
}

/** Nothing is older than the epoch. A year with more or fewer than four digits, in any zone, is no time that a field can hold. */
function isUsual(epochMs: number): boolean {
  return epochMs >= 0 && epochMs < Date.UTC(9_999, 0);
}

/** Returns each end of the range that is set, as `from 2026-01-15 12:00:00`, in the zone. */
export function rangeWords({ from, until }: TimeRange, zone: string): readonly string[] {
  const words = (name: string, iso: string | undefined) =>
    iso === undefined ? [] : [`${name} ${fieldTextIn(zone, Date.parse(iso)).replace('T', ' ')}`];
  return [...words('from', from), ...words('until', until)];
}

export function timeRangeFields({ from, until }: TimeRange, zone: string): Html {
  const field = (name: string, label: string, iso: string | undefined) =>
    html`<div><label for="${name}">${label} (${zone})</label><input id="${name}" name="${name}" type="datetime-local" step="1" value="${iso === undefined ? '' : fieldTextIn(zone, Date.parse(iso))}"></div>`;
  return html`${field('from', 'From', from)}${field('until', 'Until', until)}`;
}
