/** Reads a browser's request: its form, where the form comes from, and where it may lead back to. */

import type { Context } from 'hono';
import { readCapped } from '../../serving/body/read-capped.ts';

/**
 * Returns whether the form comes from this origin. A browser always names the origin of a form, so a request without
 * an `Origin` header comes from no page of another site.
 */
export function isOwnOrigin(c: Context): boolean {
  const origin = c.req.header('origin');
  return (
    origin === undefined || URL.parse(origin)?.host === (c.req.header('host') ?? new URL(c.req.url).host)
  );
}

/**
 * Returns whether a person has followed a link of another site, such as a mail in the browser (W3C Fetch Metadata). The
 * browser then holds back the cookie of the session.
 */
export function isLinkOfAnotherSite(c: Context): boolean {
  const isNavigation = c.req.method === 'GET' && c.req.header('sec-fetch-mode') === 'navigate';
  return isNavigation && c.req.header('sec-fetch-site') === 'cross-site';
}

export function isHttps(c: Context): boolean {
  return new URL(c.req.url).protocol === 'https:';
}

/** Returns whether a path leads to a page of the console, and to no other site. */
export function isOwnPath(path: string): boolean {
  return /^\/console(\/[\w./%?=&+-]*)?$/.test(path) && !path.includes('//');
}

/**
 * The longest form holds a token of an issuer, which usually has at most two kilobytes. Many servers refuse eight.
 */
const FORM_BYTES_MAX = 16_000;

/** Resolves to undefined when the body is too large, or is no form. */
export async function formOf(c: Context): Promise<URLSearchParams | undefined> {
  const type = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') return undefined;
  const bytes = await readCapped(c.req.raw, FORM_BYTES_MAX);
  return bytes.byteLength > FORM_BYTES_MAX ? undefined : new URLSearchParams(new TextDecoder().decode(bytes));
}
