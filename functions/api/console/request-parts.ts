/** What a page reads of a browser's request. */

import type { Context } from 'hono';
import type { FeedFilter } from '../bridge/event-feed.ts';
import { readCapped } from '../serving/read-capped.ts';

export function filterOf(c: Context): FeedFilter {
  const value = (name: string) => c.req.query(name)?.slice(0, 100) || undefined;
  return {
    detail_type: value('detail_type'),
    status: value('status'),
    action: value('action'),
    project_id: value('project_id'),
  };
}

/** A browser says where a form comes from; one that is silent has no page of somebody else open either. */
export function isOwnOrigin(c: Context): boolean {
  const origin = c.req.header('origin');
  return (
    origin === undefined || URL.parse(origin)?.host === (c.req.header('host') ?? new URL(c.req.url).host)
  );
}

export function isHttps(c: Context): boolean {
  return new URL(c.req.url).protocol === 'https:';
}

/** Back to a page of the console and to nowhere else. */
export function isOwnPath(path: string): boolean {
  return /^\/console(\/[\w./%?=&+-]*)?$/.test(path) && !path.includes('//');
}

/** The longest form has a token of an issuer in it, of two kilobytes at most as a rule; servers refuse eight. */
const FORM_BYTES_MAX = 16_000;

/** Undefined: it is too large, or no form. */
export async function formOf(c: Context): Promise<URLSearchParams | undefined> {
  const type = c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') return undefined;
  const bytes = await readCapped(c.req.raw, FORM_BYTES_MAX);
  return bytes.byteLength > FORM_BYTES_MAX ? undefined : new URLSearchParams(new TextDecoder().decode(bytes));
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
