/** Reads and writes a range of times in the address of a list. A form sends times in the zone of the page. */

import type { Context } from 'hono';
import { html } from 'hono/html';
import { isoTimeOf } from '../../../../shared/core/time/timestamp.ts';
import type { Html } from '../html/markup.ts';
import { zoneOf } from '../html/time/time-zone.ts';
import { epochMsIn, fieldTextIn } from '../html/time/times.ts';

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
  return epochMs === undefined || Number.isNaN(epochMs) ? undefined : isoTimeOf(epochMs);
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
