/** Finds out in which time zone a visitor reads the console: from the address, else from a cookie, else UTC. */

import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

/** The parameter of an address that switches the zone, and the cookie that keeps it. It is no secret. */
const QUERY = 'tz';
const COOKIE = 'bridge_zone';

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
  return askedZone(c) ?? known(getCookie(c, COOKIE)) ?? DEFAULT_ZONE;
}

/** Keeps the zone that an address asks for, so that the next pages have it, too. */
export function keepZone(c: Context): void {
  const zone = askedZone(c);
  if (zone === undefined) return;
  const secure = new URL(c.req.url).protocol === 'https:';
  setCookie(c, COOKIE, zone, { path: '/console', maxAge: A_YEAR_SECONDS, sameSite: 'Lax', secure });
}

function askedZone(c: Context): string | undefined {
  return known(c.req.query(QUERY));
}

function known(zone: string | undefined): string | undefined {
  return zone !== undefined && KNOWN.has(zone) ? zone : undefined;
}
