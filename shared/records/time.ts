/**
 * Gives durations in milliseconds, and keeps ISO 8601 times as text that sorts by time. `Date` would cut
 * microseconds, and raw strings of different lengths would sort wrongly.
 */

import * as z from 'zod';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const ISO_PATTERN =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:([Zz])|([+-])(\d{2}):?(\d{2}))$/;
const FRACTION_DIGITS = 9;

/** This matches the usual form, on a day that every month has, so that no calendar is needed to check it. */
const PLAIN_PATTERN =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.(\d+))?Z$/;

/** A UTC time has the form `YYYY-MM-DDTHH:MM:SS.nnnnnnnnnZ`, so two of them compare as strings. */
export type Timestamp = string & { readonly __brand: 'Timestamp' };

/**
 * Normalises any ISO 8601 time with a zone, and cuts it (without rounding) to nine fraction digits. Returns undefined
 * when it is not one.
 */
export function normaliseTimestamp(text: string): Timestamp | undefined {
  const plain = PLAIN_PATTERN.exec(text);
  if (plain !== null) return inFull(text.slice(0, 19), plain[1] ?? '');
  const match = ISO_PATTERN.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = '', , sign, offsetHour, offsetMinute] = match;
  const local = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(local)) return undefined;
  const offsetMinutes = sign === undefined ? 0 : Number(offsetHour) * 60 + Number(offsetMinute);
  const epochSeconds = local / 1_000 - (sign === '-' ? -offsetMinutes : offsetMinutes) * 60;
  const isRealDate = new Date(local).toISOString().startsWith(`${year}-${month}-${day}T${hour}`);
  if (!isRealDate) return undefined;
  return format(epochSeconds, fraction);
}

/** The bridge has normalised this time. One that is not normalised would be compared wrongly with all others. */
export const timestamp = z.custom<Timestamp>(
  (text) => typeof text === 'string' && normaliseTimestamp(text) === text,
);

/** Returns the second in which an instant lies. Throws `RangeError` beyond the calendar. */
export function secondOf(epochMs: number): Timestamp {
  return format(Math.floor(epochMs / 1_000), '');
}

/** Returns the time that lies `durationMs`, rounded up to whole seconds, before another. */
export function earlierBy(time: Timestamp, durationMs: number): Timestamp {
  return format(epochSecondsOf(time) - Math.ceil(durationMs / 1_000), time.slice(20, 29));
}

/**
 * Returns a time of our own clock as it stands in records and events: ISO 8601, UTC, milliseconds. Throws
 * `RangeError` beyond the calendar.
 */
export function isoTimeOf(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Says when something was asked for, by our clock, and when it was answered, by the clock of the other side. */
export interface AskedAt {
  /** The request left at this time or later. */
  readonly requestedMs: number;
  /** It is undefined when the answer does not show it. */
  readonly serverDateMs?: number | undefined;
}

/** Returns the earlier of both times, so that one wrong clock neither proves nor hides anything. */
export function earlierNowMs({ requestedMs, serverDateMs = Number.POSITIVE_INFINITY }: AskedAt): number {
  return Math.min(requestedMs, serverDateMs);
}

/** Returns milliseconds since the epoch. It serves only for durations, because microseconds and nanoseconds are cut off. */
export function epochMsOf(time: Timestamp): number {
  return epochSecondsOf(time) * 1_000 + Number(time.slice(20, 23));
}

function epochSecondsOf(time: Timestamp): number {
  return Date.parse(`${time.slice(0, 19)}Z`) / 1_000;
}

function format(epochSeconds: number, fraction: string): Timestamp {
  return inFull(new Date(epochSeconds * 1_000).toISOString().slice(0, 19), fraction);
}

function inFull(seconds: string, fraction: string): Timestamp {
  return `${seconds}.${fraction.slice(0, FRACTION_DIGITS).padEnd(FRACTION_DIGITS, '0')}Z` as Timestamp;
}
