/** What the console reads of a browser's request: its form, where the form comes from, and where it may lead back to. */

import type { Context } from 'hono';
import { readCapped } from '../../serving/body/read-capped.ts';

/** A browser names the origin of a form. Without an `Origin` header no page of another site has sent the request. */
export function isOwnOrigin(c: Context): boolean {
  const origin = c.req.header('origin');
  return (
    origin === undefined || URL.parse(origin)?.host === (c.req.header('host') ?? new URL(c.req.url).host)
  );
}

export function isHttps(c: Context): boolean {
  return new URL(c.req.url).protocol === 'https:';
}

/** Whether a path leads to a page of the console, and to no other site. */
export function isOwnPath(path: string): boolean {
  return /^\/console(\/[\w./%?=&+-]*)?$/.test(path) && !path.includes('//');
}

/** The longest form has a token of an issuer in it, usually of two kilobytes at most; servers refuse eight. */
const FORM_BYTES_MAX = 16_000;

/** Undefined when the body is too large, or is no form. */
export async function formOf(c: Context): Promise<URLSearchParams | undefined> {
  const type = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') return undefined;
  const bytes = await readCapped(c.req.raw, FORM_BYTES_MAX);
  return bytes.byteLength > FORM_BYTES_MAX ? undefined : new URLSearchParams(new TextDecoder().decode(bytes));
}
